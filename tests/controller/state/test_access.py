"""The index of ACLs: it finds what applies, and decides as a search of all ACLs would."""

from hypothesis import given
from hypothesis import strategies as st

from controller.model.access import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceKind,
    applies_to,
)
from controller.state.access import IMPLYING, AclIndex
from tests.controller.acls import ACLS, FILTERS, HOSTS, NAMES, PRINCIPALS, acl

ASKED = st.tuples(
    st.sampled_from(PRINCIPALS[1:]),
    st.sampled_from(HOSTS[1:]),
    st.sampled_from((Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.CREATE)),
    st.sampled_from((ResourceKind.TOPIC, ResourceKind.GROUP)),
    st.sampled_from((*NAMES[1:], "pa", "payments-eu-1")),
)


def index(*acls: Acl) -> AclIndex:
    made = AclIndex()
    for each in acls:
        made.add(each)
    return made


def allowed(made: AclIndex, operation: Operation = Operation.READ, name: str = "orders") -> bool:
    return made.allows("User:anna", "10.0.0.1", operation, ResourceKind.TOPIC, name, default=False)


@given(st.lists(ACLS), ASKED, st.booleans())
def test_a_decision_is_that_of_a_search_of_all_acls(
    acls: list[Acl], asked: tuple[str, str, Operation, ResourceKind, str], default: bool
) -> None:
    principal, host, operation, kind, name = asked
    applying = [each for each in acls if each.kind == kind and applies_to(each, name)]
    mine = [each for each in applying if each.principal in (principal, "User:*") and each.host in (host, "*")]
    denied = [each for each in mine if each.permission is Permission.DENY]
    implied = {operation, Operation.ALL, *IMPLYING.get(operation, ())}
    expected = any(
        each.operation in implied for each in mine if each.permission is Permission.ALLOW
    ) and not any(each.operation in (operation, Operation.ALL) for each in denied)
    assert index(*acls).allows(*asked, default=default) == (expected if applying else default)


@given(st.lists(ACLS, unique=True), FILTERS)
def test_removed_acls_leave_nothing_behind(acls: list[Acl], chosen: AclFilter) -> None:
    made = index(*acls)
    for each in made.found(chosen):
        made.remove(each)
    rest = [each for each in acls if not chosen.matches(each)]
    assert list(made) == rest
    assert made.__dict__ == index(*rest).__dict__ | {"_lengths": made._lengths}
    assert {k: dict(v) for k, v in made._lengths.items() if v} == {
        k: dict(v) for k, v in index(*rest)._lengths.items()
    }


def test_an_acl_is_kept_once() -> None:
    made = index(acl(), acl())
    assert len(made) == 1
    assert acl() in made


def test_a_deny_wins_over_an_allow() -> None:
    deny = acl(principal="User:*", permission=Permission.DENY, operation=Operation.ALL)
    assert allowed(index(acl()))
    assert not allowed(index(acl(), deny))


def test_an_allowed_operation_implies_others_and_a_denied_one_does_not() -> None:
    assert allowed(index(acl(operation=Operation.WRITE)), Operation.DESCRIBE)
    denies_write = acl(operation=Operation.WRITE, permission=Permission.DENY)
    assert allowed(index(acl(), denies_write), Operation.DESCRIBE)


def test_a_prefix_applies_to_names_that_begin_with_it() -> None:
    made = index(acl("pay", pattern=PatternType.PREFIXED))
    assert allowed(made, name="pay")
    assert allowed(made, name="payments")
    assert not allowed(made, name="pa")
