"""Which replicas a partition may have after orders with, and without, an answer."""

import asyncio
import random
from typing import Any

import pytest

from backends.client.errors import BrokerError, NotSentError, RequestLostError
from campaigns.orders import CHOICES, Orders, SurvivalError
from common.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


class Client:
    """Answers with `code`, raises `error`, or does not answer."""

    def __init__(self, code: int | None = 0, error: BrokerError | None = None, row_code: int = 0) -> None:
        self.code, self.error, self.row_code = code, error, row_code
        self.targets: list[tuple[int, ...]] = []

    async def ask(self, request: Any, timeout_seconds: float) -> AlterPartitionReassignmentsResponse:
        rows = request.topics[0].partitions
        self.targets += [row.replicas for row in rows]
        if self.error is not None:
            raise self.error
        if self.code is None:
            await asyncio.sleep(timeout_seconds)
        answers = [ReassignablePartitionResponse(row.partition_index, self.row_code, None) for row in rows]
        topics = [ReassignableTopicResponse("moved", answers)]
        return AlterPartitionReassignmentsResponse(error_code=self.code or 0, responses=topics)


@pytest.fixture
def orders() -> Orders:
    return Orders(1, random.Random(1))


async def send(orders: Orders, client: Client) -> None:
    await orders.send(client, "an instance")  # type: ignore[arg-type]


async def test_the_target_of_an_acknowledged_order_is_the_only_one(orders: Orders) -> None:
    client = Client()
    await send(orders, client)
    await send(orders, client)
    assert len(client.targets) == 2
    assert orders.wanted == [{client.targets[-1]}]


@pytest.mark.parametrize(
    "client", [Client(error=RequestLostError("closed")), Client(code=ErrorCode.NOT_CONTROLLER)]
)
async def test_an_order_without_an_answer_may_be_carried_out_or_not(orders: Orders, client: Client) -> None:
    await send(orders, client)
    assert orders.wanted == [{CHOICES[0], *client.targets}]


async def test_an_order_that_is_given_up_may_be_carried_out_or_not(orders: Orders) -> None:
    client = Client(code=None)
    sending = asyncio.create_task(send(orders, client))
    await asyncio.sleep(0)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    assert sending.cancelled()
    assert orders.wanted == [{CHOICES[0], *client.targets}]


async def test_a_partition_is_not_ordered_again_while_an_earlier_order_may_be_carried_out(
    orders: Orders,
) -> None:
    await send(orders, Client(error=RequestLostError("closed")))
    next_client = Client()
    await send(orders, next_client)
    assert next_client.targets == []


async def test_an_order_that_was_not_sent_changes_nothing(orders: Orders) -> None:
    await send(orders, Client(error=NotSentError("refused")))
    assert orders.wanted == [{CHOICES[0]}]


@pytest.mark.parametrize("client", [Client(code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED), Client(row_code=39)])
async def test_an_order_that_is_refused_for_good_is_a_failure_with_its_history(
    orders: Orders, client: Client
) -> None:
    with pytest.raises(SurvivalError, match="refused"):
        await send(orders, client)
    assert str(client.targets[0]) in orders.history(0)
