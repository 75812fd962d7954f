from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Deleted, Ending, Finished, Partition, Reassignment
from controller.reassignment import orders
from controller.reassignment.bulk import BulkCancels
from controller.state.state import Decision
from tests.builders import InMemoryController, contents, key, partition, records

ORIGINALS = [(1, 2), (2, 3), (3, 1, 4)]
targets = st.none() | st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple)
rows = st.lists(st.builds(AlterRow, st.integers(0, len(ORIGINALS)), targets), max_size=8)
isrs = st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(1, 6), min_size=1, unique=True)))
Round = tuple[list[AlterRow], list[tuple[int, list[int]]], int | None]


@pytest.fixture(scope="module", autouse=True)
def requests_of_any_size() -> Iterator[None]:
    """Small requests use the bulk paths too."""
    with patch.object(orders, "MANY_ROWS", 0):
        yield


def controller() -> InMemoryController:
    return InMemoryController().with_partitions(
        *(partition(f"foo-{number}", each) for number, each in enumerate(ORIGINALS))
    )


def play(subject: InMemoryController, rounds: list[Round]) -> list[object]:
    """Carry out the requests of each round, its ISR changes and the failure of a broker.

    Return the replies.
    """
    replies: list[object] = []
    for request, isr_changes, lost in rounds:
        replies.append(subject.do(AlterReassignments([AlterTopic("foo", request)])).reply)
        for number, members in isr_changes:
            replicas = subject.state.cluster.partitions["foo"][number].replicas
            subject.isr(f"foo-{number}", [each for each in replicas if each in members] or replicas[:1])
        if lost is not None and lost in subject.state.cluster.live:
            subject.stop(lost)
    return replies


@given(
    st.lists(st.tuples(rows, isrs, st.none() | st.integers(1, 6)), min_size=1, max_size=4),
    st.sampled_from([{}, {"partitions": 1}, {"per_partition": 1}]),
)
def test_cancels_in_bulk_have_the_result_of_one_after_the_other(
    rounds: list[Round], limits: dict[str, int]
) -> None:
    together, one_by_one = controller().with_limits(**limits), controller().with_limits(**limits)
    replies = play(together, rounds)
    with patch.object(BulkCancels, "take", return_value=0):
        assert play(one_by_one, rounds) == replies
    assert together.effects == one_by_one.effects
    assert records(together.state) == records(one_by_one.state)
    assert contents(together.state) == contents(one_by_one.state)
    assert together.state.backlog.costs == one_by_one.state.backlog.costs
    assert list(together.state.in_flight) == list(one_by_one.state.in_flight)


def taken(subject: InMemoryController, *numbers: int) -> int:
    rows = [AlterRow(number, None) for number in numbers or (0,)]
    return BulkCancels(Decision(subject.state)).take("foo", rows)


def test_a_step_whose_new_replicas_lag_is_undone_in_one_record() -> None:
    moving = controller()
    moving.alter({"foo-0": (1, 5)})
    d = moving.decide(AlterReassignments([AlterTopic("foo", [AlterRow(0, None)])]))
    assert d.changes[:3] == [
        Partition("foo", 0, (1, 2), (1, 2), 1, leader_epoch=2, partition_epoch=2),
        Deleted(Reassignment, key("foo-0")),
        Finished(1, "foo", 0, (1, 2), (1, 2), Ending.ROLLED_BACK, 0),
    ]
    assert moving.state.orders.jobs[1].ended_ms


def test_a_partition_that_has_moved_partly_is_not_taken() -> None:
    stepwise = controller().with_limits(per_partition=1)
    stepwise.alter({"foo-0": (5, 6)})
    stepwise.isr("foo-0", (1, 2, 5))
    assert not taken(stepwise)


def test_a_rollback_is_not_taken() -> None:
    returning = controller().with_limits(per_partition=1)
    returning.alter({"foo-0": (5, 6)})
    returning.isr("foo-0", (1, 2, 5))
    returning.alter({"foo-0": None})
    assert not taken(returning)


@pytest.mark.parametrize(("mode", "expected"), [("rollback", True), ("stop", False)])
def test_the_mode_stop_is_not_carried_out_in_bulk(mode: str, expected: bool) -> None:
    moving = controller()
    moving.default("reassignment.cancel.mode", mode)
    moving.alter({"foo-0": (1, 5)})
    assert bool(taken(moving)) is expected


def test_rows_are_taken_up_to_the_first_that_does_not_end_at_once() -> None:
    stepwise = controller().with_limits(per_partition=1)
    stepwise.alter({"foo-0": (1, 5), "foo-1": (5, 6), "foo-2": (3, 1, 5)})
    stepwise.isr("foo-1", (2, 3, 5))
    assert (taken(stepwise, 0, 2, 1), taken(stepwise, 0, 1, 2), taken(stepwise, 3)) == (2, 1, 0)


def test_an_undo_that_would_lose_data_is_not_taken() -> None:
    moving = controller()
    moving.alter({"foo-0": (5, 6)})
    lagging = moving.state.cluster.partitions["foo"][0]._replace(isr=(5,), leader=5)
    moving.put(lagging)
    assert not taken(moving)
