"""Orders, queued plans and cancels of partitions that another client moves on the upstream."""

from common.error_codes import ErrorCode
from controller.messages.effects import Submit
from controller.messages.events import AlterReassignments, Stalled
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Pause, Queue, RollBackJob
from controller.model.cluster import Ending
from controller.model.replicas import Replicas
from controller.model.thresholds import EXTERNAL_CHANGE, EXTERNAL_MOVE, TOPIC_REMOVED_MS
from controller.model.upstream_step import Stage
from controller.views.jobs import PartState, parts, queued
from controller.views.reassignments import ongoing
from tests.builders import key, outcomes
from tests.controller.kraft import Gateway

KEY = key("foo-0")


def theirs(target: Replicas = (3, 4)) -> Gateway:
    """Another client moves foo-0 from 1,2."""
    gateway = Gateway(("foo-0", (1, 2)), ("foo-1", (1, 2)))
    gateway.kafka.alter(KEY, target)
    gateway.poll()
    return gateway


def queue(gateway: Gateway, partition: int = 0, target: Replicas = (5, 6)) -> AlterReply:
    reply: AlterReply = gateway.do(Queue([AlterTopic("foo", [AlterRow(partition, target)])])).reply
    return reply


def rows(gateway: Gateway) -> list[Replicas | None]:
    """The rows that were decided and not sent."""
    return [each.replicas for each in gateway._unsent() if isinstance(each, Submit)]


def end(gateway: Gateway) -> Gateway:
    """End the other client's move."""
    gateway.kafka.catch_up(KEY)
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    return gateway


def test_a_queued_plan_starts_after_an_external_move_ends() -> None:
    gateway = theirs()
    queue(gateway)
    gateway.poll_for(2 * EXTERNAL_CHANGE.ms)
    assert [row.replicas for row in gateway.kafka.requests] == [(3, 4)]
    end(gateway)
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert (wanted.original, wanted.target) == ((3, 4), (5, 6))
    assert gateway.settle().kafka.replicas[KEY] == (5, 6)


def test_a_queued_plan_starts_after_an_external_move_ends_despite_a_restart() -> None:
    gateway = theirs()
    queue(gateway)
    gateway = end(gateway.successor())
    assert gateway.settle().kafka.replicas[KEY] == (5, 6)
    assert gateway.state.orders.jobs[1].ended_ms


def test_a_queued_plan_starts_after_an_external_move_is_cancelled() -> None:
    gateway = theirs()
    queue(gateway)
    gateway.kafka.alter(KEY, None)
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.original == (1, 2)


