"""DescribeCluster (60)."""

import pytest

from protocol.errors import ApiError
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_cluster_response import DescribeClusterResponse
from server.dispatch.authorizer import CLUSTER, Operation
from server.handlers.describe_cluster import handle, refuse
from tests.builders import InMemoryController
from tests.server.fakes import allowing, answer, context, encodable


async def test_live_brokers_are_described() -> None:
    response = await answer(handle, DescribeClusterRequest(), context(1, InMemoryController((2, 1)).state))
    encodable(response, 60)
    assert (response.cluster_id, response.controller_id, response.error_code) == ("cluster-1", 1, 0)
    assert [broker.broker_id for broker in response.brokers] == [1, 2]
    assert response.cluster_authorized_operations == -2147483648


async def test_a_dead_broker_is_listed_only_on_request() -> None:
    state = InMemoryController((1, 2), live=(2,)).state
    response = await answer(handle, DescribeClusterRequest(), context(2, state))
    assert [broker.broker_id for broker in response.brokers] == [2]
    response = await answer(handle, DescribeClusterRequest(include_fenced_brokers=True), context(2, state))
    assert [(broker.broker_id, broker.is_fenced) for broker in response.brokers] == [(1, True), (2, False)]


async def test_authorized_operations_are_those_of_the_principal() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    may_both = allowing((Operation.CREATE, CLUSTER), (Operation.DESCRIBE, CLUSTER))
    response = await answer(handle, request, context(1, authorizer=may_both))
    assert response.cluster_authorized_operations == 1 << Operation.CREATE | 1 << Operation.DESCRIBE


async def test_without_describe_the_operations_on_the_cluster_are_hidden() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    asked = context(1, authorizer=allowing((Operation.CREATE, CLUSTER)))
    assert (await answer(handle, request, asked)).cluster_authorized_operations == 0


@pytest.mark.parametrize(("endpoint", "code"), [(2, 114), (0, 115), (3, 115)])
async def test_only_broker_endpoints_are_supported(endpoint: int, code: int) -> None:
    with pytest.raises(ApiError) as refused:
        await answer(handle, DescribeClusterRequest(endpoint_type=endpoint), context(1))
    assert refused.value.code == code


def test_a_refusal_has_the_error_alone() -> None:
    assert refuse(DescribeClusterRequest(), 114, "no") == DescribeClusterResponse(0, 114, "no")
