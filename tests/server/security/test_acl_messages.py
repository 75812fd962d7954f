"""ACLs and filters of messages, as the controller has them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.access.filters import AclFilter
from controller.model.access import Acl, PatternType, ResourceKind
from protocol.messages.create_acls_request import AclCreation
from protocol.messages.delete_acls_request import DeleteAclsFilter
from protocol.messages.describe_acls_request import DescribeAclsRequest
from server.security.acl_messages import acl_of, deleted, described, filter_of
from tests.controller.access.acls import ACLS, FILTERS, acl


@given(ACLS)
def test_an_acl_keeps_its_values_on_the_wire(each: Acl) -> None:
    assert acl_of(AclCreation(*each)) == each
    (row,) = deleted([each])
    assert tuple(row)[2:] == each


@given(FILTERS)
def test_a_filter_keeps_its_values_on_the_wire(chosen: AclFilter) -> None:
    assert filter_of(DescribeAclsRequest(*chosen)) == filter_of(DeleteAclsFilter(*chosen)) == chosen


@given(st.integers(0, 3), st.sampled_from([0, 99, -1]))
def test_a_filter_with_an_unknown_number_is_none(position: int, number: int) -> None:
    names = ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
    changed: Any = {names[position]: number}
    message = DescribeAclsRequest(*AclFilter())._replace(**changed)
    assert filter_of(message) is None


def test_an_unknown_type_to_create_becomes_unknown() -> None:
    assert acl_of(AclCreation(99, "a", 98)).kind is ResourceKind.UNKNOWN
    assert acl_of(AclCreation(2, "a", 98)).pattern is PatternType.UNKNOWN


@given(st.lists(ACLS, unique=True))
def test_listed_acls_are_grouped_by_resource(acls: list[Acl]) -> None:
    resources = described(acls)
    keys = [(each.resource_type, each.resource_name, each.pattern_type) for each in resources]
    assert len(set(keys)) == len(keys)
    assert {(*key, *row) for key, each in zip(keys, resources, strict=True) for row in each.acls} == set(acls)


def test_no_acls_are_no_resources() -> None:
    assert described([]) == []
    assert [len(each.acls) for each in described([acl(), acl(principal="User:bob")])] == [2]
