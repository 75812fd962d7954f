from hypothesis import given
from hypothesis import strategies as st

from controller.model.cluster import Reassignment, Replicas
from controller.reassignment.next_step import Plan, charge_external, has_capacity, plan_step, preferred_leader
from controller.scheduling.steps import UNLIMITED
from planner.step_table import Move, steps_of
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
    assert not has_capacity(one.state, one["foo-0"], (3, 2), (3, 2))


def planned(target: Replicas, **limits: int) -> Plan:
    """The first step of a healthy partition at (1, 2, 3)."""
    one = InMemoryController().with_limits(**limits).with_partitions(partition("foo-0", (1, 2, 3)))
    return plan_step(one.state, one["foo-0"], Reassignment("foo", 0, (1, 2, 3), target))


def test_the_preferred_leader_of_the_target_leads_first_only_with_limit_r() -> None:
    wanted = Reassignment("foo", 0, (1, 2), (3, 2))
    assert preferred_leader(controller().state, controller()["foo-0"], wanted) == -1
    small = controller().with_limits(per_partition=1)
    assert preferred_leader(small.state, small["foo-0"], wanted) == 3


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
