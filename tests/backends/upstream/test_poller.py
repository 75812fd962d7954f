import asyncio
from typing import Any

import pytest

from backends.client.errors import BrokerError, UnreachableError
from backends.upstream.poller import (
    SETTLING,
    UNKNOWN_TOPIC_PAUSE_SECONDS,
    UNKNOWN_TOPIC_RETRIES,
    PollIntervals,
)
from common.clock import settle
from common.error_codes import ErrorCode
from common.tasks import cancel, spawn
from controller.gateway.events import Unreachable, UpstreamPartition, UpstreamPolled
from controller.messages.effects import Submit
from controller.model.cluster import Reassignment
from controller.model.thresholds import Discrepancy
from controller.model.upstream_step import Stage
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_request import MetadataRequest
from tests.backends.upstream.poller_rig import MOVE, Rig
from tests.builders import key


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_the_first_poll_is_complete_and_lists_reassignments_before_topics(rig: Rig) -> None:
    rig.moves["foo-0"] = MOVE
    await rig.poller.poll()
    assert [type(request) for request, _ in rig.client.asked] == [
        ListPartitionReassignmentsRequest,
        MetadataRequest,
    ]
    (seen,) = rig.events.of(UpstreamPolled)
    assert seen.whole
    assert seen.moves == {key("foo-0"): MOVE}
    assert [topic.name for topic in seen.topics] == ["bar", "foo"]
    assert [broker.id for broker in seen.brokers or ()] == [1, 2, 3]


async def test_a_look_asks_every_broker_at_once_although_a_complete_poll_is_not_due(rig: Rig) -> None:
    await rig.poll_all()
    await rig.poller.look()
    assert [broker for request, broker in rig.client.asked if type(request) is MetadataRequest] == [1, 2, 3]
    (seen,) = rig.events.of(UpstreamPolled)
    assert (seen.whole, [topic.name for topic in seen.topics]) == (True, ["bar", "foo"])


async def test_looks_share_a_poll_that_began_after_them(rig: Rig) -> None:
    looks = [asyncio.create_task(rig.poller.look()) for _ in range(5)]
    await asyncio.gather(*looks)
    await rig.poller.look()
    assert len(rig.events.of(UpstreamPolled)) == 3


async def test_a_look_fails_when_no_broker_answers(rig: Rig) -> None:
    del rig.client.answers[MetadataRequest]
    with pytest.raises(BrokerError):
        await asyncio.gather(rig.poller.look(), rig.poller.look())


async def test_between_complete_polls_topics_are_not_described_when_nothing_moves(rig: Rig) -> None:
    await rig.poll_all()
    await rig.poller.poll()
    assert rig.asked_topics() == []
    assert rig.events == []


