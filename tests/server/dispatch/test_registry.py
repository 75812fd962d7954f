"""The registered routes, and the docstring header of each handler's file."""

import re
import sys
from pathlib import Path

import pytest

from common.error_codes import ErrorCode
from protocol.apis import ApiKey, find_api
from protocol.messages.api_versions_request import ApiVersionsRequest
from server.dispatch.registry import ROUTES, AnyRoute, handles
from server.handlers import api_versions, load

load()
EVERY_ROUTE = [pytest.param(route, id=route.api_key.name.lower()) for _, route in sorted(ROUTES.items())]
SERVED = {
    *{0, 2, 3, 4, 5, 6, 7, 10, 17, 18, 19, 20, 29, 30, 31, 32, 33, 34, 35, 36, 37},
    *{43, 44, 45, 46, 48, 50, 51, 56, 60, 75},
}
ONLY_RELAYED = {9, 16, 66}
"""APIs that the gateway relays to a running Kafka."""
OF_ZOOKEEPER_MODE = {67}
"""APIs that the active controller of a ZooKeeper-mode cluster answers itself."""
OF_STATE_TOPIC = {1, 22, 24, 26}
"""APIs that reassignd calls for the records in a topic; the gateway relays them without reading them."""


def test_every_api_of_the_codec_is_served_or_relayed() -> None:
    assert set(ROUTES) == SERVED == set(ApiKey) - ONLY_RELAYED - OF_ZOOKEEPER_MODE - OF_STATE_TOPIC


def test_a_key_cannot_be_registered_twice() -> None:
    register = handles(ApiKey.API_VERSIONS, ApiVersionsRequest, versions=(0, 0), refuse=api_versions.refuse)
    with pytest.raises(ValueError, match="API_VERSIONS is registered twice"):
        register(api_versions.handle)


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_the_file_is_named_after_its_api(route: AnyRoute) -> None:
    assert route.handle.__module__ == f"server.handlers.{route.api_key.name.lower()}"


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_the_header_matches_the_registration(route: AnyRoute) -> None:
    card = sys.modules[route.handle.__module__].__doc__ or ""
    name = route.request.__name__.removesuffix("Request")
    first, last = route.versions[0], route.versions[-1]
    versions = f"version {first}" if first == last else f"versions {first}-{last}"
    assert card.startswith(f"{name} ({route.api_key.value}), {versions}.\n\nKIP: ")


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_the_header_names_the_cluster_operation(route: AnyRoute) -> None:
    card = sys.modules[route.handle.__module__].__doc__ or ""
    (acl,) = re.findall(r"^ACL: (.*)$", card, re.MULTILINE)
    if route.operation is not None:
        assert acl == f"{route.operation.name} on the cluster."
    else:
        assert not re.fullmatch(r"[A-Z_]+ on the cluster\.", acl)


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_the_header_names_existing_errors(route: AnyRoute) -> None:
    card = sys.modules[route.handle.__module__].__doc__ or ""
    _, _, errors = card.partition("\nErrors")
    named = re.findall(r"\b[A-Z]{3,}(?:_[A-Z]+)+\b", errors)
    assert named
    assert set(named) <= set(ErrorCode.__members__)


@pytest.mark.parametrize("route", EVERY_ROUTE)
def test_the_codec_knows_all_versions_that_are_served(route: AnyRoute) -> None:
    api = find_api(route.api_key)
    assert api is not None
    assert api.request.root is route.request
    assert set(route.versions) <= set(api.versions)


def documented() -> dict[int, tuple[int, int]]:
    """Return the bounds in docs/security.md by API key; key 0 stands for all others."""
    text = (Path(__file__).parents[3] / "docs/security.md").read_text("utf-8")
    found: dict[int, tuple[int, int]] = {}
    for names, rows, numbers in re.findall(r"^\| ([^|]*) \| ([0-9,]+) \| ([0-9,]+) \|$", text, re.MULTILINE):
        keys = [int(key) for key in re.findall(r"\(([0-9]+)\)", names)] or [0]
        found |= dict.fromkeys(keys, (int(rows.replace(",", "")), int(numbers.replace(",", ""))))
    return found


def test_the_bounds_of_requests_are_documented() -> None:
    bounds = documented()
    others = bounds.pop(0)
    assert {key: bounds.get(key, others) for key in ROUTES} == {
        key: route.bounds for key, route in ROUTES.items()
    }
