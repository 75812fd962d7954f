"""What the controller asks brokers goes to where the core knows them to be."""

from collections.abc import AsyncIterator

import pytest

from backends.client.errors import UnreachableError
from backends.client.handshake import Caller
from backends.zookeeper.term.broker_client import TermBrokerClient
from common.clock import ManualClock
from controller.model.cluster import Broker
from controller.state.state import State
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tests.backends.client.fake import FakeBroker, broker

LIST = ListPartitionReassignmentsRequest()


@pytest.fixture
async def brokers() -> AsyncIterator[list[FakeBroker]]:
    async with broker() as first, broker() as second:
        yield [first, second]


@pytest.fixture
async def asker(brokers: list[FakeBroker]) -> AsyncIterator[TermBrokerClient]:
    """The core knows brokers 1 and 2."""
    state = State()
    for number, each in enumerate(brokers, 1):
        state.put(Broker(number, *each.address, None, 1))
        state.live.add(number)
    made = TermBrokerClient(state, Caller(), ManualClock())
    yield made
    await made.close()


async def test_a_broker_is_asked_over_one_connection(
    asker: TermBrokerClient, brokers: list[FakeBroker]
) -> None:
    await asker.ask(LIST, 2)
    await asker.ask(LIST, 2)
    assert [(each.connections, len(each.asked)) for each in brokers] == [(0, 0), (1, 2)]


async def test_any_broker_is_one_that_is_alive(asker: TermBrokerClient, brokers: list[FakeBroker]) -> None:
    await asker.ask(LIST)
    assert [len(each.asked) for each in brokers] == [1, 0]


async def test_a_broker_that_moves_is_asked_where_it_is_now(
    asker: TermBrokerClient, brokers: list[FakeBroker]
) -> None:
    await asker.ask(LIST, 1)
    asker.state.put(Broker(1, *brokers[1].address, None, 2))
    await asker.ask(LIST, 1)
    assert [len(each.asked) for each in brokers] == [1, 1]


async def test_who_is_not_known_cannot_be_asked(asker: TermBrokerClient) -> None:
    with pytest.raises(UnreachableError, match="broker 7 is not registered"):
        await asker.ask(LIST, 7)
