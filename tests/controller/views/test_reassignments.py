import pytest

from controller.model.cluster import Reassignment
from controller.views.reassignments import Ongoing, counts, effective_min_isr, ongoing
from tests.builders import World, key, partition


@pytest.fixture
def world() -> World:
    return World(live=(1, 2, 3, 4, 5)).having(
        partition("foo-0", (1, 2, 3)), partition("foo-1", (2, 3)), partition("bar-0", (3, 2))
    )


def test_a_move_is_listed_as_its_target_and_what_is_to_go(world: World) -> None:
    world.alter({"foo-0": (4, 1)})
    assert list(ongoing(world.state)) == [
        Ongoing("foo", 0, (4, 1, 2, 3), (4,), (2, 3), step=(4, 1), current=(1, 2, 3))
    ]


def test_what_waits_is_listed_like_what_moves_but_for_its_step(world: World) -> None:
    world.alter({"foo-0": (1, 2, 6)})
    assert list(ongoing(world.state)) == [
        Ongoing("foo", 0, (1, 2, 6, 3), (6,), (3,), step=None, current=(1, 2, 3))
    ]


def test_with_several_steps_the_whole_way_is_listed_and_the_step_apart(world: World) -> None:
    world.alter({"foo-0": (4, 5, 6)})
    (row,) = ongoing(world.state)
    assert (row.replicas, row.adding, row.removing) == ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))
    assert row.step == (4, 1, 2, 3)
    world.isr("foo-0", (1, 2, 3, 4))
    (row,) = ongoing(world.state)
    assert (row.current, row.adding) == ((4, 1, 2, 3), (5, 6))


def test_a_rollback_is_listed_with_the_original_as_its_target(world: World) -> None:
    world.put(Reassignment("foo", 1, (3, 2), (3, 2)))
    (row,) = ongoing(world.state)
    assert (row.replicas, row.adding, row.removing) == ((3, 2), (), ())


def test_all_are_listed_in_order_of_acceptance(world: World) -> None:
    world.alter({"foo-1": (4, 5)})
    world.alter({"bar-0": (4, 5), "foo-0": (4, 5)})
    assert [(row.topic, row.partition) for row in ongoing(world.state)] == [
        ("foo", 1),
        ("bar", 0),
        ("foo", 0),
    ]


def test_a_listing_may_ask_for_partitions_or_for_a_whole_topic(world: World) -> None:
    world.alter({"foo-0": (4, 5), "foo-1": (4, 5), "bar-0": (4, 5)})
    asked = {"bar": None, "foo": [1, 7, -1], "ghost": None, "gone": [0]}
    assert [(row.topic, row.partition) for row in ongoing(world.state, asked)] == [("bar", 0), ("foo", 1)]
    assert list(ongoing(world.state, {})) == []


def test_what_is_gone_while_a_listing_is_taken_is_left_out(world: World) -> None:
    world.alter({"foo-0": (4, 5), "bar-0": (4, 5)})
    listing = ongoing(world.state)
    assert next(listing).topic == "foo"
    world.alter({"bar-0": None})
    del world.state.partitions["bar"]
    assert list(listing) == []


def test_a_topic_that_loses_its_partitions_meanwhile_is_left_out(world: World) -> None:
    world.alter({"bar-0": (4, 5), "foo-0": (4, 5), "foo-1": (4, 5)})
    world.state.add_external(key("foo-2"))
    world.state.add_external(key("ghost-0"))
    rows = ongoing(world.state)
    assert next(rows).topic == "bar"
    world.state.partitions["foo"].pop()
    assert list(rows) == []


def test_a_healthy_cluster_counts_no_trouble(world: World) -> None:
    assert counts(world.state) == (3, 0, 0, 0, 0, 0, 0)


def test_adding_replicas_are_counted_apart_and_are_not_under_replicated(world: World) -> None:
    world.alter({"foo-0": (4, 5, 1), "foo-1": (2, 6)})
    found = counts(world.state)
    assert (found.reassigning, found.reassigned_replicas, found.under_replicated) == (2, 2, 0)


def test_a_lost_original_is_counted_though_an_adding_replica_is_in_sync(world: World) -> None:
    world.alter({"foo-0": (4, 5, 1)})
    world.isr("foo-0", (1, 2, 4))
    assert counts(world.state).under_replicated == 1


def test_partitions_at_and_under_min_isr_and_without_a_leader_are_counted(world: World) -> None:
    world.isr("foo-0", (1, 2))
    assert counts(world.state)[2:5] == (1, 0, 0)
    world.configured("min.insync.replicas", "2")
    found = counts(world.state)
    assert (found.at_min_isr, found.under_min_isr, found.under_replicated) == (1, 0, 1)
    world.isr("foo-0", (1,))
    assert counts(world.state).under_min_isr == 1
    world.stop(1)
    assert counts(world.state).offline == 1


def test_min_isr_is_at_most_the_number_of_replicas(world: World) -> None:
    world.configured("min.insync.replicas", "9")
    assert effective_min_isr(world.state, world["foo-1"]) == 2
