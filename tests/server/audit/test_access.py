"""The audit entries of changes of ACLs and SCRAM credentials."""

import json
from typing import Any

import pytest

from controller.machine import decide
from controller.messages.event import AnyEvent, Requester
from controller.messages.events import AlterScramCredentials, CreateAcls, DeleteAcls, UserChange
from controller.model.access import AclFilter, ScramCredential
from controller.model.audit import AuditEntry
from controller.state.state import Decision
from server.audit.trail import AuditTrail
from tests.builders import InMemoryController
from tests.controller.acls import acl

ADMIN = Requester("User:admin", "kafka-acls")
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
READ_ORDERS = "ALLOW READ on TOPIC orders (LITERAL) to User:anna from *"


class Audited:
    """A controller and the trail of its decisions."""

    def __init__(self) -> None:
        self.controller = InMemoryController()
        self.decide = AuditTrail(self.controller.state).audited(decide)

    def do(self, event: AnyEvent) -> tuple[str, str, Any]:
        """Return action, principal and detail of the entry."""
        decision = Decision(self.controller.state)
        list(self.decide(decision, event))
        entry = decision.changes[-1]
        assert isinstance(entry, AuditEntry)
        return entry.action.value, entry.principal, json.loads(entry.detail)


@pytest.fixture
def audited() -> Audited:
    return Audited()


def credential(user: str, mechanism: str = SHA_256, iterations: int = 4096) -> ScramCredential:
    return ScramCredential(user, mechanism, b"salt", b"key", b"server", iterations)


def altered(*credentials: ScramCredential, **removed: str) -> AlterScramCredentials:
    users = [UserChange(each.user, {each.mechanism: each}) for each in credentials]
    users += [UserChange(user, {mechanism: None}) for user, mechanism in removed.items()]
    return AlterScramCredentials(users, ADMIN)


def test_created_and_deleted_acls_are_named(audited: Audited) -> None:
    entry = audited.do(CreateAcls([acl()], ADMIN))
    assert entry == ("acls", "User:admin", {"created": [READ_ORDERS], "changed": 1})
    assert audited.do(DeleteAcls([AclFilter()], ADMIN))[2] == {"deleted": [READ_ORDERS], "changed": 1}


def test_acls_that_exist_or_are_refused_are_not_named(audited: Audited) -> None:
    audited.do(CreateAcls([acl()]))
    _, _, detail = audited.do(CreateAcls([acl(), acl("new"), acl("refused", "nobody")]))
    assert detail == {"created": [READ_ORDERS.replace("orders", "new")], "changed": 1}


def test_of_many_acls_the_first_are_named_and_cut(audited: Audited) -> None:
    _, _, detail = audited.do(CreateAcls([acl(f"{number}" * 1_000) for number in range(30)]))
    assert [len(text) for text in detail["created"]] == [250] * 10
    assert detail["changed"] == 30


def test_users_have_their_iterations_before_and_after(audited: Audited) -> None:
    name = f"user anna: {SHA_256}"
    entry = audited.do(altered(credential("anna")))
    detail = {"configs": {name: "iterations=4096"}, "before": {name: None}, "changed": 1}
    assert entry == ("users", "User:admin", detail)
    _, _, detail = audited.do(altered(credential("anna", iterations=8192)))
    assert detail["before"] == {name: "iterations=4096"}
    _, _, detail = audited.do(altered(anna=SHA_256))
    assert (detail["configs"], detail["before"]) == ({name: None}, {name: "iterations=8192"})


def test_refused_users_are_not_named(audited: Audited) -> None:
    _, _, detail = audited.do(altered(credential("anna"), bob=SHA_512))
    assert list(detail["configs"]) == list(detail["before"]) == [f"user anna: {SHA_256}"]
