"""Conversions between plan entries, events and the controller's state."""

import pytest

from backends.zookeeper.admin import orders
from backends.zookeeper.admin.plans import Entry
from common.error_codes import ErrorCode
from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, TopicOutcomes
from controller.model.cluster import (
    Config,
    Job,
    JobKind,
    Lease,
    Pending,
    Reassignment,
    ResourceType,
    Topic,
    TopicPartition,
)
from controller.model.configs import ConfigOp
from controller.model.errors import Outcome
from controller.state.state import State
from tests.builders import partition

FOO_0, FOO_1 = TopicPartition("foo", 0), TopicPartition("foo", 1)


def having(*records: object, principal: str = orders.PRINCIPAL, kind: JobKind = JobKind.PLAN) -> State:
    """Return a state with foo-0 on 1, 2 and foo-1 on 2, 1; job 1 is from ZooKeeper, job 2 from a client."""
    state = State()
    jobs = [Job(1, kind, 0, principal, None), Job(2, JobKind.PLAN, 0, "User:ANONYMOUS", None)]
    state.apply([Topic("foo", b"x" * 16), partition("foo-0", [1, 2]), partition("foo-1", [2, 1]), *jobs])
    state.apply(records)  # type: ignore[arg-type]
    return state


def test_rows_are_grouped_by_topic() -> None:
    event = orders.alter_event([Entry("a", 0, (1,)), Entry("b", 0, (2,)), Entry("a", 1, (3,))], "/path")
    assert event.topics == [
        AlterTopic("a", [AlterRow(0, (1,)), AlterRow(1, (3,))]),
        AlterTopic("b", [AlterRow(0, (2,))]),
    ]
    assert (event.principal, event.client_id) == ("ZooKeeper", "/path")


def test_only_reassignments_ordered_through_zookeeper_are_pending() -> None:
    state = having(
        Reassignment("foo", 0, (1, 2), (3, 2), 1),
        Reassignment("foo", 1, (2, 1), (3, 1), 2),
    )
    assert orders.pending_entries(state, {}) == [Entry("foo", 0, (3, 2), (1, 2))]


def test_a_reassignment_of_a_client_is_pending_if_the_plan_contains_it() -> None:
    state = having(Reassignment("foo", 1, (2, 1), (3, 1), 2))
    assert orders.pending_entries(state, {FOO_1: (3, 1)}) == [Entry("foo", 1, (3, 1), (2, 1))]
    assert orders.pending_entries(state, {FOO_1: (4, 1)}) == []


def test_a_rollback_is_not_pending() -> None:
    assert orders.pending_entries(having(Reassignment("foo", 0, (1, 2), (1, 2), 1)), {}) == []


def test_an_entry_is_queued_until_it_starts() -> None:
    waits = having(Reassignment("foo", 0, (1, 2), (3, 2), 1), kind=JobKind.QUEUE)
    assert (orders.pending_entries(waits, {}), orders.queued_entries(waits)) == (
        [],
        [Entry("foo", 0, (3, 2))],
    )
    begun = having(
        partition("foo-0", [3, 2, 1], adding=[3], removing=[1]),
        Reassignment("foo", 0, (1, 2), (3, 2), 1),
        kind=JobKind.QUEUE,
    )
    assert (orders.pending_entries(begun, {}), orders.queued_entries(begun)) == (
        [Entry("foo", 0, (3, 2), (1, 2))],
        [],
    )


def test_a_conflicting_entry_is_queued_during_the_rollback() -> None:
    state = having(
        Reassignment("foo", 0, (1, 2), (1, 2), 2), Pending("foo", 0, (3, 2), 1), kind=JobKind.QUEUE
    )
    assert (orders.pending_entries(state, {}), orders.queued_entries(state)) == (
        [],
        [Entry("foo", 0, (3, 2))],
    )


def test_a_cancellation_rolls_back_pending_and_external_reassignments() -> None:
    state = having(Reassignment("foo", 0, (1, 2), (3, 2), 1), Reassignment("foo", 1, (2, 1), (3, 1)))
    cancel = orders.cancellation(
        state, orders.pending_entries(state, {}), [Entry("foo", 1, (3, 1)), Entry("customers", 0, (1,))]
    )
    assert cancel.event.topics == [AlterTopic("foo", [AlterRow(0, None), AlterRow(1, None)])]
    assert (cancel.keys, cancel.skipped) == ([FOO_0, FOO_1], [])


def test_an_unaccepted_entry_goes_back_to_its_original_or_is_skipped() -> None:
    found = [Entry("foo", 0, (3, 2), (2, 1)), Entry("foo", 1, (3, 1))]
    cancel = orders.cancellation(having(), [], found)
    assert cancel.event.topics == [AlterTopic("foo", [AlterRow(0, (2, 1))])]
    assert cancel.skipped == [Entry("foo", 1, (3, 1))]
    assert orders.cancellation(having(), [], [Entry("foo", 0, (3, 2), (1, 2))]).keys == []


def test_rejected_rows_have_their_error() -> None:
    bad = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no")
    reply = AlterReply(Outcome(), [TopicOutcomes("foo", [(0, Outcome()), (1, bad)])])
    assert list(orders.rejected_rows(reply)) == [(FOO_1, bad)]


@pytest.mark.parametrize(("value", "left"), [("0:1,0:2,1:2", "1:2"), ("0:1", None), (" 0:1, 10:1", " 10:1")])
def test_the_partition_is_removed_from_lists_of_throttled_replicas(value: str, left: str | None) -> None:
    state = having(Config(ResourceType.TOPIC, "foo", LEADER_REPLICAS, value))
    event = orders.unthrottle_event(state, [FOO_0])
    assert event is not None
    (resource,) = event.resources
    (change,) = resource.changes
    assert (change.op, change.value) == (ConfigOp.DELETE if left is None else ConfigOp.SET, left)


def test_other_lists_of_throttled_replicas_stay() -> None:
    lease = Lease(ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "0:3", None)
    state = having(
        Config(ResourceType.TOPIC, "foo", LEADER_REPLICAS, "*"),
        Config(ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "0:3"),
        lease,
    )
    assert orders.unthrottle_event(state, [FOO_0]) is None
