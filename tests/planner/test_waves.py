from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.model.limits import UNLIMITED, PlanLimits
from planner.waves import Load, first_fit

limit = st.sampled_from((1, 2, 3, 7, UNLIMITED))
limits = st.builds(PlanLimits, limit, limit, limit, limit, limit)
broker = st.integers(1, 6)
load = st.builds(
    Load, st.integers(0, 12), st.lists(broker, max_size=4, unique=True), st.integers(7, 9), st.booleans()
)
plan = st.lists(load, max_size=60).map(lambda loads: sorted(loads, key=lambda each: str(each.partition)))


def copies(count: int, **fields: Any) -> list[Load]:
    """Steps of as many partitions, from broker 1 to broker 2 but for the fields given."""
    return [Load(number, [2], 1, leads=False)._replace(**fields) for number in range(count)]


def together(loads: Sequence[Load], waves: Sequence[int]) -> list[list[Load]]:
    """The steps of each wave."""
    return [[load for load, wave in zip(loads, waves, strict=True) if wave == each] for each in set(waves)]


def fits(taken: Sequence[int], limit: int) -> bool:
    """Within the limit, or a single step that exceeds it alone."""
    return sum(taken) <= limit or len(taken) == 1


@given(plan, limits)
def test_every_wave_keeps_every_limit(loads: list[Load], limits: PlanLimits) -> None:
    for wave in together(loads, first_fit(loads, limits)):
        moving = [load for load in wave if load.adding]
        assert len(moving) <= limits.partitions
        assert sum(load.leads for load in wave) <= limits.leaders
        assert fits([len(load.adding) for load in moving], limits.replicas)
        into = Counter(broker for load in moving for broker in load.adding)
        assert max(into.values(), default=0) <= limits.per_broker
        for source in {load.source for load in moving}:
            assert fits([len(load.adding) for load in moving if load.source == source], limits.per_broker)


@given(plan, limits)
def test_a_step_is_in_a_later_wave_than_the_previous_step_of_its_partition(
    loads: list[Load], limits: PlanLimits
) -> None:
    waves = first_fit(loads, limits)
    for before, load, wave, following in zip(loads, loads[1:], waves, waves[1:], strict=False):
        assert load.partition != before.partition or following > wave


@given(plan, limits)
def test_no_wave_is_left_out(loads: list[Load], limits: PlanLimits) -> None:
    waves = first_fit(loads, limits)
    assert set(waves) == set(range(max(waves, default=-1) + 1))


def test_without_limits_only_the_order_of_steps_counts() -> None:
    assert first_fit([*copies(3), Load(2, [4], 1, leads=True)], PlanLimits()) == [0, 0, 0, 1]


def test_equal_steps_fill_as_many_waves_as_the_limit_asks_for() -> None:
    for limits in (PlanLimits(partitions=5), PlanLimits(replicas=5), PlanLimits(per_broker=5)):
        assert first_fit(copies(23), limits) == [number // 5 for number in range(23)]


def test_into_and_out_of_a_broker_are_counted_apart() -> None:
    loads = [Load("a", [2], 1, leads=False), Load("b", [1], 2, leads=False)]
    assert first_fit(loads, PlanLimits(per_broker=1)) == [0, 0]


def test_a_later_step_fills_a_gap_in_an_early_wave() -> None:
    loads = [*copies(3), *copies(1, partition="other", adding=[5], source=6)]
    assert first_fit(loads, PlanLimits(per_broker=1)) == [0, 1, 2, 0]


def test_a_step_that_exceeds_a_limit_alone_runs_alone() -> None:
    loads = [*copies(1), Load("wide", [3, 4, 5], 1, leads=False), *copies(1, partition="last")]
    assert first_fit(loads, PlanLimits(replicas=2)) == [0, 1, 0]


def test_a_pure_drop_takes_no_place() -> None:
    loads = [*copies(1), Load("drop", [], 1, leads=False)]
    assert first_fit(loads, PlanLimits(partitions=1, leaders=1, replicas=1, per_broker=1)) == [0, 0]


def test_a_reorder_counts_as_a_leader_movement() -> None:
    loads = [Load(number, [], 1, leads=True) for number in range(3)]
    assert first_fit(loads, PlanLimits(leaders=2)) == [0, 0, 1]


def test_leader_movements_hold_back_only_steps_that_move_a_leader() -> None:
    loads = [*copies(2, leads=True), *copies(1, partition="follower")]
    assert first_fit(loads, PlanLimits(leaders=1)) == [0, 1, 0]
