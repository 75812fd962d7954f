import pytest
from kazoo.security import ACL, Id, Permissions

from backends.zookeeper.session.security import NO_SECURITY, SaslLogin, ZookeeperSecurity

CREATOR = ACL(Permissions.ALL, Id("auth", ""))
ANYONE = Id("world", "anyone")


@pytest.mark.parametrize("path", ["/controller", "/config/users/ann"])
def test_znodes_are_open_to_all_unless_it_is_said(path: str) -> None:
    assert NO_SECURITY.acl(path) == [ACL(Permissions.ALL, ANYONE)]


@pytest.mark.parametrize("path", ["/controller", "/config/topics/foo", "/reassignd", "/config"])
def test_znodes_are_for_whoever_made_them_and_for_all_to_read(path: str) -> None:
    assert ZookeeperSecurity(set_acl=True).acl(path) == [CREATOR, ACL(Permissions.READ, ANYONE)]


@pytest.mark.parametrize("path", ["/config/users", "/config/brokers/<default>", "/delegation_token/tokens"])
def test_znodes_that_may_hold_secrets_are_not_read_by_others(path: str) -> None:
    assert ZookeeperSecurity(set_acl=True).acl(path) == [CREATOR]


def test_nobody_logs_in_unless_it_is_said() -> None:
    assert NO_SECURITY.credentials() == {}


def test_both_logins_are_handed_to_kazoo() -> None:
    given = ZookeeperSecurity(login=SaslLogin("ann", "a-secret"), digest="super:s-secret").credentials()
    assert given["auth_data"] == [("digest", "super:s-secret")]
    sasl = {"mechanism": "DIGEST-MD5", "qops": ("auth",), "username": "ann", "password": "a-secret"}
    assert given["sasl_options"] == sasl


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(
        ZookeeperSecurity(login=SaslLogin("ann", "a-secret"), digest="super:s-secret")
    )
