"""DescribeCluster (60), FindCoordinator (10), DescribeClientQuotas (48), ControlledShutdown (7)."""

import pytest

from common.error_codes import ErrorCode
from controller.messages.events import ControlledShutdown, ShutdownReply
from controller.model.access import Operation
from controller.model.cluster import TopicPartition
from controller.model.errors import DONE, Outcome
from protocol.codec.errors import ApiError
from protocol.codec.wire import codec
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse
from protocol.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_cluster_response import DescribeClusterResponse
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import FindCoordinatorResponse
from server.dispatch.context import (
    CLUSTER,
)
from server.handlers import controlled_shutdown, describe_client_quotas, describe_cluster, find_coordinator
from tests.builders import InMemoryController
from tests.server.fakes import AclTable, FakeDriver, allowing, answer, context, encodable


async def test_live_brokers_are_described() -> None:
    response = await answer(
        describe_cluster.handle, DescribeClusterRequest(), context(1, InMemoryController((2, 1)).state)
    )
    encodable(response, 60)
    assert (response.cluster_id, response.controller_id, response.error_code) == ("cluster-1", 1, 0)
    assert [broker.broker_id for broker in response.brokers] == [1, 2]
    assert response.cluster_authorized_operations == -2147483648


async def test_a_dead_broker_is_listed_only_on_request() -> None:
    state = InMemoryController((1, 2), live=(2,)).state
    response = await answer(describe_cluster.handle, DescribeClusterRequest(), context(2, state))
    assert [broker.broker_id for broker in response.brokers] == [2]
    response = await answer(
        describe_cluster.handle, DescribeClusterRequest(include_fenced_brokers=True), context(2, state)
    )
    assert [(broker.broker_id, broker.is_fenced) for broker in response.brokers] == [(1, True), (2, False)]


async def test_authorized_operations_are_those_of_the_principal() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    may_both = allowing((Operation.CREATE, CLUSTER), (Operation.DESCRIBE, CLUSTER))
    response = await answer(describe_cluster.handle, request, context(1, authorizer=may_both))
    assert response.cluster_authorized_operations == 1 << Operation.CREATE | 1 << Operation.DESCRIBE


async def test_without_describe_the_operations_on_the_cluster_are_hidden() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    asked = context(1, authorizer=allowing((Operation.CREATE, CLUSTER)))
    assert (await answer(describe_cluster.handle, request, asked)).cluster_authorized_operations == 0


@pytest.mark.parametrize(("endpoint", "code"), [(2, 114), (0, 115), (3, 115)])
async def test_only_broker_endpoints_are_supported(endpoint: int, code: int) -> None:
    with pytest.raises(ApiError) as refused:
        await answer(describe_cluster.handle, DescribeClusterRequest(endpoint_type=endpoint), context(1))
    assert refused.value.code == code


def test_a_refusal_has_the_error_alone() -> None:
    assert describe_cluster.refuse(DescribeClusterRequest(), 114, "no") == DescribeClusterResponse(
        0, 114, "no"
    )


@pytest.mark.parametrize("version", range(4))
async def test_there_is_no_coordinator(version: int) -> None:
    response = await answer(find_coordinator.handle, FindCoordinatorRequest("group"), context(version))
    codec(FindCoordinatorResponse, version).encode(response)
    assert (response.error_code, response.error_message, response.node_id) == (
        15,
        find_coordinator.NO_COORDINATORS,
        -1,
    )


@pytest.mark.parametrize("version", range(4, 7))
async def test_there_is_no_coordinator_for_any_of_many_keys(version: int) -> None:
    response = await answer(
        find_coordinator.handle, FindCoordinatorRequest(coordinator_keys=["a", "b"]), context(version)
    )
    codec(FindCoordinatorResponse, version).encode(response)
    assert [(each.key, each.error_code) for each in response.coordinators] == [("a", 15), ("b", 15)]


async def test_no_keys_find_nothing() -> None:
    response = await answer(find_coordinator.handle, FindCoordinatorRequest(), context(4))
    codec(FindCoordinatorResponse, 4).encode(response)
    assert response.coordinators == ()


@pytest.mark.parametrize(("key_type", "code"), [(0, 30), (1, 53)])
async def test_a_coordinator_needs_describe_on_the_key(key_type: int, code: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a"])
    (row,) = (
        await answer(find_coordinator.handle, request, context(4, authorizer=AclTable([])))
    ).coordinators
    assert (row.error_code, row.error_message) == (code, None)


async def test_there_are_no_quotas() -> None:
    response = encodable(
        await answer(describe_client_quotas.handle, DescribeClientQuotasRequest(), context(1)), 48
    )
    assert (response.error_code, response.error_message, response.entries) == (0, None, ())


def test_a_refusal_has_the_error_and_no_entries() -> None:
    refused = encodable(describe_client_quotas.refuse(DescribeClientQuotasRequest(), 31, "no"), 48)
    assert (refused.error_code, refused.error_message, refused.entries) == (31, "no", None)


async def test_the_answer_has_the_partitions_that_the_broker_still_leads() -> None:
    driver = FakeDriver(ShutdownReply(DONE, [TopicPartition("foo", 1)]))
    response = await answer(
        controlled_shutdown.handle, ControlledShutdownRequest(2, 7), context(3, driver=driver)
    )
    encodable(response, 7)
    assert driver.events == [ControlledShutdown(2, 7)]
    assert [tuple(row) for row in response.remaining_partitions] == [("foo", 1)]


async def test_a_stale_broker_is_refused() -> None:
    driver = FakeDriver(ShutdownReply(Outcome(ErrorCode.STALE_BROKER_EPOCH), ()))
    response = await answer(
        controlled_shutdown.handle, ControlledShutdownRequest(2, 6), context(3, driver=driver)
    )
    assert response.error_code == 77


def test_a_refusal_has_the_error_alone_by_controlled_shutdown() -> None:
    assert controlled_shutdown.refuse(ControlledShutdownRequest(), 31, None) == ControlledShutdownResponse(
        error_code=31
    )
