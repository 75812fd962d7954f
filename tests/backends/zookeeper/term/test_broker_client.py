"""Requests of the controller go to the addresses in the controller's state."""

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
    """Return a client whose state contains brokers 1 and 2."""
    state = State()
    for number, each in enumerate(brokers, 1):
        state.put(Broker(number, *each.address, None, 1))
        state.live.add(number)
    result = TermBrokerClient(state, Caller(), ManualClock())
    yield result
    await result.close()


async def test_requests_to_a_broker_share_a_connection(
    asker: TermBrokerClient, brokers: list[FakeBroker]
) -> None:
    await asker.ask(LIST, 2)
    await asker.ask(LIST, 2)
    assert [(each.connections, len(each.asked)) for each in brokers] == [(0, 0), (1, 2)]


async def test_any_broker_is_a_live_one(asker: TermBrokerClient, brokers: list[FakeBroker]) -> None:
    await asker.ask(LIST)
    assert [len(each.asked) for each in brokers] == [1, 0]


async def test_a_changed_address_leads_to_a_new_connection(
    asker: TermBrokerClient, brokers: list[FakeBroker]
) -> None:
    await asker.ask(LIST, 1)
    asker.state.put(Broker(1, *brokers[1].address, None, 2))
    await asker.ask(LIST, 1)
    assert [len(each.asked) for each in brokers] == [1, 1]


async def test_an_unknown_broker_is_an_error(asker: TermBrokerClient) -> None:
    with pytest.raises(UnreachableError, match="broker 7 is not registered"):
        await asker.ask(LIST, 7)
