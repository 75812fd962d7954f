"""The reason of each step that waits.

Added, kept, dropped and leading replicas that are dead, lagging or in sync.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.model.cluster import NO_LEADER, Reassignment, Replicas
from controller.model.limits import UNLIMITED
from controller.modes import EMBEDDED, GATEWAY, ZOOKEEPER
from controller.reassignment.planning import (
    Plan,
    charge_external,
    has_capacity,
    next_leader,
    plan_step,
    step_waits,
)
from controller.state.state import Mode, State
from planner.model.step_table import Move, steps_of
from tests.builders import InMemoryController, partition


def controller() -> InMemoryController:
    return InMemoryController().with_partitions(partition("foo-0", (1, 2)))


def test_a_plan_contains_the_step_and_its_cost() -> None:
    plan = plan_step(controller().state, controller()["foo-0"], Reassignment("foo", 0, (1, 2), (3, 2)))
    assert (plan.following, plan.cost.incoming, plan.waits_for) == ((3, 2), (3,), "")


def test_a_step_to_offline_brokers_names_them() -> None:
    alone = InMemoryController(live=(1, 2)).with_partitions(partition("foo-0", (1, 2)))
    plan = plan_step(
        alone.with_limits(per_partition=1).state, alone["foo-0"], Reassignment("foo", 0, (1, 2), (3, 2))
    )
    assert plan.waits_for == "offline: broker 3"


def test_external_reassignments_take_capacity() -> None:
    one = controller().with_limits(partitions=1)
    charge_external(one.state, partition("bar-0", (4, 5, 6), adding=(6,)))
    wanted = Reassignment("foo", 0, (1, 2), (3, 2))
    assert not has_capacity(one.state, one["foo-0"], (3, 2), wanted)


def planned(target: Replicas, **limits: int) -> Plan:
    """The first step of a healthy partition at (1, 2, 3)."""
    one = InMemoryController().with_limits(**limits).with_partitions(partition("foo-0", (1, 2, 3)))
    return plan_step(one.state, one["foo-0"], Reassignment("foo", 0, (1, 2, 3), target))


def test_the_preferred_leader_of_the_target_leads_first_only_with_limit_r() -> None:
    wanted = Reassignment("foo", 0, (1, 2), (3, 2))
    assert next_leader(controller().state, controller()["foo-0"], wanted) == -1
    small = controller().with_limits(per_partition=1)
    assert next_leader(small.state, small["foo-0"], wanted) == 3


def test_a_leader_that_stays_costs_no_leader_movement() -> None:
    assert not planned((4, 1, 2)).cost.leads
    assert planned((4, 2, 3)).cost.leads


def test_a_preferred_leader_that_takes_over_costs_a_leader_movement() -> None:
    assert planned((2, 1, 3), per_partition=1).cost.leads
    assert planned((4, 1, 2), per_partition=1).cost.leads
    assert not planned((1, 2, 4), per_partition=1).cost.leads


steps = st.lists(st.sampled_from(range(1, 7)), min_size=1, max_size=4, unique=True).map(tuple)


@given(steps, st.sampled_from([1, 2, UNLIMITED]))
def test_the_planner_and_the_controller_count_the_same_leader_movements(target: Replicas, limit: int) -> None:
    cost = planned(target, per_partition=limit).cost
    forecast = next(steps_of(Move("foo", 0, (1, 2, 3), target, (1, 2, 3), 1), range(1, 7), limit), None)
    assert forecast is None or cost.leads == forecast.leader_movement
    assert forecast is None or cost.incoming == forecast.adding


ADDED, KEPT, DROPPED = 4, 2, 1


def waits(profile: Mode, *, isr: tuple[int, ...], dead: int | None = None, leader: int = KEPT) -> str:
    """Return what a step from (1, 2) to (4, 2) waits for."""
    state: State = InMemoryController(broker for broker in range(1, 5) if broker != dead).state
    state.mode = profile
    moving = partition("foo-0", (ADDED, KEPT, DROPPED), isr=isr, leader=leader)
    return step_waits(state, moving._replace(adding=(ADDED,), removing=(DROPPED,)))


@pytest.mark.parametrize("profile", [EMBEDDED, ZOOKEEPER, GATEWAY], ids=["embedded", "zookeeper", "gateway"])
@pytest.mark.parametrize(
    ("isr", "dead", "leader", "reason"),
    [
        ((2, 1), ADDED, KEPT, "target broker 4 is down"),
        ((2, 1), None, KEPT, ""),
        ((4, 2, 1), None, KEPT, ""),
        ((4, 1), KEPT, DROPPED, "offline: broker 2, which keeps a replica"),
        ((4, 1), None, DROPPED, "not in sync: broker 2, which keeps a replica"),
        ((4, 2), DROPPED, KEPT, ""),
        ((4, 2), None, KEPT, ""),
        ((2,), KEPT, KEPT, "offline: broker 2, which leads the partition"),
        ((2,), KEPT, NO_LEADER, "the partition has no leader: broker 2 down"),
        ((1,), DROPPED, NO_LEADER, "the partition has no leader: broker 1 down"),
    ],
    ids=[
        "added dead",
        "added lagging",
        "added in sync",
        "kept dead",
        "kept lagging",
        "dropped dead",
        "dropped lagging",
        "leader dead, still named",
        "leader dead, kept",
        "leader dead, dropped",
    ],
)
def test_the_reason_names_the_broker_that_the_step_waits_for(
    profile: Mode, isr: tuple[int, ...], dead: int | None, leader: int, reason: str
) -> None:
    assert waits(profile, isr=isr, dead=dead, leader=leader) == reason


def test_a_step_that_only_drops_waits_for_those_that_stay() -> None:
    state = InMemoryController([1, 2]).state
    shrinking = partition("foo-0", (3, 1, 2), isr=(1, 2), leader=1)._replace(removing=(1, 2))
    assert step_waits(state, shrinking) == "offline: broker 3, which keeps a replica"


def test_a_reason_names_a_few_brokers() -> None:
    state = InMemoryController([1]).state
    replicas = tuple(range(1, 10))
    waiting = partition("foo-0", replicas, isr=(1,))._replace(removing=(1,))
    assert step_waits(state, waiting) == "offline: brokers 2, 3, 4, 5, 6 and 3 more, which keep a replica"
