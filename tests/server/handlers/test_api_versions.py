"""ApiVersions (18)."""

import pytest

from protocol.codec.wire import codec
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersionsResponse
from server.dispatch.cache import Encoded
from server.handlers.api_versions import handle, refuse
from tests.server.fakes import answer, context


async def ask(version: int, name: str = "client", software_version: str = "1.0") -> ApiVersionsResponse:
    response = await answer(handle, ApiVersionsRequest(name, software_version), context(version))
    if isinstance(response, Encoded):
        return codec(ApiVersionsResponse, version).decode(response.body)
    assert isinstance(response, ApiVersionsResponse)
    return response


@pytest.mark.parametrize("version", range(5))
async def test_registered_apis_are_advertised(version: int) -> None:
    response = await ask(version)
    ranges = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert response.error_code == 0
    assert ranges[45] == (0, 1)
    assert ranges[46] == (0, 0)
    assert ranges[18] == (0, 4)
    assert ranges[3] == (0, 13)
    assert list(ranges) == sorted(ranges)


@pytest.mark.parametrize(("name", "version"), [("", "1"), ("a", ""), ("a b", "1"), ("-a", "1"), ("a", "1.")])
async def test_invalid_client_software_is_refused(name: str, version: str) -> None:
    assert (await ask(3, name, version)).error_code == 42


async def test_old_versions_have_no_client_software() -> None:
    assert (await ask(2, "", "")).error_code == 0


def test_an_unsupported_version_gets_the_supported_versions() -> None:
    response = refuse(ApiVersionsRequest(), 35, None)
    assert response.error_code == 35
    assert [tuple(row) for row in response.api_keys] == [(18, 0, 4)]


def test_a_refusal_has_the_error_alone() -> None:
    assert refuse(ApiVersionsRequest(), -1, None) == ApiVersionsResponse(error_code=-1)
