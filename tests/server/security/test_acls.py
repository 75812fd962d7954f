"""ACLs and filters of messages, as the controller has them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.model.access import Acl, AclFilter, Operation, PatternType, ResourceKind
from controller.state.access import AclIndex
from protocol.codec.errors import ApiError, DecodeError
from protocol.messages.create_acls_request import AclCreation
from protocol.messages.delete_acls_request import DeleteAclsFilter
from protocol.messages.describe_acls_request import DescribeAclsRequest
from server.dispatch.context import CLUSTER, topic
from server.security.acls import AclAuthorizer, acl_of, deleted, described, fault_of, filter_of
from tests.controller.acls import ACLS, FILTERS, acl


@given(ACLS)
def test_an_acl_keeps_its_values_on_the_wire(each: Acl) -> None:
    assert acl_of(AclCreation(*each)) == each
    (row,) = deleted([each])
    assert tuple(row)[2:] == each


@given(FILTERS)
def test_a_filter_keeps_its_values_on_the_wire(chosen: AclFilter) -> None:
    assert filter_of(DescribeAclsRequest(*chosen)) == filter_of(DeleteAclsFilter(*chosen)) == chosen


FIELDS = ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")


def with_number(field: str, number: int) -> DescribeAclsRequest:
    changed: Any = {field: number}
    return DescribeAclsRequest(*AclFilter())._replace(**changed)


@given(st.sampled_from(FIELDS), st.sampled_from([99, -1]), ACLS)
def test_a_number_beyond_the_enums_matches_nothing_and_is_named(field: str, number: int, each: Acl) -> None:
    chosen = filter_of(with_number(field, number))
    assert not chosen.matches(each)
    assert fault_of(chosen) == ("Unknown patternFilter." if field in FIELDS[:2] else "Unknown entryFilter.")


@pytest.mark.parametrize("field", FIELDS)
def test_unknown_in_a_filter_closes_the_connection(field: str) -> None:
    with pytest.raises(DecodeError):
        filter_of(with_number(field, 0))


CREATION = AclCreation(*acl())


def test_a_type_beyond_the_enums_becomes_unknown() -> None:
    assert acl_of(CREATION._replace(resource_type=99)).kind is ResourceKind.UNKNOWN
    assert acl_of(CREATION._replace(resource_pattern_type=98)).pattern is PatternType.UNKNOWN


@pytest.mark.parametrize(("pattern", "error"), [(0, DecodeError), (1, ApiError), (2, ApiError)])
def test_patterns_of_filters_end_the_whole_request(pattern: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="UNKNOWN"):
        acl_of(CREATION._replace(resource_pattern_type=pattern))


@given(st.lists(ACLS, unique=True))
def test_listed_acls_are_grouped_by_resource(acls: list[Acl]) -> None:
    resources = described(acls)
    keys = [(each.resource_type, each.resource_name, each.pattern_type) for each in resources]
    assert len(set(keys)) == len(keys)
    assert {(*key, *row) for key, each in zip(keys, resources, strict=True) for row in each.acls} == set(acls)


def test_no_acls_are_no_resources() -> None:
    assert described([]) == []
    assert [len(each.acls) for each in described([acl(), acl(principal="User:bob")])] == [2]


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
