"""Records of ACLs and credentials: their keys, the numbers on the wire, and secrets that are not shown."""

import pytest
from hypothesis import given

from controller.model.access import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceKind,
    ScramCredential,
    applies_to,
)
from tests.controller.acls import ACLS, FILTERS, acl


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


PREFIX = acl("pay", pattern=PatternType.PREFIXED)
WILD = acl("*")


@pytest.mark.parametrize(
    ("pattern", "name", "matching"),
    [
        (PatternType.LITERAL, "pay", []),
        (PatternType.PREFIXED, "pay", [PREFIX]),
        (PatternType.PREFIXED, "payments", []),
        (PatternType.ANY, "pay", [PREFIX]),
        (PatternType.ANY, "*", [WILD]),
        (PatternType.MATCH, "payments", [PREFIX, WILD]),
        (PatternType.MATCH, "orders", [WILD]),
        (PatternType.ANY, None, [PREFIX, WILD]),
        (PatternType.LITERAL, None, [WILD]),
    ],
)
def test_a_name_matches_by_the_pattern_of_the_filter(
    pattern: PatternType, name: str | None, matching: list[Acl]
) -> None:
    chosen = AclFilter(name=name, pattern=pattern)
    assert [each for each in (PREFIX, WILD) if chosen.matches(each)] == matching


@given(ACLS)
def test_the_empty_filter_matches_every_acl(each: Acl) -> None:
    assert AclFilter().matches(each)


@given(ACLS)
def test_the_filter_with_all_values_of_an_acl_matches_it(each: Acl) -> None:
    assert AclFilter(*each).matches(each)


@given(ACLS, FILTERS)
def test_each_condition_alone_is_necessary(each: Acl, chosen: AclFilter) -> None:
    empty = AclFilter()
    alone = [empty._replace(**{name: value}) for name, value in chosen._asdict().items() if name not in NAMED]
    alone.append(empty._replace(name=chosen.name, pattern=chosen.pattern))
    assert chosen.matches(each) == all(single.matches(each) for single in alone)


NAMED = ("name", "pattern")


@given(ACLS)
def test_match_finds_what_applies_to_a_resource(each: Acl) -> None:
    name = "payments-eu"
    assert AclFilter(name=name, pattern=PatternType.MATCH).matches(each) == applies_to(each, name)


def test_other_values_do_not_match() -> None:
    others = (
        AclFilter(kind=ResourceKind.GROUP),
        AclFilter(principal="User:bob"),
        AclFilter(host="10.0.0.1"),
        AclFilter(operation=Operation.ALL),
        AclFilter(permission=Permission.DENY),
    )
    assert not any(chosen.matches(acl()) for chosen in others)
