"""DescribeCluster (60) and FindCoordinator (10): all addresses are the gateway's."""

import pytest

from common.error_codes import ErrorCode
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from server.gateway.addresses import controller_among, describe_cluster, find_coordinator
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
