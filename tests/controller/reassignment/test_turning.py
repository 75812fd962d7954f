"""Replicas in sync are kept when a step stalls or gets a new target."""

from common.error_codes import ErrorCode
from controller.messages.events import Stalled
from controller.scheduling.limits import Capacity, LimitKind
from tests.builders import InMemoryController, key, partition

STALLED = Stalled([key("foo-0")])


def moving(current: tuple[int, ...], target: tuple[int, ...], min_isr: int) -> InMemoryController:
    controller = InMemoryController(range(1, 9)).with_partitions(partition("foo-0", current))
    controller.with_topic_config("min.insync.replicas", str(min_isr)).alter({"foo-0": target})
    return controller


def test_a_stall_keeps_the_last_replica_in_sync() -> None:
    controller = moving((1, 2), (3, 4), 2).with_topic_config("unclean.leader.election.enable", "true")
    controller.isr("foo-0", (1, 2, 3))
    for broker in (1, 2, 4):
        controller.stop(broker)
    controller.do(STALLED)
    assert (controller["foo-0"].isr, controller["foo-0"].leader) == ((3,), 3)
    assert controller.dropped("foo-0") == [4]


def test_a_stall_keeps_replicas_in_sync_and_drops_the_others() -> None:
    controller = moving((1, 2, 3), (4, 5, 6), 2)
    controller.isr("foo-0", (1, 2, 3, 4, 5))
    for broker in (6, 2, 3):
        controller.stop(broker)
    controller.do(STALLED)
    assert controller["foo-0"].isr == (1, 4, 5)
    assert 6 not in controller.replicas("foo-0")
    assert not {1, 4, 5} & set(controller.dropped("foo-0"))


def test_replicas_in_sync_are_not_copied_again() -> None:
    controller = moving((1, 2, 3), (1, 2, 4), 3)
    controller.stop(2)
    controller.isr("foo-0", (1, 3, 4))
    for _ in range(3):
        controller.do(STALLED)
    assert (controller["foo-0"].isr, controller.dropped("foo-0")) == ((1, 3, 4), [])
    assert controller.state.backlog.usage.taken(Capacity(LimitKind.REPLICAS)) == 0
    controller.start(2)
    controller.isr("foo-0", (1, 2, 3, 4))
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == ((1, 2, 4), None)


def test_a_stall_without_new_replicas_in_sync_restores_the_list() -> None:
    controller = moving((1, 2, 3), (3, 4, 5), 1)
    controller.stop(4)
    controller.stop(5)
    controller.do(STALLED)
    assert (controller.replicas("foo-0"), controller.waiting_reason("foo-0")) == (
        (1, 2, 3),
        "offline: broker 4, broker 5",
    )


def test_a_new_order_keeps_replicas_in_sync_if_the_others_are_below_min_isr() -> None:
    controller = moving((1, 2, 3), (4, 5, 6), 2)
    controller.isr("foo-0", (1, 2, 3, 4, 5))
    controller.stop(2)
    controller.stop(3)
    assert controller.alter({"foo-0": (1, 7, 8)})["foo-0"].ok
    assert {1, 4, 5} & set(controller["foo-0"].isr) == set(controller["foo-0"].isr)
    assert len(controller["foo-0"].isr) >= 2
    controller.start(2)
    controller.start(3)
    assert controller.settle().replicas("foo-0") == (1, 7, 8)


def test_a_new_order_that_would_lose_all_data_is_refused() -> None:
    controller = moving((1, 2), (3, 4), 1)
    controller.isr("foo-0", (1, 2, 3))
    controller.stop(1)
    controller.stop(2)
    assert controller.alter({"foo-0": (5, 6)})["foo-0"].error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_new_order_loses_no_data_even_if_unclean_election_is_allowed() -> None:
    controller = moving((1, 2), (3, 4), 1).with_topic_config("unclean.leader.election.enable", "true")
    controller.isr("foo-0", (1, 2, 3))
    controller.stop(1)
    controller.stop(2)
    assert controller.alter({"foo-0": (5, 6)})["foo-0"].ok
    assert controller["foo-0"].isr == (3,)
    controller.start(1)
    controller.start(2)
    assert controller.settle().replicas("foo-0") == (5, 6)


def test_a_new_target_keeps_the_replicas_on_their_way_that_it_needs() -> None:
    controller = InMemoryController(range(1, 10)).with_limits(per_partition=2)
    controller.with_partitions(partition("foo-0", (1, 2, 3, 9)))
    controller.alter({"foo-0": (4, 5, 6, 7)})
    controller.isr("foo-0", (1, 2, 3, 9, 4))
    controller.isr("foo-0", controller.replicas("foo-0"))
    assert controller["foo-0"].adding == (6, 7)
    controller.isr("foo-0", (*controller["foo-0"].isr, 6))
    controller.alter({"foo-0": (8, 2, 6, 7)})
    controller.settle()
    assert controller.replicas("foo-0") == (8, 2, 6, 7)
    assert not {6, 7} & set(controller.dropped("foo-0"))