def test_a_queued_plan_does_not_start_between_two_external_moves() -> None:
    gateway = theirs()
    queue(gateway)
    gateway.kafka.catch_up(KEY)
    gateway.poll_for(EXTERNAL_CHANGE.ms // 2)
    gateway.kafka.alter(KEY, (7, 8))
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    gateway.kafka.catch_up(KEY)
    gateway.poll_for(EXTERNAL_CHANGE.ms // 2)
    assert gateway.reassignment_of("foo-0") is None
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    assert gateway.settle().kafka.replicas[KEY] == (5, 6)


def test_the_middle_of_an_external_move_is_not_mistaken_for_its_end() -> None:
    gateway = theirs()
    queue(gateway)
    gateway.kafka.freeze()
    gateway.kafka.catch_up(KEY)
    gateway.poll_for(3 * EXTERNAL_CHANGE.ms)
    assert gateway.reassignment_of("foo-0") is None
    gateway.kafka.lagging = None
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.original == (3, 4)


def test_a_plan_that_waits_for_an_external_move_does_not_block_other_queued_plans() -> None:
    gateway = theirs()
    queue(gateway)
    assert queue(gateway, 1).outcome.ok
    assert queue(gateway, 1, (7, 8)).outcome.error is ErrorCode.NONE
    assert gateway.settle().kafka.replicas[key("foo-1")] == (7, 8)


def test_a_rollback_withdraws_the_waiting_entry_and_leaves_the_external_move() -> None:
    gateway = theirs()
    job = queue(gateway).job
    assert gateway.do(RollBackJob(job)).reply.outcome.ok
    (row,) = gateway.state.orders.finished[job].values()
    assert row.ending is Ending.ROLLED_BACK
    assert end(gateway).settle().kafka.replicas[KEY] == (3, 4)


def test_a_cancel_ends_the_external_move_and_withdraws_the_waiting_entry() -> None:
    gateway = theirs()
    job = queue(gateway).job
    assert gateway.alter({"foo-0": None})["foo-0"].ok
    gateway.poll_for(2 * EXTERNAL_CHANGE.ms)
    assert gateway.settle().kafka.replicas[KEY] == (1, 2)
    assert (gateway.state.orders.pending, gateway.reassignment_of("foo-0")) == ({}, None)
    assert gateway.state.orders.jobs[job].ended_ms


def test_an_order_replaces_the_external_move_and_the_waiting_entry() -> None:
    gateway = theirs()
    job = queue(gateway).job
    gateway.alter({"foo-0": (7, 8)})
    assert gateway.state.orders.finished[job][KEY].ending is Ending.TAKEN
    assert gateway.settle().kafka.replicas[KEY] == (7, 8)


def test_an_entry_that_waits_for_an_external_move_shows_the_reason() -> None:
    gateway = theirs()
    job = queue(gateway).job
    for shown in (parts(gateway.state, job), queued(gateway.state)):
        (part,) = filter(None, shown)
        assert (part.state, part.original) == (PartState.QUEUED, (1, 2))
        assert part.reason == "another client moves it: the target starts when that move ends"


def test_an_entry_that_is_about_to_start_is_listed_and_can_be_cancelled() -> None:
    gateway = theirs()
    queue(gateway)
    gateway.kafka.catch_up(KEY)
    gateway.poll()
    (row,) = ongoing(gateway.state)
    assert (row.replicas, row.adding) == ((5, 6, 3, 4), (5, 6))
    assert gateway.alter({"foo-0": None})["foo-0"].ok
    assert gateway.settle().kafka.replicas[KEY] == (3, 4)


def test_an_entry_that_is_about_to_start_can_get_another_target() -> None:
    gateway = theirs()
    queue(gateway)
    gateway.kafka.catch_up(KEY)
    gateway.poll()
    gateway.alter({"foo-0": (7, 8)})
    assert gateway.state.orders.pending == {}
    assert gateway.settle().kafka.replicas[KEY] == (7, 8)


def test_an_entry_that_waits_for_an_external_move_ends_with_its_topic() -> None:
    gateway = theirs()
    job = queue(gateway).job
    gateway.kafka.replicas.clear()
    gateway.poll_for(TOPIC_REMOVED_MS)
    assert gateway.state.orders.finished[job][KEY].ending is Ending.TOPIC_DELETED
    assert (gateway.state.orders.pending, gateway.state.orders.open) == ({}, {})


def test_a_cancel_of_everything_cancels_all_listed_reassignments() -> None:
    gateway = theirs()
    gateway.alter({"foo-1": (3, 4)})
    gateway.deliver()
    gateway.poll()
    listed = {f"{row.topic}-{row.partition}" for row in ongoing(gateway.state)}
    assert outcomes(gateway.do(AlterReassignments(None)).reply).keys() == listed == {"foo-0", "foo-1"}
    gateway.settle()
    assert set(gateway.kafka.replicas.values()) == {(1, 2)}


def test_a_cancel_of_a_topic_cancels_all_its_listed_reassignments() -> None:
    gateway = theirs()
    reply = gateway.do(AlterReassignments([AlterTopic("foo", None)])).reply
    assert outcomes(reply).keys() == {"foo-0"}
    assert gateway.settle().kafka.replicas[KEY] == (1, 2)


def test_a_move_that_another_client_changed_during_its_cancel_is_left_alone() -> None:
    gateway = theirs()
    gateway.alter({"foo-0": None})
    gateway.lose_requests()
    gateway.kafka.alter(KEY, (7, 8))
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    assert gateway.settle().kafka.replicas[KEY] == (7, 8)
    assert gateway.state.gateway.steps == {}


def test_a_move_that_begins_before_the_preferred_leader_leads_is_not_replaced_by_the_next_step() -> None:
    gateway = Gateway(("foo-0", (4, 7, 5)))
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (7,)})
    gateway.deliver()
    gateway.poll()
    assert gateway.state.gateway.steps[KEY].stage is Stage.ENDED
    gateway.kafka.alter(KEY, (5,))
    gateway.kafka.lead(KEY, 7)
    rows(gateway)
    gateway.poll_for(2 * EXTERNAL_MOVE.ms)
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert (rows(gateway), wanted.blocked) == ([], "another client moves it to [5]")


def test_a_listed_move_is_known_while_metadata_is_older_than_the_last_step() -> None:
    gateway = Gateway(("foo-0", (6, 2)))
    gateway.kafka.freeze()
    older = gateway.kafka.lagging
    gateway.kafka.lagging = None
    gateway.alter({"foo-0": (6,)})
    gateway.settle()
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (3,)})
    gateway.kafka.alter(KEY, (5,))
    gateway.kafka.lagging = older
    gateway.poll()
    gateway.do(Pause(None, False))
    assert (KEY in gateway.state.gateway.external, rows(gateway)) == (True, [])


def test_a_stall_does_not_cancel_a_move_that_one_poll_has_listed() -> None:
    gateway = Gateway(("foo-0", (1, 2)))
    gateway.alter({"foo-0": (3, 4)})
    gateway.deliver()
    gateway.poll()
    gateway.kafka.alter(KEY, (5, 6))
    gateway.poll()
    gateway.do(Stalled([KEY]))
    assert rows(gateway) == []


def test_a_queued_plan_does_not_cancel_the_move_of_a_partition_whose_order_has_not_started() -> None:
    gateway = Gateway(("foo-0", (1, 2)))
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (3, 4)})
    gateway.kafka.alter(KEY, (5, 6))
    gateway.poll()
    queue(gateway, target=(7, 8))
    assert rows(gateway) == []
    assert gateway.state.orders.finished[1][KEY].ending is Ending.ROLLED_BACK
    gateway.do(Pause(None, False))
    assert end(gateway).settle().kafka.replicas[KEY] == (7, 8)


def test_a_target_that_equals_the_middle_of_the_step_before_it_is_not_done() -> None:
    gateway = Gateway(("foo-0", (1,)))
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (1, 3)})
    gateway.deliver()
    gateway.poll()
    queue(gateway, target=(1, 3))
    gateway.settle()
    assert gateway.kafka.replicas[KEY] == (1, 3)
