"""Conversions between plan entries, events and the controller's state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.zookeeper.admin import orders
from backends.zookeeper.admin.orders import Entry, decode_file, decode_plan, encode_plan, fitting
from backends.zookeeper.znodes.fields import ZnodeError, encode
from common.error_codes import ErrorCode
from controller.messages.event import Requester
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, TopicOutcomes
from controller.model.cluster import (
    Config,
    Job,
    JobKind,
    Pending,
    Reassignment,
    ResourceType,
    ThrottleLease,
    Topic,
    TopicPartition,
)
from controller.model.configs import FOLLOWER_REPLICAS, LEADER_REPLICAS, ConfigOp
from controller.model.errors import Outcome
from controller.modes import EMBEDDED
from controller.state.state import State
from tests.builders import partition

FOO_0, FOO_1 = TopicPartition("foo", 0), TopicPartition("foo", 1)


def having(*records: object, principal: str = orders.PRINCIPAL, kind: JobKind = JobKind.PLAN) -> State:
    """Return a state with foo-0 on 1, 2 and foo-1 on 2, 1; job 1 is from ZooKeeper, job 2 from a client."""
    state = State(mode=EMBEDDED)
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
    assert event.requester == Requester("ZooKeeper", "/path")


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
    lease = ThrottleLease(ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "0:3", None)
    state = having(
        Config(ResourceType.TOPIC, "foo", LEADER_REPLICAS, "*"),
        Config(ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "0:3"),
        lease,
    )
    assert orders.unthrottle_event(state, [FOO_0]) is None


ROW = {"topic": "foo", "partition": 0, "replicas": [1, 2]}

IDS = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)
ENTRIES = st.lists(
    st.builds(Entry, st.sampled_from(["foo", "bär"]), st.integers(0, 9), IDS, st.none() | IDS),
    unique_by=lambda entry: entry.key,
)


@given(ENTRIES)
def test_an_encoded_plan_is_decoded(entries: list[Entry]) -> None:
    assert decode_plan(encode_plan(entries)) == entries


@given(ENTRIES)
def test_the_plain_format_has_no_originals(entries: list[Entry]) -> None:
    assert decode_plan(encode_plan(entries, plain=True)) == [e._replace(original=None) for e in entries]


@given(ENTRIES, st.integers(35, 600))
def test_a_plan_stays_below_its_limit_with_the_first_entries(entries: list[Entry], limit: int) -> None:
    data = fitting(entries, plain=False, limit=limit)
    held = decode_plan(data)
    assert len(data) <= limit
    assert [each.key for each in held] == [each.key for each in entries[: len(held)]]


def test_originals_are_omitted_before_entries() -> None:
    entries = [Entry("foo", number, (1, 2), (3, 4)) for number in range(3)]
    data = encode_plan(entries, plain=True)
    assert fitting(entries, plain=False, limit=len(data)) == data


def test_the_json_is_that_of_kip_236() -> None:
    assert encode_plan([Entry("foo1", 0, (1, 2, 4), (1, 2, 3))]) == (
        b'{"version":1,"partitions":[{"topic":"foo1","partition":0,"replicas":[1,2,4],'
        b'"original_replicas":[1,2,3]}]}'
    )


def test_the_last_row_of_a_partition_counts() -> None:
    data = encode({"partitions": [ROW, {**ROW, "replicas": [3]}]})
    assert decode_plan(data) == [Entry("foo", 0, (3,))]


def test_empty_originals_count_as_missing() -> None:
    data = encode({"version": 1, "partitions": [{**ROW, "original_replicas": []}]})
    assert decode_plan(data) == [Entry("foo", 0, (1, 2))]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{garbage", "it is not JSON"),
        ([], "it is not a JSON object"),
        ({}, "partitions is not a list of objects"),
        ({"version": 1, "partitions": [1]}, "partitions is not a list of objects"),
        ({"partitions": [], "also": 1}, "unknown key 'also'"),
        ({"partitions": [{**ROW, "log_dirs": ["any", "any"]}]}, "unknown key 'log_dirs'"),
        ({"partitions": [{**ROW, "replicas": "1,2"}]}, "replicas of foo-0 is not a list of broker ids"),
        ({"partitions": [{**ROW, "replicas": [1, True]}]}, "replicas of foo-0 is not a list of broker ids"),
        ({"partitions": [{**ROW, "replicas": [-1]}]}, "replicas of foo-0 is not a list of broker ids"),
        ({"partitions": [{**ROW, "partition": "0"}]}, "partition is not a number"),
        ({"partitions": [{**ROW, "topic": 7}]}, "topic is not a string"),
        (
            {"partitions": [{**ROW, "original_replicas": 7}]},
            "original_replicas of foo-0 is not a list of broker ids",
        ),
    ],
)
def test_an_invalid_plan_is_rejected(value: object, why: str) -> None:
    data = value.encode() if isinstance(value, str) else encode(value)
    with pytest.raises(ZnodeError, match=why):
        decode_plan(data)


def test_log_directories_in_a_plan_file_are_ignored() -> None:
    assert decode_file(encode({"partitions": [{**ROW, "log_dirs": ["any", "any"]}]})) == [
        Entry("foo", 0, (1, 2))
    ]
    with pytest.raises(ZnodeError):
        decode_file(encode([ROW]))
