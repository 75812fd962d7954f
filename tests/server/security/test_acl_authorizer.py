"""The authorizer over stored ACLs: hosts, super users, and resources without an ACL."""

from typing import Any

from controller.model.access import Operation
from controller.state.access import AclIndex
from server.dispatch.authorizer import CLUSTER, topic
from server.security.acl_authorizer import AclAuthorizer
from tests.controller.acls import acl

READ = Operation.READ


def authorizer(**settings: Any) -> AclAuthorizer:
    acls = AclIndex()
    acls.add(acl("orders", "User:anna", host="10.0.0.1"))
    return AclAuthorizer(acls)._replace(**settings)


def test_an_acl_applies_to_callers_from_its_host() -> None:
    assert authorizer().seen_from("10.0.0.1").allows("User:anna", READ, topic("orders"))
    assert not authorizer().seen_from("10.0.0.2").allows("User:anna", READ, topic("orders"))
    assert not authorizer().allows("User:anna", READ, topic("orders"))


def test_a_super_user_may_do_everything() -> None:
    by_super_user = authorizer(super_users=frozenset({"User:root"}))
    assert by_super_user.allows("User:root", Operation.ALTER, CLUSTER)
    assert not by_super_user.allows("User:anna", Operation.ALTER, CLUSTER)


def test_resources_without_an_acl_can_be_open_to_everyone() -> None:
    opened = authorizer(allow_without_acl=True)
    assert opened.allows("User:bob", READ, topic("free"))
    assert not opened.allows("User:bob", READ, topic("orders"))
    assert not authorizer().allows("User:bob", READ, topic("free"))
