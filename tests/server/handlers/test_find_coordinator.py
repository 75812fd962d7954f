"""FindCoordinator (10)."""

import pytest

from protocol.codec.wire import codec
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import FindCoordinatorResponse
from server.dispatch.authorizer import AclTable
from server.handlers.find_coordinator import NO_COORDINATORS, handle
from tests.server.fakes import answer, context


@pytest.mark.parametrize("version", range(4))
async def test_there_is_no_coordinator(version: int) -> None:
    response = await answer(handle, FindCoordinatorRequest("group"), context(version))
    codec(FindCoordinatorResponse, version).encode(response)
    assert (response.error_code, response.error_message, response.node_id) == (15, NO_COORDINATORS, -1)


@pytest.mark.parametrize("version", range(4, 7))
async def test_there_is_no_coordinator_for_any_of_many_keys(version: int) -> None:
    response = await answer(handle, FindCoordinatorRequest(coordinator_keys=["a", "b"]), context(version))
    codec(FindCoordinatorResponse, version).encode(response)
    assert [(each.key, each.error_code) for each in response.coordinators] == [("a", 15), ("b", 15)]


async def test_no_keys_find_nothing() -> None:
    response = await answer(handle, FindCoordinatorRequest(), context(4))
    codec(FindCoordinatorResponse, 4).encode(response)
    assert response.coordinators == ()


@pytest.mark.parametrize(("key_type", "code"), [(0, 30), (1, 53)])
async def test_a_coordinator_needs_describe_on_the_key(key_type: int, code: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a"])
    (row,) = (await answer(handle, request, context(4, authorizer=AclTable([])))).coordinators
    assert (row.error_code, row.error_message) == (code, None)