async def test_an_ongoing_step_needs_no_metadata(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-0")
    rig.moves["foo-0"] = MOVE
    await rig.poller.poll()
    assert rig.asked_topics() == []
    (seen,) = rig.events.of(UpstreamPolled)
    assert (seen.moves, seen.topics, seen.whole) == ({key("foo-0"): MOVE}, [], False)


async def moves_passed_on(rig: Rig, polls: int = 2) -> list[bool]:
    for _ in range(polls):
        await rig.clock.advance(PollIntervals().idle)
        await rig.poller.poll()
    return [bool(seen.moves) for seen in rig.events.of(UpstreamPolled)]


async def test_a_list_that_does_not_change_is_followed_once(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-0")
    rig.moves["foo-0"] = MOVE
    assert await moves_passed_on(rig, polls=3) == [True, False, False]


@pytest.mark.parametrize("stage", sorted(SETTLING))
async def test_the_same_list_is_followed_again_while_a_step_settles(rig: Rig, stage: Stage) -> None:
    await rig.poll_all()
    rig.step("foo-0", stage)
    rig.moves["foo-0"] = MOVE
    assert await moves_passed_on(rig) == [True, True]


async def test_the_same_list_is_followed_again_after_a_decision(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-0")
    rig.moves["foo-0"] = MOVE
    await moves_passed_on(rig, polls=1)
    rig.poller.poll_soon()
    assert await moves_passed_on(rig) == [True, True, False]


async def test_a_step_that_is_not_listed_is_described(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-1")
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"]]
    (seen,) = rig.events.of(UpstreamPolled)
    assert [dict(topic.partitions) for topic in seen.topics] == [{1: UpstreamPartition((1,), (1,), 1, 0)}]


@pytest.mark.parametrize("what", ["arrived", "foreign has ended", "doubt"])
async def test_a_listed_partition_with_other_replicas_is_described(rig: Rig, what: str) -> None:
    await rig.poll_all()
    if what == "arrived":
        rig.moves["foo-0"] = MOVE
        rig.step("foo-0", Stage.ENDED)
    elif what == "doubt":
        rig.state.gateway.sighted(key("foo-0"), Discrepancy.EXTERNAL_CHANGE, 0)
    else:
        rig.state.gateway.add_external(key("foo-0"))
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"]]


async def test_an_external_reassignment_is_described_once(rig: Rig) -> None:
    await rig.poll_all()
    rig.moves["foo-0"] = MOVE
    await rig.poller.poll()
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"]]


async def test_an_extra_description_of_topics_removes_nothing(rig: Rig) -> None:
    await rig.poll_all()
    polling = asyncio.ensure_future(rig.poller.poll_topics(["foo", "never"]))
    await rig.clock.advance(UNKNOWN_TOPIC_RETRIES * UNKNOWN_TOPIC_PAUSE_SECONDS)
    await polling
    assert rig.asked_topics() == [["foo", "never"], *[["never"]] * UNKNOWN_TOPIC_RETRIES]
    (seen,) = rig.events.of(UpstreamPolled)
    assert ([topic.name for topic in seen.topics], seen.whole, seen.conclusive) == (["foo"], False, False)
    await rig.poller.poll_topics([])
    assert len(rig.events) == 1


async def test_a_new_topic_is_described_as_soon_as_the_broker_knows_it(rig: Rig) -> None:
    await rig.poll_all()
    rig.errors["new"] = ErrorCode.LEADER_NOT_AVAILABLE
    polling = asyncio.ensure_future(rig.poller.poll_topics(["new", "foo"]))
    await settle()
    rig.topics["new"], rig.moves["new-0"] = [(1,)], MOVE
    await rig.clock.advance(UNKNOWN_TOPIC_PAUSE_SECONDS)
    await polling
    seen = rig.events.of(UpstreamPolled)
    assert [[topic.name for topic in each.topics] for each in seen] == [["foo"], ["new"]]
    assert [each.moves for each in seen] == [{}, {key("new-0"): MOVE}]


async def test_orders_of_unknown_topics_do_not_delay_the_next_poll(rig: Rig) -> None:
    await rig.poll_all()
    orders = [asyncio.ensure_future(rig.poller.poll_topics(["never"])) for _ in range(5)]
    await settle()
    polling = asyncio.ensure_future(rig.poller.poll())
    await settle()
    assert polling.done()
    await cancel(*orders)


async def test_a_topic_that_may_not_be_described_is_requested_once(rig: Rig) -> None:
    await rig.poll_all()
    rig.errors["secret"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    polling = asyncio.ensure_future(rig.poller.poll_topics(["secret"]))
    await settle()
    assert polling.done()
    assert rig.asked_topics() == [["secret"]]


async def test_polls_are_complete_again_after_an_interval(rig: Rig) -> None:
    await rig.poll_all()
    await rig.clock.advance(PollIntervals().whole)
    await rig.poller.poll()
    assert rig.asked_topics() == [None]


async def test_brokers_are_described_about_once_a_second_with_their_addresses(rig: Rig) -> None:
    await rig.poll_all()
    assert rig.brokers == {n: ("localhost", 9000 + n) for n in (1, 2, 3)}
    await rig.poller.poll()
    assert rig.client.refreshed == 1
    await rig.clock.advance(PollIntervals().idle)
    await rig.poller.poll()
    assert rig.client.refreshed == 2


async def test_a_missing_topic_is_described_by_name_before_it_counts_as_deleted(
    rig: Rig,
) -> None:
    rig.state.put(Reassignment("lost", 0, (1,), (2,), 1))
    await rig.poller.poll()
    assert rig.asked_topics() == [None, ["lost"]]
    assert "lost" not in {topic.name for topic in rig.events.of(UpstreamPolled)[0].topics}


async def test_a_topic_that_is_described_by_name_only_is_not_deleted(rig: Rig) -> None:
    rig.hidden.add("foo")
    rig.state.put(Reassignment("foo", 0, (1,), (2,), 1))
    await rig.poller.poll()
    assert {topic.name for topic in rig.events.of(UpstreamPolled)[0].topics} == {"foo", "bar"}


async def test_an_unauthorized_topic_is_an_error_and_not_a_deletion(rig: Rig) -> None:
    rig.errors["secret"] = 29
    rig.state.put(Reassignment("secret", 0, (1,), (2,), 1))
    with pytest.raises(BrokerError, match="refuses to describe topic secret: TOPIC_AUTHORIZATION_FAILED"):
        await rig.poller.poll()
    assert rig.events == []


async def test_a_refused_list_is_an_error(rig: Rig) -> None:
    refused = ListPartitionReassignmentsResponse(error_code=31)
    rig.client.answers[ListPartitionReassignmentsRequest] = lambda *_: refused
    with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED"):
        await rig.poller.poll()


async def test_a_topic_deleted_during_a_poll_makes_the_next_poll_complete(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-0")
    del rig.topics["foo"]
    await rig.poller.poll()
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"], None, ["foo"]]


async def test_a_poll_names_the_rows_that_were_in_flight(rig: Rig) -> None:
    rig.submitter.add(Submit("foo", 0, (3,)))
    await rig.poller.poll()
    assert rig.events.of(UpstreamPolled)[0].outstanding == {key("foo-0")}


async def test_an_error_is_reported_and_followed_by_a_complete_poll(rig: Rig) -> None:
    await rig.poll_all()
    fine = rig.client.answers[ListPartitionReassignmentsRequest]
    rig.client.answers[ListPartitionReassignmentsRequest] = lambda *_: UnreachableError("cut")
    running = spawn(rig.poller.run(), "poller")
    await settle()
    assert rig.events == [Unreachable("cut")]
    rig.client.answers[ListPartitionReassignmentsRequest] = fine
    await rig.clock.advance(PollIntervals().idle)
    assert rig.events.of(UpstreamPolled)[0].whole
    await cancel(running)


async def looks_in(rig: Rig, seconds: float) -> int:
    """Return the number of polls in that time, failed ones included."""
    running = spawn(rig.poller.run(), "poller")
    await rig.clock.advance(seconds)
    await cancel(running)
    return len(rig.client.requests(ListPartitionReassignmentsRequest))


async def test_polls_are_frequent_only_during_reassignments(rig: Rig) -> None:
    await rig.poll_all()
    assert 5 <= await looks_in(rig, 5) <= 7
    rig.client.asked.clear()
    rig.moves["foo-0"] = MOVE
    rig.state.gateway.add_external(key("foo-0"))
    assert 90 <= await looks_in(rig, 5) <= 101


def slow(rig: Rig, seconds: float) -> None:
    """From now on, each answer or failure takes `seconds`."""
    ask = rig.client.ask

    async def slowly(*asked: Any) -> Any:
        await rig.clock.sleep(seconds)
        return await ask(*asked)

    rig.client.ask = slowly  # type: ignore[assignment, method-assign]


async def test_a_slow_poll_is_followed_by_a_pause_of_the_same_length() -> None:
    rig = Rig(PollIntervals(whole=1000.0))
    await rig.poll_all()
    rig.step("foo-0")
    rig.moves["foo-0"] = MOVE
    slow(rig, 0.5)
    assert await looks_in(rig, 3.6) == 4


async def test_the_pause_after_a_very_slow_poll_is_bounded(rig: Rig) -> None:
    await rig.poll_all()
    slow(rig, 40.0)
    assert await looks_in(rig, 40.0 + PollIntervals().whole + 40.0) == 2


async def test_one_late_answer_does_not_delay_the_next_complete_poll_for_minutes(rig: Rig) -> None:
    slow(rig, 9.0)
    polling = asyncio.ensure_future(rig.poller.poll())
    await rig.clock.advance(30.0)
    await polling
    rig.client.asked.clear()
    await rig.clock.advance(PollIntervals().whole_longest)
    polling = asyncio.ensure_future(rig.poller.poll())
    await rig.clock.advance(30.0)
    await polling
    assert rig.asked_topics() == [None]


async def test_a_poll_that_failed_late_is_repeated_soon(rig: Rig) -> None:
    await rig.poll_all()
    rig.client.answers[ListPartitionReassignmentsRequest] = lambda *_: UnreachableError("cut")
    slow(rig, 90.0)
    assert await looks_in(rig, 90.0 + PollIntervals().idle + 90.0) == 2


async def test_many_reassignments_are_polled_less_often() -> None:
    rig = Rig(PollIntervals(whole=1000.0))
    await rig.poll_all()
    rig.moves.update((f"foo-{number}", MOVE) for number in range(1000))
    assert 10 <= await looks_in(rig, 5) <= 12


async def test_a_decision_is_followed_by_a_poll_soon(rig: Rig) -> None:
    await rig.poll_all()
    running = spawn(rig.poller.run(), "poller")
    await rig.clock.advance(0.5)
    rig.client.asked.clear()
    rig.poller.poll_soon()
    await rig.clock.advance(0.01)
    assert len(rig.client.requests(ListPartitionReassignmentsRequest)) == 1
    await cancel(running)
