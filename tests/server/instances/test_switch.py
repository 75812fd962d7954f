"""Who answers a request: this instance, the active one, or nobody yet."""

import asyncio
from typing import Any

import pytest

from common.clock import ManualClock, settle
from common.error_codes import ErrorCode
from controller.model.configs import ConfigChange, ConfigOp
from protocol.frames import RequestFrame
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from server.dispatch.context import Caller
from server.driver.driver import DriverStoppedError
from server.instances.messages import NotActiveError
from server.instances.switch import GRACE_SECONDS, HOLD_SECONDS, hold_seconds
from tests.server.instances.doubles import CALLER, LIST, FakeNetwork, Instance, frame_of, response_of

FRAME = frame_of(LIST)
MOVEMENTS = "reassignment.max.concurrent.partition.movements"


class Pair:
    """Two instances; `second` is the one whose clients send requests."""

    def __init__(self) -> None:
        self.clock, self.network = ManualClock(), FakeNetwork()
        self.first, self.second = (Instance(self.network, self.clock, port) for port in (9301, 9401))
        for instance in (self.first, self.second):
            text = str(instance.address)
            instance.own.make = lambda _, text=text: ListPartitionReassignmentsResponse(error_message=text)

    def ask(self, request: Any = LIST) -> "asyncio.Task[Any]":
        """Send a request to the second instance."""
        frame = frame_of(request)
        return asyncio.create_task(response_of(self.second.switch.answer(frame, CALLER), frame))

    async def answered_by(self, asked: "asyncio.Task[Any]") -> str:
        await settle()
        assert asked.done()
        return str(asked.result().error_message)


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_the_active_instance_answers_at_once(pair: Pair) -> None:
    pair.second.lead()
    assert isinstance(pair.second.switch.answer(FRAME, CALLER), bytes)
    assert pair.second.switch.is_active
    assert pair.second.switch.peer is None


async def test_a_standby_forwards_the_request_with_its_client(pair: Pair) -> None:
    pair.first.lead(pair.second)
    assert await pair.answered_by(pair.ask()) == "peer:9301"
    ((_, request),) = pair.network.forwarded
    assert (request.caller.principal, request.caller.peer) == ("User:alice", "10.0.0.9:4711")
    assert request.frame.client_id == "me"
    peer = pair.second.switch.peer
    assert peer is not None
    assert peer.url == pair.first.url


def test_the_link_follows_the_active_peer(pair: Pair) -> None:
    pair.first.lead(pair.second)
    pair.second.switch.nobody()
    pair.second.lead()
    assert pair.network.followed == [None, pair.first.address, None, None]


async def test_a_request_waits_until_an_instance_is_active(pair: Pair) -> None:
    asked = pair.ask()
    await pair.clock.advance(4)
    assert not asked.done()
    pair.first.lead(pair.second)
    assert await pair.answered_by(asked) == "peer:9301"


async def test_a_request_is_refused_when_its_own_timeout_has_passed(pair: Pair) -> None:
    asked = pair.ask()
    await pair.clock.advance(4.9)
    assert not asked.done()
    await pair.clock.advance(0.2)
    assert asked.result().error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize(("timeout_ms", "seconds"), [(5_000, 5), (-1, 0), (60_000, HOLD_SECONDS)])
def test_the_hold_is_the_requests_timeout_up_to_a_limit(timeout_ms: int, seconds: float) -> None:
    assert hold_seconds(frame_of(ListPartitionReassignmentsRequest(timeout_ms=timeout_ms))) == seconds


def test_requests_without_a_timeout_are_held_up_to_the_limit() -> None:
    request = DescribeConfigsRequest([DescribeConfigsResource(4, "", None)])
    assert hold_seconds(frame_of(request, 4)) == HOLD_SECONDS


async def test_a_peer_that_does_not_serve_its_term_yet_is_asked_again(pair: Pair) -> None:
    pair.second.switch.forward_to(pair.first.address, pair.first.url)
    asked = pair.ask()
    await pair.clock.advance(1)
    assert not asked.done()
    pair.first.lead()
    await pair.clock.advance(1)
    assert await pair.answered_by(asked) == "peer:9301"
    assert len({request.id for _, request in pair.network.forwarded}) == 1


def list_of(topics: int, partitions: int) -> ListPartitionReassignmentsRequest:
    rows = [ListPartitionReassignmentsTopics(f"t{n}", tuple(range(partitions))) for n in range(topics)]
    return ListPartitionReassignmentsRequest(timeout_ms=15_000, topics=rows)


@pytest.mark.parametrize("active", [True, False])
async def test_a_request_that_no_instance_takes_is_refused_at_once(pair: Pair, active: bool) -> None:
    if active:
        pair.first.lead(pair.second)
    asked = pair.ask(list_of(100_001, 1))
    await settle()
    assert asked.result().error_code == ErrorCode.INVALID_REQUEST
    assert pair.network.forwarded == []


async def test_a_large_request_is_sent_less_and_less_often(pair: Pair) -> None:
    pair.second.switch.forward_to(pair.first.address, pair.first.url)
    asked = pair.ask(list_of(1, 40_000))
    for _ in range(150):
        await pair.clock.advance(0.1)
    assert asked.result().error_code == ErrorCode.NOT_CONTROLLER
    assert len(pair.network.forwarded) == 8


async def test_a_request_whose_answer_was_lost_is_sent_again(pair: Pair) -> None:
    pair.first.lead(pair.second)
    pair.network.lost = 2
    asked = pair.ask()
    await pair.clock.advance(1)
    assert await pair.answered_by(asked) == "peer:9301"
    assert len(pair.first.own.answered) == 3


