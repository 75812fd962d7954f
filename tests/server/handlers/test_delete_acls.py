"""DeleteAcls (31)."""

import pytest

from common.error_codes import ErrorCode
from controller.messages.event import Requester
from controller.messages.events import DeleteAcls
from controller.model.access import AclFilter
from controller.state.access import AclIndex
from protocol.errors import ApiError
from protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from server.handlers.delete_acls import handle, refuse
from server.security.acls import AclAuthorizer
from tests.controller.acls import acl
from tests.server.fakes import FakeDriver, answer, context, encodable

ALL = DeleteAclsFilter(*AclFilter())
UNKNOWN = ALL._replace(operation=99)


async def test_the_deleted_acls_are_listed_by_filter() -> None:
    driver = FakeDriver([[acl()], []])
    asked = context(3, driver=driver, authorizer=AclAuthorizer(AclIndex()))
    request = DeleteAclsRequest([ALL, UNKNOWN, ALL._replace(host_filter="h")])
    response = encodable(await answer(handle, request, asked), 31)
    assert driver.events == [
        DeleteAcls([AclFilter(), AclFilter(host="h")], Requester("User:ANONYMOUS", "me"))
    ]
    first, unknown, last = response.filter_results
    assert [row.resource_name for row in first.matching_acls] == ["orders"]
    assert unknown[:2] == (ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
    assert (last.error_code, last.matching_acls) == (0, [])


async def test_without_an_authorizer_no_acl_is_deleted() -> None:
    with pytest.raises(ApiError, match="No Authorizer is configured") as raised:
        await answer(handle, DeleteAclsRequest([ALL]), context(3))
    assert raised.value.code == ErrorCode.SECURITY_DISABLED


def test_a_refusal_is_repeated_for_each_filter() -> None:
    refused = encodable(refuse(DeleteAclsRequest([ALL, ALL]), 31, "no"), 31)
    assert [(row.error_code, row.error_message) for row in refused.filter_results] == [(31, "no")] * 2
