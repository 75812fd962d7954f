"""Events that change ACLs and credentials: what is refused, and what is kept."""

from typing import Any

import pytest

from common.error_codes import ErrorCode
from controller.cluster.access import NO_CREDENTIAL
from controller.messages.events import AlterScramCredentials, CreateAcls, DeleteAcls, UserChange
from controller.model.access import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceKind,
    ScramCredential,
)
from controller.model.cluster import Deleted
from controller.model.errors import DONE, Outcome
from tests.builders import InMemoryController
from tests.controller.acls import acl

SHA_256 = "SCRAM-SHA-256"
CREDENTIAL = ScramCredential("anna", SHA_256, b"salt", b"stored", b"server", 4096)


def test_acls_are_created_once() -> None:
    controller = InMemoryController()
    assert controller.do(CreateAcls([acl(), acl()])).reply == [DONE, DONE]
    assert controller.do(CreateAcls([acl()])).reply == [DONE]
    assert list(controller.state.acls) == [acl()]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Invalid empty resource name"),
        ({"kind": ResourceKind.CLUSTER}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"kind": ResourceKind.ANY}, "Invalid resourceType ANY"),
        ({"pattern": PatternType.MATCH}, "Invalid patternType MATCH"),
        ({"operation": Operation.UNKNOWN}, "Invalid operation UNKNOWN"),
        ({"permission": Permission.ANY}, "Invalid permissionType ANY"),
        (
            {"principal": "anna"},
            (
                "Could not parse principal from `anna` (no colon is present separating the principal type"
                " from the principal name)"
            ),
        ),
    ],
)
def test_an_invalid_acl_is_refused_and_the_others_are_created(fields: dict[str, Any], message: str) -> None:
    controller = InMemoryController()
    outcomes = controller.do(CreateAcls([acl()._replace(**fields), acl("other")])).reply
    assert outcomes == [Outcome(ErrorCode.INVALID_REQUEST, message), DONE]
    assert list(controller.state.acls) == [acl("other")]


def test_filters_delete_an_acl_once_and_each_one_lists_it() -> None:
    controller = InMemoryController()
    controller.do(CreateAcls([acl("a"), acl("b")]))
    found = controller.do(DeleteAcls([AclFilter(name="a"), AclFilter(), AclFilter(name="c")])).reply
    assert found == [[acl("a")], [acl("a"), acl("b")], []]
    assert list(controller.state.acls) == []


def test_a_credential_is_set_and_removed() -> None:
    controller = InMemoryController()
    change = UserChange("anna", {SHA_256: CREDENTIAL})
    assert controller.do(AlterScramCredentials([change])).reply == [DONE]
    assert controller.state.scram_credentials == {("anna", SHA_256): CREDENTIAL}
    assert controller.do(AlterScramCredentials([UserChange("anna", {SHA_256: None})])).reply == [DONE]
    assert controller.state.scram_credentials == {}


def test_a_user_with_a_missing_credential_keeps_all_and_others_change() -> None:
    controller = InMemoryController()
    other = CREDENTIAL._replace(user="bob")
    changes = [
        UserChange("anna", {SHA_256: CREDENTIAL, "SCRAM-SHA-512": None}),
        UserChange("bob", {SHA_256: other}),
    ]
    missing = Outcome(ErrorCode.RESOURCE_NOT_FOUND, NO_CREDENTIAL)
    assert controller.do(AlterScramCredentials(changes)).reply == [missing, DONE]
    assert list(controller.state.scram_credentials.values()) == [other]


def test_deletions_are_records() -> None:
    controller = InMemoryController()
    controller.do(CreateAcls([acl()]))
    controller.do(DeleteAcls([AclFilter()]))
    assert controller.changes[-2:] == [acl(), Deleted(Acl, acl())]