async def test_a_request_that_hangs_at_a_peer_goes_to_the_next_active_instance(pair: Pair) -> None:
    pair.first.lead(pair.second)
    pair.network.hanging = True
    asked = pair.ask()
    await pair.clock.advance(4)
    assert not asked.done()
    pair.second.lead()
    await pair.clock.advance(GRACE_SECONDS)
    assert await pair.answered_by(asked) == "peer:9401"


@pytest.mark.parametrize("held", [False, True])
async def test_a_request_is_not_sent_again_after_its_client_has_gone(pair: Pair, held: bool) -> None:
    """The client may have sent another one since, which it would undo."""
    if not held:
        pair.first.lead(pair.second)
        pair.network.hanging = True
    asked = pair.ask()
    await settle()
    asked.cancel()
    await settle()
    pair.network.hanging = False
    pair.first.lead(pair.second)
    await pair.clock.advance(HOLD_SECONDS)
    assert pair.first.own.answered == []
    assert [request.id for request in pair.network.given_up] == [1]


async def test_an_answer_waits_until_the_lease_is_renewed(pair: Pair) -> None:
    pair.second.lead()
    pair.second.lease.valid = False
    asked = pair.ask()
    await pair.clock.advance(1)
    assert not asked.done()
    pair.second.lease.valid = True
    await pair.clock.advance(0.1)
    assert await pair.answered_by(asked) == "peer:9401"
    assert len(pair.second.own.answered) == 1


async def test_an_answer_without_a_lease_is_dropped_when_the_term_ends(pair: Pair) -> None:
    pair.second.lead()
    pair.second.lease.valid = False
    asked = pair.ask()
    await pair.clock.advance(1)
    pair.first.lead(pair.second)
    assert await pair.answered_by(asked) == "peer:9301"


async def test_http_answers_wait_for_the_lease_too(pair: Pair) -> None:
    switch = pair.second.switch
    assert (switch.url, await switch.may_answer()) == (None, False)
    pair.second.lead()
    assert await switch.may_answer()
    pair.second.lease.valid = False
    asked = [asyncio.create_task(switch.may_answer()) for _ in range(2)]
    await pair.clock.advance(1)
    assert not any(each.done() for each in asked)
    turned = switch.turned
    pair.first.lead(pair.second)
    await settle()
    assert [each.result() for each in asked] == [False, False]
    assert (switch.url, turned.is_set(), switch.turned.is_set()) == (pair.first.url, True, False)


async def test_a_request_whose_term_ends_is_answered_in_the_next_one(pair: Pair) -> None:
    pair.second.switch.serve_here(pair.second.own.services._replace(answer=_stopped), pair.second.lease)
    asked = pair.ask()
    await pair.clock.advance(1)
    pair.second.switch.nobody()
    await pair.clock.advance(1)
    pair.first.lead(pair.second)
    assert await pair.answered_by(asked) == "peer:9301"


async def test_a_forwarded_request_is_not_answered_without_a_lease_or_a_term(pair: Pair) -> None:
    with pytest.raises(NotActiveError):
        await pair.first.switch.answer_forwarded(FRAME, CALLER)
    pair.first.lead()
    pair.first.lease.valid = False
    asked = asyncio.create_task(pair.first.switch.answer_forwarded(FRAME, CALLER))
    await pair.clock.advance(1)
    assert not asked.done()
    pair.first.switch.nobody()
    await settle()
    assert isinstance(asked.exception(), NotActiveError)


async def test_requests_are_not_forwarded_twice(pair: Pair) -> None:
    """A standby that gets a forwarded request refuses it, so that requests cannot go in a circle."""
    pair.first.switch.forward_to(pair.second.address, "")
    pair.second.switch.forward_to(pair.first.address, "")
    asked = pair.ask()
    await pair.clock.advance(6)
    assert asked.result().error_code == ErrorCode.NOT_CONTROLLER
    assert {peer for peer, _ in pair.network.forwarded} == {pair.first.address}


async def test_a_turn_to_the_same_peer_disturbs_nothing(pair: Pair) -> None:
    pair.first.lead(pair.second)
    pair.network.hanging = True
    asked = pair.ask()
    await settle()
    pair.first.lead(pair.second)
    await pair.clock.advance(2)
    assert len(pair.network.forwarded) == 1
    asked.cancel()


@pytest.mark.parametrize(
    ("broker", "config", "op", "value", "code"),
    [
        ("", MOVEMENTS, ConfigOp.SET, "7", 0),
        ("", MOVEMENTS, ConfigOp.SET, "x", 40),
        ("", "reassignment.unknown", ConfigOp.SET, "1", 40),
        ("1", MOVEMENTS, ConfigOp.SET, "7", 40),
        ("x", MOVEMENTS, ConfigOp.SET, "7", 42),
        ("", "reassignment.excluded.brokers", ConfigOp.APPEND, "3", 0),
    ],
)
@pytest.mark.parametrize("active", [True, False])
def test_configs_are_checked_alike_at_a_standby(
    pair: Pair, broker: str, config: str, op: ConfigOp, value: str, code: int, active: bool
) -> None:
    if active:
        pair.second.lead()
    outcome = pair.second.switch.services.check(broker, [ConfigChange(config, op, value)])
    assert outcome.error == code


async def _stopped(_frame: RequestFrame, _caller: Caller) -> bytes:
    raise DriverStoppedError("the term has ended")
