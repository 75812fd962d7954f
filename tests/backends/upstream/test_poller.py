import asyncio
from typing import Any

import pytest

from backends.client.errors import BrokerError, UnreachableError
from backends.upstream.poller import UNKNOWN_TOPIC_PAUSE_SECONDS, UNKNOWN_TOPIC_RETRIES, PollIntervals
from common.clock import settle
from common.tasks import cancel, spawn
from controller.messages.effects import Submit
from controller.messages.upstream_events import Unreachable, UpstreamPartition, UpstreamPolled
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


async def test_the_first_look_is_whole_and_asks_moves_before_topics(rig: Rig) -> None:
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


async def test_between_whole_looks_topics_are_not_asked_for_when_nothing_moves(rig: Rig) -> None:
    await rig.poll_all()
    await rig.poller.poll()
    assert rig.asked_topics() == []
    assert rig.events == []


async def test_a_move_that_goes_on_is_told_from_the_list_alone(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-0")
    rig.moves["foo-0"] = MOVE
    await rig.poller.poll()
    assert rig.asked_topics() == []
    (seen,) = rig.events.of(UpstreamPolled)
    assert (seen.moves, seen.topics, seen.whole) == ({key("foo-0"): MOVE}, [], False)


async def test_a_step_that_is_not_listed_is_looked_up(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-1")
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"]]
    (seen,) = rig.events.of(UpstreamPolled)
    assert [dict(topic.partitions) for topic in seen.topics] == [{1: UpstreamPartition((1,), (1,), 1, 0)}]


@pytest.mark.parametrize("what", ["arrived", "foreign has ended", "doubt"])
async def test_what_the_list_does_not_tell_is_looked_up(rig: Rig, what: str) -> None:
    await rig.poll_all()
    if what == "arrived":
        rig.moves["foo-0"] = MOVE
        rig.step("foo-0", Stage.ENDED)
    elif what == "doubt":
        rig.state.sighted(key("foo-0"), Discrepancy.EXTERNAL_CHANGE, 0)
    else:
        rig.state.add_external(key("foo-0"))
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"]]


async def test_a_move_of_someone_else_is_looked_up_once(rig: Rig) -> None:
    await rig.poll_all()
    rig.moves["foo-0"] = MOVE
    await rig.poller.poll()
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"]]


async def test_topics_can_be_looked_at_out_of_turn_and_nothing_is_concluded_then(rig: Rig) -> None:
    await rig.poll_all()
    polling = asyncio.ensure_future(rig.poller.poll_topics(["foo", "never"]))
    await rig.clock.advance(UNKNOWN_TOPIC_RETRIES * UNKNOWN_TOPIC_PAUSE_SECONDS)
    await polling
    assert rig.asked_topics() == [["foo", "never"], *[["never"]] * UNKNOWN_TOPIC_RETRIES]
    (seen,) = rig.events.of(UpstreamPolled)
    assert ([topic.name for topic in seen.topics], seen.whole, seen.conclusive) == (["foo"], False, False)
    await rig.poller.poll_topics([])
    assert len(rig.events) == 1


async def test_looks_are_whole_again_after_a_while(rig: Rig) -> None:
    await rig.poll_all()
    await rig.clock.advance(PollIntervals().whole)
    await rig.poller.poll()
    assert rig.asked_topics() == [None]


async def test_brokers_are_looked_at_about_once_a_second_and_where_they_are_is_told(rig: Rig) -> None:
    await rig.poll_all()
    assert rig.brokers == {n: ("localhost", 9000 + n) for n in (1, 2, 3)}
    await rig.poller.poll()
    assert rig.client.refreshed == 1
    await rig.clock.advance(PollIntervals().idle)
    await rig.poller.poll()
    assert rig.client.refreshed == 2


async def test_a_topic_of_ours_that_is_missing_is_asked_for_by_name_before_it_counts_as_gone(
    rig: Rig,
) -> None:
    rig.state.put(Reassignment("lost", 0, (1,), (2,), 1))
    await rig.poller.poll()
    assert rig.asked_topics() == [None, ["lost"]]
    assert "lost" not in {topic.name for topic in rig.events.of(UpstreamPolled)[0].topics}


async def test_a_topic_that_only_shows_when_asked_for_is_not_gone(rig: Rig) -> None:
    rig.hidden.add("foo")
    rig.state.put(Reassignment("foo", 0, (1,), (2,), 1))
    await rig.poller.poll()
    assert {topic.name for topic in rig.events.of(UpstreamPolled)[0].topics} == {"foo", "bar"}


async def test_a_topic_that_we_may_not_see_is_trouble_and_not_a_deletion(rig: Rig) -> None:
    rig.errors["secret"] = 29
    rig.state.put(Reassignment("secret", 0, (1,), (2,), 1))
    with pytest.raises(BrokerError, match="refuses to describe topic secret: TOPIC_AUTHORIZATION_FAILED"):
        await rig.poller.poll()
    assert rig.events == []


async def test_a_list_that_is_refused_is_trouble(rig: Rig) -> None:
    refused = ListPartitionReassignmentsResponse(error_code=31)
    rig.client.answers[ListPartitionReassignmentsRequest] = lambda *_: refused
    with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED"):
        await rig.poller.poll()


async def test_a_topic_that_went_meanwhile_makes_the_next_look_whole(rig: Rig) -> None:
    await rig.poll_all()
    rig.step("foo-0")
    del rig.topics["foo"]
    await rig.poller.poll()
    await rig.poller.poll()
    assert rig.asked_topics() == [["foo"], None, ["foo"]]


async def test_rows_that_are_on_their_way_are_named(rig: Rig) -> None:
    rig.submitter.add(Submit("foo", 0, (3,)))
    await rig.poller.poll()
    assert rig.events.of(UpstreamPolled)[0].outstanding == {key("foo-0")}


async def test_trouble_is_told_and_followed_by_a_whole_look(rig: Rig) -> None:
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


async def test_looks_are_frequent_while_something_moves_and_rare_while_nothing_does(rig: Rig) -> None:
    await rig.poll_all()
    assert 5 <= await looks_in(rig, 5) <= 7
    rig.client.asked.clear()
    rig.moves["foo-0"] = MOVE
    rig.state.add_external(key("foo-0"))
    assert 90 <= await looks_in(rig, 5) <= 101


def slow(rig: Rig, seconds: float) -> None:
    """Each answer, or failure, takes so long from now on."""
    ask = rig.client.ask

    async def slowly(*asked: Any) -> Any:
        await rig.clock.sleep(seconds)
        return await ask(*asked)

    rig.client.ask = slowly  # type: ignore[assignment, method-assign]


async def test_a_look_that_takes_long_is_followed_by_a_pause_as_long() -> None:
    rig = Rig(PollIntervals(whole=1000.0))
    await rig.poll_all()
    rig.step("foo-0")
    rig.moves["foo-0"] = MOVE
    slow(rig, 0.5)
    assert await looks_in(rig, 3.6) == 4


async def test_the_pause_after_a_look_that_took_very_long_is_bounded(rig: Rig) -> None:
    await rig.poll_all()
    slow(rig, 40.0)
    assert await looks_in(rig, 40.0 + PollIntervals().whole + 40.0) == 2


async def test_a_look_that_failed_late_is_followed_by_another_soon(rig: Rig) -> None:
    await rig.poll_all()
    rig.client.answers[ListPartitionReassignmentsRequest] = lambda *_: UnreachableError("cut")
    slow(rig, 90.0)
    assert await looks_in(rig, 90.0 + PollIntervals().idle + 90.0) == 2


async def test_many_moves_are_looked_at_less_often() -> None:
    rig = Rig(PollIntervals(whole=1000.0))
    await rig.poll_all()
    rig.moves.update((f"foo-{number}", MOVE) for number in range(1000))
    assert 10 <= await looks_in(rig, 5) <= 12


async def test_a_decision_is_followed_by_a_look_soon(rig: Rig) -> None:
    await rig.poll_all()
    running = spawn(rig.poller.run(), "poller")
    await rig.clock.advance(0.5)
    rig.client.asked.clear()
    rig.poller.poll_soon()
    await rig.clock.advance(0.01)
    assert len(rig.client.requests(ListPartitionReassignmentsRequest)) == 1
    await cancel(running)
