"""Requests for configs at a controller's listener: which pass, and which are answered here after a query."""

from typing import Any

import pytest

from controller.messages.events import AlterConfigs
from protocol.errors import DecodeError
from protocol.frames import decode_request
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata_response import MetadataResponse
from server.dispatch.authorizer import Operation
from server.relay.exchange import LARGEST_DECODED, PASSED, Exchange, Interceptor
from server.zk_controller.configs import configs
from tests.server.relay.doubles import Talk, client, incoming, incoming_part
from tests.server.zk_controller.conftest import Seat

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
BROKER, TOPIC = 4, 2
MAY = MetadataResponse(cluster_authorized_operations=1 << Operation.ALTER_CONFIGS)


def rule(seat: Seat) -> Interceptor:
    return configs(1000, seat.endpoint, seat.endpoint.answer)


def change(kind: int, name: str, *keys: tuple[str, str]) -> IncrementalAlterConfigsRequest:
    rows = [AlterableConfig(key, 0, value) for key, value in keys]
    return IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, rows)])


def replacement(*keys: tuple[str, str]) -> AlterConfigsRequest:
    return AlterConfigsRequest([ReplacedResource(BROKER, "", [ReplacedConfig(*key) for key in keys])])


@pytest.mark.parametrize(
    ("kind", "name", "key", "ours"),
    [
        (BROKER, "", MOVEMENTS, True),
        (BROKER, "1000", "leader.replication.throttled.rate", True),
        (BROKER, "", "log.cleaner.threads", False),
        (BROKER, "", "x.reassignment.x", False),
        (BROKER, "1", "queued.max.requests-1000", False),
        (TOPIC, "1000", "retention.ms", False),
    ],
)
@pytest.mark.parametrize("in_office", [True, False])
def test_configs_are_a_brokers_affair_but_for_ours(
    seat: Seat, in_office: bool, kind: int, name: str, key: str, ours: bool
) -> None:
    if in_office:
        seat.take_office()
    ruled = rule(seat)(incoming(change(kind, name, (key, "1")), 0), client())
    assert (ruled is PASSED) is not ours


def test_what_is_described_is_ours_on_our_own_id_only(seat: Seat) -> None:
    for name, ours in (("1000", True), ("", False), ("1", False)):
        request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, name)])
        assert (rule(seat)(incoming(request, 1), client()) is PASSED) is not ours


async def test_out_of_office_what_is_ours_is_asked_elsewhere(seat: Seat) -> None:
    talk = Talk(rule(seat), change(BROKER, "", (MOVEMENTS, "1")), 1)
    assert talk.upstream.api_key == 3
    assert [row.error_code for row in (await talk.answer(MAY)).responses] == [41]


def test_topics_beside_ours_are_asked_about_but_for_an_internal_one_that_is_not_there(seat: Seat) -> None:
    [ours], [theirs], [internal] = (
        change(*each, ("retention.ms", "1")).resources
        for each in ((BROKER, "1000"), (TOPIC, "foo"), (TOPIC, "__consumer_offsets"))
    )
    talk = Talk(rule(seat), IncrementalAlterConfigsRequest([ours, theirs, internal]), 1)
    assert [each.name for each in decode_request(talk.upstream).topics] == ["foo"]


async def test_in_office_our_keys_are_altered_by_those_who_may(seat: Seat) -> None:
    seat.take_office([(0, None)])
    talk = Talk(rule(seat), change(BROKER, "", (MOVEMENTS, "1")), 1)
    assert [row.error_code for row in (await talk.answer(MAY)).responses] == [0]
    assert len(seat.driver.events) == 1


async def test_by_others_they_are_not(seat: Seat) -> None:
    seat.take_office([])
    talk = Talk(rule(seat), change(BROKER, "", (MOVEMENTS, "1")), 1)
    assert [row.error_code for row in (await talk.answer(MetadataResponse())).responses] == [31]
    assert seat.driver.events == [AlterConfigs([], validate_only=False)]


@pytest.mark.parametrize("value", ["1", "0"])
def test_keys_of_both_are_checked_here_and_written_by_a_broker(seat: Seat, value: str) -> None:
    seat.take_office()
    both = (MOVEMENTS, value), ("log.cleaner.threads", "1")
    requests: list[Any] = [change(BROKER, "", *both), replacement(*both)]
    for request in requests:
        assert (rule(seat)(incoming(request, 1), client()) is PASSED) is (value == "1")


@pytest.mark.parametrize(("may", "code"), [(MAY, 40), (MetadataResponse(), 31)])
async def test_what_is_wrong_with_ours_is_told_to_those_who_may(
    seat: Seat, may: MetadataResponse, code: int
) -> None:
    seat.take_office()
    talk = Talk(rule(seat), change(BROKER, "", (MOVEMENTS, "0"), ("log.cleaner.threads", "1")), 1)
    assert [row.error_code for row in (await talk.answer(may)).responses] == [code]
    assert seat.driver.events == []


def test_a_resource_or_an_operation_that_there_is_not_is_refused(seat: Seat) -> None:
    seat.take_office()
    keys = [AlterableConfig(MOVEMENTS, 9, "1"), AlterableConfig("log.cleaner.threads", 0, "1")]
    unknown = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, "", keys)])
    for request in (unknown, change(99, "", (MOVEMENTS, "1"), ("log.cleaner.threads", "1"))):
        ruled = rule(seat)(incoming(request, 1), client())
        assert isinstance(ruled, Exchange)
        assert ruled.upstream is not None


def test_a_version_that_is_not_ours_is_a_brokers_affair(seat: Seat) -> None:
    whole = incoming(DescribeConfigsRequest([DescribeConfigsResource(BROKER, "1000")]), 1)
    assert rule(seat)(whole._replace(api_version=0), client()) is PASSED


def test_all_of_a_request_is_wanted_as_far_as_it_is_bounded(seat: Seat) -> None:
    whole = incoming(change(BROKER, "1000", ("x", "1")), 0)
    assert rule(seat)(incoming_part(bytes(whole.frame[:20]), whole.size), client()) == whole.size
    with pytest.raises(DecodeError, match="bytes for configs"):
        rule(seat)(incoming_part(bytes(whole.frame), LARGEST_DECODED + 1), client())


async def test_a_request_with_too_many_rows_is_refused_here(seat: Seat) -> None:
    seat.take_office()
    rows = [AlterConfigsResource(TOPIC, f"t{number}", ()) for number in range(20_001)]
    request = change(BROKER, "", (MOVEMENTS, "7"))._replace(
        resources=rows + list(change(BROKER, "", (MOVEMENTS, "7")).resources)
    )
    talk = Talk(rule(seat), request, 1)
    response = await talk.answer(MAY)
    assert {row.error_code for row in response.responses} == {42}
    assert seat.driver.events == []
