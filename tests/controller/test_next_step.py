from controller.model import Reassignment
from controller.next_step import charge_others, has_room, plan_step, preferred_leader
from tests.builders import World, partition


def world() -> World:
    return World().having(partition("foo-0", (1, 2)))


def test_the_step_and_what_it_takes_are_planned_together() -> None:
    plan = plan_step(world().state, world()["foo-0"], Reassignment("foo", 0, (1, 2), (3, 2)))
    assert (plan.following, plan.cost.incoming, plan.waits_for) == ((3, 2), (3,), "")


def test_a_step_to_dead_brokers_says_which() -> None:
    alone = World(live=(1, 2)).having(partition("foo-0", (1, 2)))
    plan = plan_step(
        alone.limited(per_partition=1).state, alone["foo-0"], Reassignment("foo", 0, (1, 2), (3, 2))
    )
    assert plan.waits_for == "offline: broker 3"


def test_moves_of_others_take_places_too() -> None:
    one = world().limited(partitions=1)
    charge_others(one.state, partition("bar-0", (4, 5, 6), adding=(6,)))
    assert not has_room(one.state, one["foo-0"], (3, 2), (3, 2))


def test_the_target_leads_first_only_in_small_steps() -> None:
    wanted = Reassignment("foo", 0, (1, 2), (3, 2))
    assert preferred_leader(world().state, wanted) == -1
    assert preferred_leader(world().limited(per_partition=1).state, wanted) == 3
