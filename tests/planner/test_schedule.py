from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.model.limits import UNLIMITED
from controller.scheduling.steps import Step
from planner.model.step_table import Move, StepColumns, schedule, steps_of

BROKERS = range(10)


def move(current: tuple[int, ...], target: tuple[int, ...], **fields: Any) -> Move:
    """A partition that is in sync and led by its first replica, but for the fields given."""
    return Move("orders", 0, current, target, current, current[0])._replace(**fields)


def lists(steps: list[Step]) -> list[tuple[int, ...]]:
    return [step.replicas for step in steps]


def test_the_example_of_the_kip() -> None:
    steps = list(steps_of(move((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)), BROKERS, limit=2))
    assert lists(steps) == [(5, 0, 1, 2, 3, 4), (5, 6, 2, 3, 4), (5, 6, 7, 8, 4), (5, 6, 7, 8, 9)]
    assert [step.leader_movement for step in steps] == [True, False, False, False]


def test_without_a_limit_there_is_one_step_as_kafka_takes_it() -> None:
    assert list(steps_of(move((1, 2, 3), (2, 3, 4)), BROKERS)) == [
        Step(1, (2, 3, 4), adding=(4,), removing=(1,), source=1, leader=2)
    ]


def test_a_leader_that_stays_is_kept_without_a_limit() -> None:
    (step,) = steps_of(move((1, 2, 3), (3, 2, 1)), BROKERS)
    assert step.leader == 1
    assert not step.leader_movement


def test_with_a_limit_the_preferred_leader_takes_over_as_soon_as_it_can() -> None:
    (step,) = steps_of(move((1, 2, 3), (3, 2, 1)), BROKERS, limit=1)
    assert step.leader_movement
    assert step.leader == 3


def test_nothing_to_do_is_no_step() -> None:
    assert list(steps_of(move((1, 2), (1, 2)), BROKERS)) == []


def test_a_partition_moves_as_far_as_live_brokers_allow() -> None:
    steps = list(steps_of(move((1, 2), (3, 4)), {1, 2, 3}, limit=1))
    assert lists(steps) == [(3, 1, 2), (3, 2)]


def test_without_a_leader_only_a_reorder_is_possible() -> None:
    assert list(steps_of(move((1, 2), (3, 2), leader=-1, isr=()), {2, 3})) == []
    assert lists(list(steps_of(move((1, 2), (2, 1), leader=-1, isr=()), {2}))) == [(2, 1)]


def test_a_lagging_replica_stays_out_of_sync() -> None:
    steps = list(steps_of(move((1, 2, 3), (4, 2, 5), isr=(1,)), BROKERS, limit=1))
    assert lists(steps) == [(4, 2, 1, 3), (4, 2, 1), (4, 2, 5)]


replicas = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=5, unique=True).map(tuple)


@given(replicas, replicas, st.integers(1, 5), st.integers(1, 4))
def test_each_step_goes_on_from_the_one_before_and_the_last_is_the_target(
    current: tuple[int, ...], target: tuple[int, ...], limit: int, min_isr: int
) -> None:
    reached, leader = current, current[0]
    for step in steps_of(move(current, target, min_isr=min_isr), BROKERS, limit):
        assert set(step.replicas) == {*reached, *step.adding} - {*step.removing}
        assert step.source == leader
        reached, leader = step.replicas, step.leader
    assert reached == target


def test_a_preferred_leader_in_sync_leads_in_a_step_of_its_own() -> None:
    steps = list(steps_of(move((1, 2, 3), (2, 4, 5)), BROKERS, limit=1))
    assert lists(steps) == [(2, 1, 3), (2, 4, 3), (2, 4, 5)]
    assert [(step.source, step.leader_movement) for step in steps] == [(1, True), (2, False), (2, False)]


def test_a_partition_stops_where_too_few_would_be_in_sync() -> None:
    steps = list(steps_of(move((1, 2, 3), (1, 2, 4), isr=(1, 3), min_isr=3), {1, 3, 4}))
    assert lists(steps) == [(1, 2, 4, 3)]


MOVES = [Move("orders", number, (1, 2), (3, 2), (1, 2), 1, 1, 100 + number) for number in range(2)]


def test_an_empty_table_has_its_columns() -> None:
    table = StepColumns.from_rows(("id", "step"), [])
    assert len(table) == 0
    assert list(table.rows("id", "step")) == []


def test_rows_have_the_columns_in_the_order_that_is_asked_for() -> None:
    table = StepColumns.from_rows(("id", "step"), [(7, 1), (7, 2)])
    assert list(table.rows("step", "id")) == [(1, 7), (2, 7)]


def test_steps_are_sorted_by_wave_and_then_by_move() -> None:
    steps = schedule(MOVES, (), UNLIMITED).steps.in_waves(MOVES, [1, 0])
    rows = steps.rows("partition", "step", "wave", "leader_movement", "replica_bytes")
    assert list(rows) == [(1, 1, 0, True, 101), (0, 1, 1, True, 100)]
    together = schedule(MOVES, (), UNLIMITED).steps.in_waves(MOVES, [0, 0])
    assert list(together.rows("partition")) == [(0,), (1,)]
