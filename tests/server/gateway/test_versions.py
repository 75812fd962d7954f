"""The versions that the gateway supports."""

import pytest

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from server.dispatch.registry import ROUTES
from server.gateway.versions import FETCH, HIDDEN, SERVED, api_versions
from tests.server.relay.doubles import CORRELATION_ID, Talk, client, finished, incoming, incoming_part


def test_apis_answered_here_have_the_versions_of_their_handlers() -> None:
    assert all(SERVED[key] == ROUTES[key].versions for key in (32, 33, 44, 45, 46))


def test_every_supported_version_with_addresses_can_be_rewritten() -> None:
    assert (SERVED[ApiKey.PRODUCE][-1], SERVED[FETCH][-1]) == (13, 15)
    assert {3, 10, 60} <= SERVED.keys()
    assert not HIDDEN & SERVED.keys()


FEATURES = [FinalizedFeatureKey("transaction.version", 2, 2)]


def talk(version: int) -> Talk:
    return Talk(
        api_versions(), ApiVersionsRequest("a", "1") if version >= 3 else ApiVersionsRequest(), version
    )


async def shown(*rows: tuple[int, int, int], version: int = 4) -> list[tuple[int, ...]]:
    answer = await talk(version).answer(ApiVersionsResponse(api_keys=[ApiVersion(*row) for row in rows]))
    return [tuple(row) for row in answer.api_keys]


async def test_the_maximum_is_the_smaller_of_both() -> None:
    assert await shown((3, 0, 99), (3, 0, 11)) == [(3, 0, 13), (3, 0, 11)]


async def test_versions_of_apis_without_interceptor_are_unchanged() -> None:
    assert await shown((8, 2, 99), (999, 0, 7)) == [(8, 2, 99), (999, 0, 7)]


async def test_fetch_ends_before_its_answers_have_addresses() -> None:
    assert await shown((1, 4, 18)) == [(1, 4, 15)]


async def test_produce_keeps_the_version_that_makes_transactions_safe() -> None:
    assert await shown((0, 0, 13)) == [(0, 0, 13)]


async def test_sasl_tokens_are_framed() -> None:
    assert await shown((17, 0, 1)) == [(17, 1, 1)]


async def test_apis_whose_addresses_cannot_be_rewritten_are_hidden() -> None:
    assert await shown((78, 1, 1), (79, 1, 1), (17, 0, 0)) == []


@pytest.mark.parametrize("version", range(5))
async def test_every_version_of_the_answer_is_restricted(version: int) -> None:
    assert await shown((45, 0, 9), version=version) == [(45, 0, 1)]


async def test_features_are_unchanged() -> None:
    answer = await talk(4).answer(
        ApiVersionsResponse(finalized_features=FEATURES, finalized_features_epoch=8)
    )
    assert (answer.finalized_features, answer.finalized_features_epoch) == (tuple(FEATURES), 8)


async def test_an_upstream_without_the_version_answers_in_version_0() -> None:
    rows = [ApiVersion(18, 0, 3)]
    answer = await talk(4).answer(ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, rows), version=0)
    assert (answer.error_code, answer.api_keys) == (ErrorCode.UNSUPPORTED_VERSION, tuple(rows))


async def test_an_unknown_version_is_refused_with_the_upstreams_order_of_keys() -> None:
    payload = incoming(ApiVersionsRequest("a", "1"), 4).frame.tobytes()
    newer = incoming_part(payload[:2] + b"\0\5" + payload[4:])
    exchange = api_versions()(newer, client())
    assert not isinstance(exchange, int)
    assert exchange.upstream is not None
    assert exchange.upstream[4:12] == b"\0\x12\0\0" + CORRELATION_ID.to_bytes(4)
    theirs = b"\0\0\0\7" + b"\0\0" + b"\0\0\0\2" + b"\0\3\0\0\0\x0d" + b"\0\x12\0\0\0\6"
    answer = await finished(exchange, len(theirs).to_bytes(4) + theirs)
    assert answer[4:] == b"\0\0\0\7" + b"\0\x23" + b"\0\0\0\1" + b"\0\x12\0\0\0\4"
