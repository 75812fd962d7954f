"""API keys, their names and versions."""

import sys
from importlib import import_module

import pytest

from protocol.apis import ApiKey, find_api


@pytest.mark.parametrize("key", ApiKey)
def test_every_key_has_a_request_and_a_response_of_the_same_versions(key: ApiKey) -> None:
    api = find_api(key)
    assert api is not None
    assert (api.request.api_key, api.response.api_key) == (key, key)
    assert (api.request.kind, api.response.kind) == ("request", "response")
    assert api.request.versions == api.response.versions


def test_an_unknown_key_has_nothing() -> None:
    assert find_api(9) is None
    assert find_api(-1) is None


@pytest.mark.parametrize(
    ("key", "version", "headers"),
    [
        (ApiKey.METADATA, 8, (1, 0)),
        (ApiKey.METADATA, 9, (2, 1)),
        (ApiKey.API_VERSIONS, 2, (1, 0)),
        (ApiKey.API_VERSIONS, 3, (2, 0)),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, (0, 0)),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, (1, 0)),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, (2, 1)),
    ],
)
def test_header_versions_follow_flexible_versions_with_two_exceptions(
    key: ApiKey, version: int, headers: tuple[int, int]
) -> None:
    api = find_api(key)
    assert api is not None
    assert (api.request_header_version(version), api.response_header_version(version)) == headers


def test_messages_are_imported_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "protocol.messages.elect_leaders_request"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delitem(sys.modules, "protocol.apis")
    fresh = import_module("protocol.apis")
    assert module not in sys.modules
    fresh.find_api(fresh.ApiKey.ELECT_LEADERS)
    assert module in sys.modules
