import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from backends.client.connection import FIRST_PAUSE, LONGEST_PAUSE, BrokerConnection, Link
from backends.client.errors import (
    AuthenticationError,
    RequestLostError,
    RequestTimedOutError,
    UnreachableError,
)
from backends.client.handshake import ClientSettings, open_connection
from common.clock import ManualClock
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from tests.backends.client.fake import HANG_UP, FakeBroker, broker

LIST = ListPartitionReassignmentsRequest()


class Rig:
    """A link to a fake broker. Connecting raises `failure` while that is set."""

    def __init__(self, fake: FakeBroker) -> None:
        self.fake = fake
        self.clock = ManualClock()
        self.failure: Exception | None = None
        self.tries = 0
        self.lifetime = 0.0
        self.link = Link(self.connect, self.clock)

    async def connect(self) -> BrokerConnection:
        self.tries += 1
        if self.failure is not None:
            raise self.failure
        connection = await open_connection(self.fake.address, ClientSettings(), 5)
        connection.lifetime_seconds = self.lifetime
        return connection

    async def ask(self) -> Any:
        return await self.link.ask(LIST, 5)

    async def fails(self, kind: type[Exception] = UnreachableError) -> None:
        with pytest.raises(kind):
            await self.ask()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with broker() as fake:
        result = Rig(fake)
        yield result
        await result.link.close()


async def test_a_link_connects_on_first_use_and_stays_connected(rig: Rig) -> None:
    assert rig.fake.connections == 0
    await asyncio.gather(*(rig.ask() for _ in range(5)))
    await rig.ask()
    assert rig.fake.connections == 1


async def test_a_lost_connection_is_reopened(rig: Rig) -> None:
    await rig.ask()
    rig.fake.answers[ListPartitionReassignmentsRequest] = lambda _: HANG_UP
    await rig.fails(RequestLostError)
    rig.fake.answers[ListPartitionReassignmentsRequest] = lambda _: ListPartitionReassignmentsResponse()
    await rig.ask()
    assert rig.fake.connections == 2


async def test_a_link_is_healthy_while_the_broker_answers(rig: Rig) -> None:
    seen = [rig.link.healthy]
    rig.fake.answers[ListPartitionReassignmentsRequest] = lambda _: HANG_UP
    await rig.fails(RequestLostError)
    seen.append(rig.link.healthy)
    rig.fake.answers[ListPartitionReassignmentsRequest] = lambda _: ListPartitionReassignmentsResponse()
    await rig.ask()
    assert [*seen, rig.link.healthy] == [True, False, True]


async def test_after_a_failure_there_is_a_pause_before_the_next_attempt(rig: Rig) -> None:
    rig.failure = UnreachableError("nobody there")
    await rig.fails()
    await rig.fails()
    assert rig.tries == 1
    await rig.clock.advance(FIRST_PAUSE)
    await rig.fails()
    assert rig.tries == 2


async def test_the_pauses_grow_up_to_a_maximum(rig: Rig) -> None:
    rig.failure = UnreachableError("nobody there")
    for _ in range(20):
        await rig.fails()
        await rig.clock.advance(LONGEST_PAUSE)
    assert rig.tries == 20
    await rig.fails()
    await rig.clock.advance(LONGEST_PAUSE - 0.1)
    await rig.fails()
    assert rig.tries == 21


async def test_a_success_resets_the_pause(rig: Rig) -> None:
    rig.failure = UnreachableError("nobody there")
    for _ in range(10):
        await rig.fails()
        await rig.clock.advance(LONGEST_PAUSE)
    rig.failure = None
    await rig.ask()
    rig.fake.cut()
    await rig.fails(RequestLostError)
    rig.failure = UnreachableError("nobody there")
    await rig.fails()
    await rig.clock.advance(FIRST_PAUSE)
    rig.failure = None
    await rig.ask()


async def test_during_a_pause_the_last_failure_is_raised(rig: Rig) -> None:
    rig.failure = AuthenticationError("wrong password")
    for _ in range(2):
        with pytest.raises(AuthenticationError, match="wrong password"):
            await rig.ask()


async def test_a_new_connection_takes_over_before_the_authentication_expires(rig: Rig) -> None:
    rig.lifetime = 100
    await rig.ask()
    await rig.clock.advance(79)
    await rig.ask()
    assert rig.fake.connections == 1
    await rig.clock.advance(1)
    await rig.ask()
    assert rig.fake.connections == 2


async def test_pending_requests_on_the_old_connection_are_still_answered(rig: Rig) -> None:
    rig.lifetime = 100
    await rig.ask()
    before = asyncio.create_task(rig.ask())
    await asyncio.sleep(0)
    await rig.clock.advance(80)
    await rig.ask()
    assert await before == ListPartitionReassignmentsResponse()


async def test_after_a_timeout_pending_requests_are_answered_and_the_next_uses_a_new_connection(
    rig: Rig,
) -> None:
    written: asyncio.Future[tuple[Any, ...]] = asyncio.get_running_loop().create_future()
    rig.fake.answers[AlterPartitionReassignmentsRequest] = lambda _: written
    rig.fake.answers[ListPartitionReassignmentsRequest] = lambda _: None
    writing = asyncio.create_task(rig.link.ask(AlterPartitionReassignmentsRequest(), 30))
    await asyncio.sleep(0)
    with pytest.raises(RequestTimedOutError):
        await rig.link.ask(LIST, 0.05)
    rig.fake.answers[ListPartitionReassignmentsRequest] = lambda _: ListPartitionReassignmentsResponse()
    await rig.ask()
    assert rig.fake.connections == 2
    written.set_result(AlterPartitionReassignmentsResponse())
    assert await writing == AlterPartitionReassignmentsResponse()


async def test_a_closed_link_opens_no_connection(rig: Rig) -> None:
    asking = asyncio.create_task(rig.ask())
    await asyncio.sleep(0)
    await rig.link.close()
    with pytest.raises(UnreachableError, match="reassignd closed"):
        await asking
