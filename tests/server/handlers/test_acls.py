"""CreateAcls (30), DeleteAcls (31), DescribeAcls (29)."""

import pytest

from common.error_codes import ErrorCode
from controller.messages.event import Requester
from controller.messages.events import CreateAcls, DeleteAcls
from controller.model.access import AclFilter, PatternType
from controller.model.errors import DONE, Outcome
from controller.modes import EMBEDDED
from controller.state.access import AclIndex
from controller.state.state import State
from protocol.codec.errors import ApiError
from protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls_request import DescribeAclsRequest
from server.handlers import create_acls, delete_acls, describe_acls
from server.security.acls import AclAuthorizer
from tests.controller.acls import acl
from tests.server.fakes import FakeDriver, answer, context, encodable

REQUEST = CreateAclsRequest([AclCreation(*acl()), AclCreation(*acl("other"))])


async def test_the_outcome_of_each_acl_is_returned() -> None:
    driver = FakeDriver([DONE, Outcome(ErrorCode.INVALID_REQUEST, "no")])
    asked = context(3, driver=driver, authorizer=AclAuthorizer(AclIndex()))
    response = encodable(await answer(create_acls.handle, REQUEST, asked), 30)
    assert driver.events == [CreateAcls([acl(), acl("other")], Requester("User:ANONYMOUS", "me"))]
    assert [tuple(row) for row in response.results] == [(0, ""), (42, "no")]


async def test_without_an_authorizer_no_acl_is_created() -> None:
    with pytest.raises(ApiError, match="No Authorizer is configured") as raised:
        await answer(create_acls.handle, REQUEST, context(3))
    assert raised.value.code == ErrorCode.SECURITY_DISABLED


def test_a_refusal_is_repeated_for_each_acl() -> None:
    assert [tuple(row) for row in encodable(create_acls.refuse(REQUEST, 31, "no"), 30).results] == [
        (31, "no")
    ] * 2


ALL = DeleteAclsFilter(*AclFilter())
UNKNOWN = ALL._replace(operation=99)


async def test_the_deleted_acls_are_listed_by_filter() -> None:
    driver = FakeDriver([[acl()], []])
    asked = context(3, driver=driver, authorizer=AclAuthorizer(AclIndex()))
    request = DeleteAclsRequest([ALL, UNKNOWN, ALL._replace(host_filter="h")])
    response = encodable(await answer(delete_acls.handle, request, asked), 31)
    assert driver.events == [
        DeleteAcls([AclFilter(), AclFilter(host="h")], Requester("User:ANONYMOUS", "me"))
    ]
    first, unknown, last = response.filter_results
    assert [row.resource_name for row in first.matching_acls] == ["orders"]
    assert unknown[:2] == (ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
    assert (last.error_code, last.matching_acls) == (0, [])


async def test_without_an_authorizer_no_acl_is_deleted() -> None:
    with pytest.raises(ApiError, match="No Authorizer is configured") as raised:
        await answer(delete_acls.handle, DeleteAclsRequest([ALL]), context(3))
    assert raised.value.code == ErrorCode.SECURITY_DISABLED


def test_a_refusal_is_repeated_for_each_filter() -> None:
    refused = encodable(delete_acls.refuse(DeleteAclsRequest([ALL, ALL]), 31, "no"), 31)
    assert [(row.error_code, row.error_message) for row in refused.filter_results] == [(31, "no")] * 2


ALL_OF_DESCRIBE_ACLS = DescribeAclsRequest(*AclFilter())


async def described(request: DescribeAclsRequest) -> list[tuple[str, list[str]]]:
    state = State(mode=EMBEDDED)
    for each in (acl("orders"), acl("orders", "User:bob"), acl("pay", pattern=PatternType.PREFIXED)):
        state.acls.add(each)
    response = encodable(
        await answer(describe_acls.handle, request, context(3, state, authorizer=AclAuthorizer(state.acls))),
        29,
    )
    return [(each.resource_name, [row.principal for row in each.acls]) for each in response.resources]


async def test_all_acls_are_listed_by_resource() -> None:
    assert await described(ALL_OF_DESCRIBE_ACLS) == [
        ("orders", ["User:anna", "User:bob"]),
        ("pay", ["User:anna"]),
    ]


async def test_a_filter_selects() -> None:
    match = ALL_OF_DESCRIBE_ACLS._replace(
        resource_name_filter="payments", pattern_type_filter=PatternType.MATCH
    )
    assert await described(match) == [("pay", ["User:anna"])]
    assert await described(ALL_OF_DESCRIBE_ACLS._replace(principal_filter="User:nobody")) == []


async def test_a_number_beyond_the_enums_matches_nothing() -> None:
    assert await described(ALL_OF_DESCRIBE_ACLS._replace(operation=99)) == []


async def test_without_an_authorizer_there_are_no_acls() -> None:
    with pytest.raises(ApiError, match="No Authorizer is configured on the broker") as raised:
        await answer(describe_acls.handle, ALL_OF_DESCRIBE_ACLS, context(3))
    assert raised.value.code == ErrorCode.SECURITY_DISABLED


def test_a_refusal_has_the_error_alone() -> None:
    assert encodable(describe_acls.refuse(ALL_OF_DESCRIBE_ACLS, 31, "no"), 29)[1:] == (31, "no", ())
