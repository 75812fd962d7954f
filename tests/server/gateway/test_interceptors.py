"""The interceptor of each API key."""

import pytest

from common.off_loop import InlineExecutor
from protocol.codec.errors import DecodeError
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from server.dispatch.registry import USUAL
from server.gateway.interceptors import LARGEST_SEARCH, gateway_interceptors, pass_through, within_bounds
from server.gateway.versions import SERVED
from server.relay.exchange import PASSED, Exchange
from tests.server.gateway.doubles import FakeServices
from tests.server.relay.doubles import FakePorts, client, incoming, incoming_part

RULES = gateway_interceptors(FakeServices().services, FakePorts(), InlineExecutor())


def head(key: int, version: int) -> bytes:
    return key.to_bytes(2) + version.to_bytes(2) + bytes(40)


@pytest.mark.parametrize("key", sorted(SERVED.keys() - {18}))
def test_a_version_that_is_not_shown_is_not_served(key: int) -> None:
    with pytest.raises(DecodeError, match=f"API key {key} version {SERVED[key][-1] + 1} is not served"):
        RULES[key](incoming_part(head(key, SERVED[key][-1] + 1)), client())


def test_raw_sasl_tokens_are_not_served() -> None:
    with pytest.raises(DecodeError, match="API key 17 version 0 is not served"):
        RULES[17](incoming_part(head(17, 0)), client())
    assert isinstance(RULES[17](incoming_part(head(17, 1)), client()), Exchange)


@pytest.mark.parametrize("key", [78, 79])
def test_hidden_apis_are_not_served(key: int) -> None:
    with pytest.raises(DecodeError, match=f"API key {key} is not served"):
        RULES[key](incoming_part(head(key, 1)), client())


def test_fetches_are_relayed() -> None:
    assert RULES[1](incoming_part(head(1, 15), 1000), client()) is PASSED


@pytest.mark.parametrize("key", [8, 16, 35, 66])
def test_most_keys_have_no_interceptor(key: int) -> None:
    assert key not in RULES


@pytest.mark.parametrize(("keys", "ends"), [(10, False), (10_000, False), (10_001, True)])
def test_a_request_for_too_many_coordinators_closes_the_connection(keys: int, ends: bool) -> None:
    request = FindCoordinatorRequest(coordinator_keys=[f"group-{number}" for number in range(keys)])
    rule = within_bounds(FindCoordinatorRequest, USUAL, LARGEST_SEARCH, pass_through)
    if ends:
        with pytest.raises(DecodeError, match="coordinators with more than 10000 rows"):
            rule(incoming(request, 4), client())
    else:
        assert rule(incoming(request, 4), client()) is PASSED


def test_a_coordinator_request_is_buffered_until_its_rows_are_counted() -> None:
    request = FindCoordinatorRequest(coordinator_keys=["group"] * 10_000)
    whole = incoming(request, 4)
    rule = within_bounds(FindCoordinatorRequest, USUAL, LARGEST_SEARCH, pass_through)
    assert rule(whole._replace(frame=whole.frame[:100]), client()) == whole.size
    with pytest.raises(DecodeError, match="where 1048576 are allowed"):
        rule(whole._replace(size=LARGEST_SEARCH + 1), client())
