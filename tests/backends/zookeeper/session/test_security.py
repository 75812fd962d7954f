import pytest
from kazoo.security import ACL, Id, Permissions

from backends.zookeeper.session.security import NO_SECURITY, SaslLogin, ZookeeperSecurity

CREATOR = ACL(Permissions.ALL, Id("auth", ""))
ANYONE = Id("world", "anyone")


@pytest.mark.parametrize("path", ["/controller", "/config/users/ann"])
def test_znodes_are_open_to_all_by_default(path: str) -> None:
    assert NO_SECURITY.acl(path) == [ACL(Permissions.ALL, ANYONE)]


@pytest.mark.parametrize("path", ["/controller", "/config/topics/foo", "/reassignd", "/config"])
def test_znodes_are_writable_by_their_creator_and_readable_by_all(path: str) -> None:
    assert ZookeeperSecurity(set_acl=True).acl(path) == [CREATOR, ACL(Permissions.READ, ANYONE)]


@pytest.mark.parametrize("path", ["/config/users", "/config/brokers/<default>", "/delegation_token/tokens"])
def test_sensitive_znodes_are_readable_by_their_creator_only(path: str) -> None:
    assert ZookeeperSecurity(set_acl=True).acl(path) == [CREATOR]


def test_there_is_no_login_by_default() -> None:
    assert NO_SECURITY.credentials() == {}


def test_both_logins_are_passed_to_kazoo() -> None:
    given = ZookeeperSecurity(login=SaslLogin("ann", "a-secret"), digest="super:s-secret").credentials()
    assert given["auth_data"] == [("digest", "super:s-secret")]
    sasl = {"mechanism": "DIGEST-MD5", "qops": ("auth",), "username": "ann", "password": "a-secret"}
    assert given["sasl_options"] == sasl


def test_secrets_are_not_in_the_repr() -> None:
    assert "secret" not in repr(
        ZookeeperSecurity(login=SaslLogin("ann", "a-secret"), digest="super:s-secret")
    )
