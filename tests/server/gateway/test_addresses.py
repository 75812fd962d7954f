"""DescribeCluster (60) and FindCoordinator (10): all addresses are the gateway's."""

from typing import Any

import pytest

from common.address import Address
from common.error_codes import ErrorCode
from protocol.codec.errors import DecodeError
from protocol.frames import encode_response
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from server.gateway.addresses import (
    LARGEST_HEAD,
    controller_among,
    describe_cluster,
    find_coordinator,
    metadata,
)
from server.relay.splitter import FrameAction
from tests.server.relay.doubles import FakePorts, Talk

CLUSTER = DescribeClusterResponse(
    cluster_id="cluster",
    controller_id=3,
    brokers=[
        DescribeClusterBroker(1, "a", 1, "r"),
        DescribeClusterBroker(3, "c", 1, None),
        DescribeClusterBroker(20, "b", 1, None),
    ],
)


@pytest.mark.parametrize("version", range(3))
async def test_brokers_have_gateway_addresses_and_the_controller_is_the_upstreams(version: int) -> None:
    asking = Talk(describe_cluster(FakePorts()), DescribeClusterRequest(), version)
    answer = await asking.answer(CLUSTER)
    assert [tuple(each) for each in answer.brokers] == [
        (1, "gate", 9001, "r", False),
        (3, "gate", 9003, None, False),
    ]
    assert (answer.cluster_id, answer.controller_id) == ("cluster", 3)


async def test_a_controller_that_is_not_shown_is_replaced_by_a_live_broker() -> None:
    fenced = CLUSTER.brokers[0]._replace(is_fenced=True)
    theirs = CLUSTER._replace(brokers=[fenced, *CLUSTER.brokers[1:]], controller_id=20)
    asking = Talk(describe_cluster(FakePorts()), DescribeClusterRequest(), 2)
    assert (await asking.answer(theirs)).controller_id == 3


@pytest.mark.parametrize(("live", "named", "told"), [((1, 3), -1, -1), ((), 3, -1), ((1, 3), 9, 1)])
def test_a_controller_is_live_or_unknown(live: tuple[int, ...], named: int, told: int) -> None:
    assert controller_among(live, named) == told


async def test_controllers_are_not_hidden() -> None:
    asking = Talk(describe_cluster(FakePorts()), DescribeClusterRequest(endpoint_type=2), 1)
    theirs = CLUSTER._replace(endpoint_type=2)
    assert (await asking.answer(theirs)).brokers[0].host == "a"


async def test_an_error_passes() -> None:
    asking = Talk(describe_cluster(FakePorts()), DescribeClusterRequest(), 1)
    answer = await asking.answer(DescribeClusterResponse(error_code=114, error_message="no"))
    assert (answer.error_code, answer.error_message, answer.brokers) == (114, "no", ())


@pytest.mark.parametrize("version", range(4))
async def test_the_coordinator_has_the_gateways_address(version: int) -> None:
    asking = Talk(find_coordinator(FakePorts()), FindCoordinatorRequest("group"), version)
    answer = await asking.answer(FindCoordinatorResponse(node_id=2, host="b", port=9092))
    assert (answer.node_id, answer.host, answer.port) == (2, "gate", 9002)


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_all_coordinators_of_a_batch_have_the_gateways_address(version: int) -> None:
    asking = Talk(find_coordinator(FakePorts()), FindCoordinatorRequest(coordinator_keys=["g", "h"]), version)
    refused = Coordinator("h", -1, "", -1, 15, "not yet")
    answer = await asking.answer(
        FindCoordinatorResponse(coordinators=[Coordinator("g", 2, "b", 9092), refused])
    )
    assert [(each.node_id, each.host, each.port, each.error_code) for each in answer.coordinators] == [
        (2, "gate", 9002, 0),
        (-1, "", -1, 15),
    ]


async def test_a_coordinator_without_a_port_is_not_available_yet() -> None:
    asking = Talk(find_coordinator(FakePorts(known=())), FindCoordinatorRequest("group"), 2)
    answer = await asking.answer(FindCoordinatorResponse(node_id=2, host="b", port=9092))
    assert (answer.error_code, answer.host) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")


VERSIONS = range(14)
TOPICS = [
    MetadataResponseTopic(0, "foo", partitions=[MetadataResponsePartition(leader_id=2, replica_nodes=(1, 2))])
]


def response(version: int, brokers: int = 2) -> MetadataResponse:
    rows = [
        MetadataResponseBroker(number, f"host-{number}", 9092, "rack" if version and number % 2 else None)
        for number in range(1, brokers + 1)
    ]
    answer = MetadataResponse(brokers=rows, topics=TOPICS, controller_id=2 if version else -1)
    return answer._replace(cluster_id="cluster") if version >= 2 else answer


def talk(version: int, ports: FakePorts | None = None) -> Talk:
    return Talk(metadata(ports or FakePorts()), MetadataRequest(topics=None if version else ()), version)


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_address_is_the_gateways_and_the_controller_is_the_upstreams(version: int) -> None:
    answer = await talk(version).answer(response(version))
    assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [
        (1, "gate", 9001),
        (2, "gate", 9002),
    ]
    assert answer.controller_id == (2 if version else -1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_rest_is_unchanged(version: int) -> None:
    theirs = response(version)
    answer = await talk(version).answer(theirs)
    assert [each.rack for each in answer.brokers] == [each.rack for each in theirs.brokers]
    assert answer.cluster_id == theirs.cluster_id
    assert answer.topics[0].partitions[0].replica_nodes == (1, 2)


async def test_a_broker_without_a_port_is_omitted_and_reported() -> None:
    ports = FakePorts(known=[2])
    answer = await talk(12, ports).answer(response(12))
    assert [each.node_id for each in answer.brokers] == [2]
    assert ports.asked[0] == (1, Address("host-1", 9092))


@pytest.mark.parametrize("version", range(1, 14))
async def test_a_controller_that_is_not_shown_is_replaced(version: int) -> None:
    answer = await talk(version, FakePorts(known=[1])).answer(response(version))
    assert answer.controller_id == 1


@pytest.mark.parametrize("version", [0, 8, 13])
async def test_the_brokers_are_rewritten_before_the_topics_arrive(version: int) -> None:
    asking = talk(version)
    theirs = response(version, brokers=300)._replace(topics=TOPICS * 500)
    frame = encode_response(asking.incoming.header, theirs)
    wanted: Any = 0
    while isinstance(wanted, int):
        assert wanted < len(frame) - 4
        assert asking.exchange.finish is not None
        came = memoryview(frame)[4 : 4 + max(wanted, 8)]
        wanted = asking.exchange.finish(came, len(frame) - 4)
    assert isinstance(wanted, FrameAction)
    assert asking.read(wanted.put + frame[wanted.take :]).topics[0].name == "foo"


async def test_an_unreadable_answer_closes_the_connection() -> None:
    asking = talk(12)
    assert asking.exchange.finish is not None
    with pytest.raises(DecodeError, match="Metadata cannot be read"):
        asking.exchange.finish(memoryview(b"\0\0\0\7\0\0\0\0\0\xff\xff\xff\xff\x07"), 14)


async def test_a_broker_list_above_the_size_limit_is_not_buffered() -> None:
    asking = talk(1)
    assert asking.exchange.finish is not None
    head = b"\0\0\0\7" + (2**30).to_bytes(4) + bytes(LARGEST_HEAD)
    with pytest.raises(DecodeError, match="Metadata cannot be read"):
        asking.exchange.finish(memoryview(head), 2**31 - 1)
