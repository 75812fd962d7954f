"""DescribeAcls (29)."""

import pytest

from common.error_codes import ErrorCode
from controller.model.access import AclFilter, PatternType
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.errors import ApiError
from protocol.messages.describe_acls_request import DescribeAclsRequest
from server.handlers.describe_acls import handle, refuse
from server.security.acls import AclAuthorizer
from tests.controller.acls import acl
from tests.server.fakes import answer, context, encodable

ALL = DescribeAclsRequest(*AclFilter())


async def described(request: DescribeAclsRequest) -> list[tuple[str, list[str]]]:
    state = State(mode=EMBEDDED)
    for each in (acl("orders"), acl("orders", "User:bob"), acl("pay", pattern=PatternType.PREFIXED)):
        state.acls.add(each)
    response = encodable(
        await answer(handle, request, context(3, state, authorizer=AclAuthorizer(state.acls))), 29
    )
    return [(each.resource_name, [row.principal for row in each.acls]) for each in response.resources]


async def test_all_acls_are_listed_by_resource() -> None:
    assert await described(ALL) == [("orders", ["User:anna", "User:bob"]), ("pay", ["User:anna"])]


async def test_a_filter_selects() -> None:
    match = ALL._replace(resource_name_filter="payments", pattern_type_filter=PatternType.MATCH)
    assert await described(match) == [("pay", ["User:anna"])]
    assert await described(ALL._replace(principal_filter="User:nobody")) == []


async def test_a_number_beyond_the_enums_matches_nothing() -> None:
    assert await described(ALL._replace(operation=99)) == []


async def test_without_an_authorizer_there_are_no_acls() -> None:
    with pytest.raises(ApiError, match="No Authorizer is configured on the broker") as raised:
        await answer(handle, ALL, context(3))
    assert raised.value.code == ErrorCode.SECURITY_DISABLED


def test_a_refusal_has_the_error_alone() -> None:
    assert encodable(refuse(ALL, 31, "no"), 29)[1:] == (31, "no", ())
