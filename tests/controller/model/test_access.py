"""Records of ACLs and credentials: their keys, the numbers on the wire, and secrets that are not shown."""

from controller.model.access import Operation, PatternType, Permission, ResourceKind, ScramCredential
from tests.controller.access.acls import acl


def test_the_numbers_are_those_of_the_protocol() -> None:
    assert (Operation.ALL, Operation.READ, Operation.TWO_PHASE_COMMIT) == (2, 3, 15)
    assert (ResourceKind.TOPIC, ResourceKind.CLUSTER, ResourceKind.USER) == (2, 4, 7)
    assert (PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED) == (2, 3, 4)
    assert (Permission.DENY, Permission.ALLOW) == (2, 3)


def test_an_acl_is_its_own_key() -> None:
    assert acl().key == acl()


def test_a_credential_has_a_key_and_shows_no_secret() -> None:
    credential = ScramCredential("anna", "SCRAM-SHA-256", b"salt", b"stored", b"server", 4096)
    assert credential.key == ("anna", "SCRAM-SHA-256")
    assert repr(credential) == "ScramCredential('anna', 'SCRAM-SHA-256', iterations=4096)"
