"""CreateAcls (30)."""

import pytest

from common.error_codes import ErrorCode
from controller.messages.event import Requester
from controller.messages.events import CreateAcls
from controller.model.errors import DONE, Outcome
from controller.state.access import AclIndex
from protocol.errors import ApiError
from protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from server.handlers.create_acls import handle, refuse
from server.security.acls import AclAuthorizer
from tests.controller.acls import acl
from tests.server.fakes import FakeDriver, answer, context, encodable

REQUEST = CreateAclsRequest([AclCreation(*acl()), AclCreation(*acl("other"))])


async def test_the_outcome_of_each_acl_is_returned() -> None:
    driver = FakeDriver([DONE, Outcome(ErrorCode.INVALID_REQUEST, "no")])
    asked = context(3, driver=driver, authorizer=AclAuthorizer(AclIndex()))
    response = encodable(await answer(handle, REQUEST, asked), 30)
    assert driver.events == [CreateAcls([acl(), acl("other")], Requester("User:ANONYMOUS", "me"))]
    assert [tuple(row) for row in response.results] == [(0, ""), (42, "no")]


async def test_without_an_authorizer_no_acl_is_created() -> None:
    with pytest.raises(ApiError, match="No Authorizer is configured") as raised:
        await answer(handle, REQUEST, context(3))
    assert raised.value.code == ErrorCode.SECURITY_DISABLED


def test_a_refusal_is_repeated_for_each_acl() -> None:
    assert [tuple(row) for row in encodable(refuse(REQUEST, 31, "no"), 30).results] == [(31, "no")] * 2
