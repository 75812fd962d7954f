"""Forwarded requests at the active instance: a repeated one is executed once."""

import asyncio

import pytest

from common.clock import ManualClock, settle
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from server.peers import endpoint as module
from server.peers.endpoint import PeerEndpoint
from server.peers.messages import Client
from server.peers.ports import NotActiveError
from tests.server.peers.doubles import LIST, FakePeers, Instance, frame_of

FRAME = frame_of(LIST)
CLIENT = Client("User:alice", "10.0.0.9:4711", 2)


@pytest.fixture
def active() -> Instance:
    instance = Instance(FakePeers(), ManualClock(), 9301)
    instance.own.make = lambda _: ListPartitionReassignmentsResponse(error_message="first")
    instance.lead()
    return instance


async def test_a_request_is_answered_for_its_client(active: Instance) -> None:
    assert b"first" in await PeerEndpoint(active.switch).answer("standby", 1, FRAME, CLIENT)
    (caller,) = active.own.callers
    assert (caller.principal, caller.peer, caller.broker.id) == CLIENT
    assert caller.via == "standby"


async def test_a_request_that_is_forwarded_again_gets_the_first_answer(active: Instance) -> None:
    endpoint = PeerEndpoint(active.switch)
    first = await endpoint.answer("standby", 1, FRAME, CLIENT)
    assert await endpoint.answer("standby", 1, FRAME, CLIENT) == first
    assert len(active.own.answered) == 1
    await endpoint.answer("standby", 2, FRAME, CLIENT)
    await endpoint.answer("another standby", 1, FRAME, CLIENT)
    assert len(active.own.answered) == 3


async def test_a_request_goes_on_when_its_connection_is_lost(active: Instance) -> None:
    endpoint = PeerEndpoint(active.switch)
    active.lease.valid = False
    lost = asyncio.create_task(endpoint.answer("standby", 1, FRAME, CLIENT))
    await settle()
    lost.cancel()
    again = asyncio.create_task(endpoint.answer("standby", 1, FRAME, CLIENT))
    await settle()
    active.lease.valid = True
    await active.clock.advance(1)
    assert b"first" in await again
    assert len(active.own.answered) == 1


async def test_a_request_that_is_given_up_is_not_executed(active: Instance) -> None:
    endpoint = PeerEndpoint(active.switch)
    asked = asyncio.create_task(endpoint.answer("standby", 1, FRAME, CLIENT))
    await asyncio.sleep(0)
    endpoint.give_up("standby", 1)
    endpoint.give_up("standby", 2)
    await settle()
    assert asked.cancelled()
    assert active.own.answered == []


async def test_giving_up_an_executed_request_changes_nothing(active: Instance) -> None:
    endpoint = PeerEndpoint(active.switch)
    first = await endpoint.answer("standby", 1, FRAME, CLIENT)
    endpoint.give_up("standby", 1)
    assert await endpoint.answer("standby", 1, FRAME, CLIENT) == first
    assert len(active.own.answered) == 1


async def test_a_request_that_was_not_executed_can_be_sent_again(active: Instance) -> None:
    endpoint = PeerEndpoint(active.switch)
    active.switch.nobody()
    with pytest.raises(NotActiveError):
        await endpoint.answer("standby", 1, FRAME, CLIENT)
    active.lead()
    assert b"first" in await endpoint.answer("standby", 1, FRAME, CLIENT)


async def test_few_and_small_answers_are_kept(active: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    endpoint = PeerEndpoint(active.switch)
    for number in range(10):
        await endpoint.answer("standby", number, FRAME, CLIENT)
    assert len(endpoint._answers) == 2
    monkeypatch.setattr(module, "LARGEST_KEPT", 1)
    await endpoint.answer("standby", 11, FRAME, CLIENT)
    assert len(endpoint._answers) == 2
