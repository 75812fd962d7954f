"""DescribeConfigs (32) with reassignd's keys, and the requests that are buffered."""

import pytest

from common.error_codes import ErrorCode
from controller.cluster.config_keys import BROKER_KEYS
from controller.model.cluster import Config, ResourceType
from controller.model.configs import ConfigSource
from protocol.codec.errors import DecodeError
from protocol.frames import decode_response, encode_response
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from server.gateway.configs import describe
from server.relay.exchange import LARGEST_DECODED, PASSED
from tests.frames import decode_request
from tests.server.gateway.doubles import FakeServices
from tests.server.relay.doubles import Talk, client, incoming, incoming_part

MODE = "reassignment.cancel.mode"
MOVEMENTS = "reassignment.max.concurrent.partition.movements"
BROKER, TOPIC = ResourceType.BROKER, ResourceType.TOPIC


def resource(kind: int, name: str, *keys: str) -> DescribeConfigsResource:
    return DescribeConfigsResource(kind, name, keys or None)


def row(kind: int, name: str, *configs: str, code: int = 0) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        code, None, kind, name, [DescribeConfigsResourceResult(each, "1") for each in configs]
    )


@pytest.fixture
def fake() -> FakeServices:
    fake = FakeServices()
    fake.controller.put(Config(BROKER, "", MOVEMENTS, "7"), Config(BROKER, "", "min.insync.replicas", "2"))
    return fake


async def described(
    fake: FakeServices, wanted: DescribeConfigsResource, theirs: DescribeConfigsResult, version: int = 4
) -> tuple[int, dict[str, str | None]]:
    asking = Talk(describe(fake.services, fake.off_loop), DescribeConfigsRequest([wanted]), version)
    answer = await asking.answer(DescribeConfigsResponse(results=[theirs]))
    (result,) = answer.results
    assert (result.resource_type, result.resource_name) == (wanted.resource_type, wanted.resource_name)
    return result.error_code, {each.name: each.value for each in result.configs}


@pytest.mark.parametrize("version", [1, 2, 3, 4])
async def test_own_keys_are_added_to_the_cluster_defaults(fake: FakeServices, version: int) -> None:
    theirs = row(BROKER, "", "log.retention.ms", "reassignment.left.behind")
    code, values = await described(fake, resource(BROKER, ""), theirs, version)
    assert (code, values.pop("log.retention.ms")) == (0, "1")
    assert (values[MOVEMENTS], values[MODE]) == ("7", "rollback")
    assert values.keys() == {name for name in BROKER_KEYS if name.startswith("reassignment.")}


async def test_own_keys_without_a_value_are_defaults(fake: FakeServices) -> None:
    request = DescribeConfigsRequest([resource(BROKER, "", MOVEMENTS, MODE)])
    theirs = DescribeConfigsResponse(results=[row(BROKER, "")])
    (result,) = (await Talk(describe(fake.services, fake.off_loop), request, 4).answer(theirs)).results
    assert {each.name: each.config_source for each in result.configs} == {
        MOVEMENTS: ConfigSource.DYNAMIC_DEFAULT_BROKER,
        MODE: ConfigSource.DEFAULT,
    }


async def test_only_requested_keys_are_described(fake: FakeServices) -> None:
    _, values = await described(fake, resource(BROKER, "", MODE), row(BROKER, ""))
    assert values == {MODE: "rollback"}


async def test_a_refusal_by_the_upstream_is_returned(fake: FakeServices) -> None:
    refused = row(BROKER, "", code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert await described(fake, resource(BROKER, ""), refused) == (31, {})


async def test_the_whole_request_is_relayed_and_other_rows_are_unchanged(fake: FakeServices) -> None:
    request = DescribeConfigsRequest([resource(TOPIC, "foo"), resource(BROKER, "")])
    asking = Talk(describe(fake.services, fake.off_loop), request, 4)
    assert len(decode_request(asking.upstream).resources) == 2
    theirs = DescribeConfigsResponse(results=[row(TOPIC, "foo", "a"), row(BROKER, "")])
    answer = await asking.answer(theirs)
    assert [each.name for each in answer.results[0].configs] == ["a"]


@pytest.mark.parametrize(
    "resources",
    [
        [resource(TOPIC, "foo"), resource(BROKER, "1")],
        [resource(TOPIC, ""), resource(8, "")],
        [resource(BROKER, ""), resource(BROKER, "")],
    ],
    ids=["nothing of ours", "the name alone", "twice"],
)
def test_a_request_without_own_keys_is_relayed_unchanged(
    fake: FakeServices, resources: list[DescribeConfigsResource]
) -> None:
    for version in (1, 4):
        request = incoming(DescribeConfigsRequest(resources), version)
        assert describe(fake.services, fake.off_loop)(request, client()) is PASSED


def test_whole_requests_are_read_up_to_a_limit(fake: FakeServices) -> None:
    request = incoming(DescribeConfigsRequest([resource(BROKER, "")]), 4)
    rule = describe(fake.services, fake.off_loop)
    assert rule(incoming_part(bytes(request.frame[:12]), request.size), client()) == request.size
    with pytest.raises(DecodeError, match="bytes for configs, where 16777216 are allowed"):
        rule(incoming_part(bytes(request.frame), LARGEST_DECODED + 1), client())


def test_a_request_with_too_many_rows_ends_the_connection(fake: FakeServices) -> None:
    resources = [resource(TOPIC, f"t{number}") for number in range(20_001)]
    request = DescribeConfigsRequest([*resources, resource(BROKER, "")])
    with pytest.raises(DecodeError, match="with more than 20000 rows"):
        describe(fake.services, fake.off_loop)(incoming(request, 4), client())


async def test_a_large_answer_is_rewritten_off_the_loop(fake: FakeServices) -> None:
    asking = Talk(describe(fake.services, fake.off_loop), DescribeConfigsRequest([resource(BROKER, "")]), 4)
    others = [row(TOPIC, f"t{number}", *(f"config-{n}" for n in range(100))) for number in range(200)]
    answer = await asking.answer(DescribeConfigsResponse(results=[row(BROKER, ""), *others]))
    assert MOVEMENTS in {each.name for each in answer.results[0].configs}
    assert len(answer.results) == 201
    assert fake.off_loop.ran == [decode_response, encode_response]
