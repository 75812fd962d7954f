"""Replicas that have arrived are not dropped for nothing: stalls, and orders for what moves."""

from common.error_codes import ErrorCode
from controller.messages.events import Stalled
from controller.scheduling.limits import LimitKind, Place
from tests.builders import World, key, partition

STALLED = Stalled([key("foo-0")])


def moving(current: tuple[int, ...], target: tuple[int, ...], min_isr: int) -> World:
    world = World(range(1, 9)).having(partition("foo-0", current))
    world.configured("min.insync.replicas", str(min_isr)).alter({"foo-0": target})
    return world


def test_a_stall_keeps_the_last_replica_in_sync() -> None:
    world = moving((1, 2), (3, 4), 2).configured("unclean.leader.election.enable", "true")
    world.isr("foo-0", (1, 2, 3))
    for broker in (1, 2, 4):
        world.stop(broker)
    world.do(STALLED)
    assert (world["foo-0"].isr, world["foo-0"].leader) == ((3,), 3)
    assert world.dropped("foo-0") == [4]


def test_a_stall_keeps_what_has_arrived_and_drops_the_rest() -> None:
    world = moving((1, 2, 3), (4, 5, 6), 2)
    world.isr("foo-0", (1, 2, 3, 4, 5))
    for broker in (6, 2, 3):
        world.stop(broker)
    world.do(STALLED)
    assert world["foo-0"].isr == (1, 4, 5)
    assert 6 not in world.replicas("foo-0")
    assert not {1, 4, 5} & set(world.dropped("foo-0"))


def test_what_has_arrived_is_not_copied_again() -> None:
    world = moving((1, 2, 3), (1, 2, 4), 3)
    world.stop(2)
    world.isr("foo-0", (1, 3, 4))
    for _ in range(3):
        world.do(STALLED)
    assert (world["foo-0"].isr, world.dropped("foo-0")) == ((1, 3, 4), [])
    assert world.state.backlog.usage.taken(Place(LimitKind.REPLICAS)) == 0
    world.start(2)
    world.isr("foo-0", (1, 2, 3, 4))
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == ((1, 2, 4), None)


def test_a_stall_of_what_has_not_arrived_restores_the_list() -> None:
    world = moving((1, 2, 3), (3, 4, 5), 1)
    world.stop(4)
    world.stop(5)
    world.do(STALLED)
    assert (world.replicas("foo-0"), world.why("foo-0")) == ((1, 2, 3), "offline: broker 4, broker 5")


def test_a_new_order_keeps_what_has_arrived_while_the_rest_is_below_min_isr() -> None:
    world = moving((1, 2, 3), (4, 5, 6), 2)
    world.isr("foo-0", (1, 2, 3, 4, 5))
    world.stop(2)
    world.stop(3)
    assert world.alter({"foo-0": (1, 7, 8)})["foo-0"].ok
    assert {1, 4, 5} & set(world["foo-0"].isr) == set(world["foo-0"].isr)
    assert len(world["foo-0"].isr) >= 2
    world.start(2)
    world.start(3)
    assert world.settle().replicas("foo-0") == (1, 7, 8)


def test_a_new_order_that_would_lose_all_data_is_refused_as_before() -> None:
    world = moving((1, 2), (3, 4), 1)
    world.isr("foo-0", (1, 2, 3))
    world.stop(1)
    world.stop(2)
    assert world.alter({"foo-0": (5, 6)})["foo-0"].error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_where_unclean_election_is_allowed_a_new_order_loses_no_data_either() -> None:
    world = moving((1, 2), (3, 4), 1).configured("unclean.leader.election.enable", "true")
    world.isr("foo-0", (1, 2, 3))
    world.stop(1)
    world.stop(2)
    assert world.alter({"foo-0": (5, 6)})["foo-0"].ok
    assert world["foo-0"].isr == (3,)
    world.start(1)
    world.start(2)
    assert world.settle().replicas("foo-0") == (5, 6)
