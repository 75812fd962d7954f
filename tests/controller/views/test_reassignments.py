import pytest

from controller.cluster.health import effective_min_isr
from controller.model.cluster import Reassignment
from controller.views.reassignments import Ongoing, counts, ongoing
from tests.builders import InMemoryController, key, partition


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController(live=(1, 2, 3, 4, 5)).with_partitions(
        partition("foo-0", (1, 2, 3)), partition("foo-1", (2, 3)), partition("bar-0", (3, 2))
    )


def test_a_reassignment_is_listed_with_its_target_and_the_removed_replicas(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-0": (4, 1)})
    assert list(ongoing(controller.state)) == [
        Ongoing("foo", 0, (4, 1, 2, 3), (4,), (2, 3), step=(4, 1), current=(1, 2, 3))
    ]


def test_a_waiting_reassignment_is_listed_without_a_step(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (1, 2, 6)})
    assert list(ongoing(controller.state)) == [
        Ongoing("foo", 0, (1, 2, 6, 3), (6,), (3,), step=None, current=(1, 2, 3))
    ]


def test_the_whole_reassignment_and_its_step_are_listed_separately(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-0": (4, 5, 6)})
    (row,) = ongoing(controller.state)
    assert (row.replicas, row.adding, row.removing) == ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))
    assert row.step == (4, 1, 2, 3)
    controller.isr("foo-0", (1, 2, 3, 4))
    (row,) = ongoing(controller.state)
    assert (row.current, row.adding) == ((4, 1, 2, 3), (5, 6))


def test_a_rollback_is_listed_with_the_original_as_its_target(controller: InMemoryController) -> None:
    controller.put(Reassignment("foo", 1, (3, 2), (3, 2)))
    (row,) = ongoing(controller.state)
    assert (row.replicas, row.adding, row.removing) == ((3, 2), (), ())


def test_all_are_listed_in_order_of_acceptance(controller: InMemoryController) -> None:
    controller.alter({"foo-1": (4, 5)})
    controller.alter({"bar-0": (4, 5), "foo-0": (4, 5)})
    assert [(row.topic, row.partition) for row in ongoing(controller.state)] == [
        ("foo", 1),
        ("bar", 0),
        ("foo", 0),
    ]


def test_a_request_may_name_partitions_or_whole_topics(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (4, 5), "foo-1": (4, 5), "bar-0": (4, 5)})
    asked = {"bar": None, "foo": [1, 7, -1], "ghost": None, "gone": [0]}
    assert [(row.topic, row.partition) for row in ongoing(controller.state, asked)] == [
        ("bar", 0),
        ("foo", 1),
    ]
    assert list(ongoing(controller.state, {})) == []


def test_a_topic_that_is_deleted_during_the_listing_is_omitted(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (4, 5), "bar-0": (4, 5)})
    listing = ongoing(controller.state)
    assert next(listing).topic == "foo"
    controller.alter({"bar-0": None})
    del controller.state.cluster.partitions["bar"]
    assert list(listing) == []


def test_partitions_that_are_deleted_during_the_listing_are_omitted(controller: InMemoryController) -> None:
    controller.alter({"bar-0": (4, 5), "foo-0": (4, 5), "foo-1": (4, 5)})
    controller.state.gateway.add_external(key("foo-2"))
    controller.state.gateway.add_external(key("ghost-0"))
    rows = ongoing(controller.state)
    assert next(rows).topic == "bar"
    controller.state.cluster.partitions["foo"].pop()
    assert list(rows) == []


def test_a_healthy_cluster_has_no_unhealthy_partitions(controller: InMemoryController) -> None:
    assert counts(controller.state) == (3, 0, 0, 0, 0, 0, 0)


def test_adding_replicas_are_counted_separately_and_are_not_under_replicated(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-0": (4, 5, 1), "foo-1": (2, 6)})
    found = counts(controller.state)
    assert (found.reassigning, found.reassigned_replicas, found.under_replicated) == (2, 2, 0)


def test_a_lost_original_is_counted_even_if_an_adding_replica_is_in_sync(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-0": (4, 5, 1)})
    controller.isr("foo-0", (1, 2, 4))
    assert counts(controller.state).under_replicated == 1


def test_partitions_at_and_under_min_isr_and_without_a_leader_are_counted(
    controller: InMemoryController,
) -> None:
    controller.isr("foo-0", (1, 2))
    assert counts(controller.state)[2:5] == (1, 0, 0)
    controller.with_topic_config("min.insync.replicas", "2")
    found = counts(controller.state)
    assert (found.at_min_isr, found.under_min_isr, found.under_replicated) == (1, 0, 1)
    controller.isr("foo-0", (1,))
    assert counts(controller.state).under_min_isr == 1
    controller.stop(1)
    assert counts(controller.state).offline == 1


def test_min_isr_is_at_most_the_number_of_replicas(controller: InMemoryController) -> None:
    controller.with_topic_config("min.insync.replicas", "9")
    assert effective_min_isr(controller.state, controller["foo-1"]) == 2
