from controller.scheduling.backlog import Backlog
from controller.scheduling.limits import Cost
from controller.scheduling.parking import PASSES
from controller.scheduling.plan_limits import PlanLimits
from tests.builders import InMemoryController, key, partition
from tests.controller.scheduling.test_backlog import started, waiting

LARGE = Cost((4, 5, 6), 1, False)
SMALL = Cost((7,), 2, False)
THREE = PlanLimits(replicas=3)


def crowded(*more: str) -> Backlog:
    """One replica of three moves; a step of three waits, and small ones behind it."""
    backlog = waiting(("large-0", LARGE), limits=THREE)
    backlog.charge(key("first-0"), SMALL)
    assert started(backlog) == []
    for name in more:
        backlog.add(key(name), next(iter(backlog._buckets))[0], SMALL)
    return backlog


def test_a_smaller_step_that_fits_does_not_wait_behind_a_larger_one() -> None:
    backlog = crowded("small-0", "small-1", "small-2")
    assert started(backlog) == ["small-0", "small-1"]
    backlog.release(key("first-0"))
    assert started(backlog) == ["small-2"]


def test_the_larger_step_starts_when_it_fits() -> None:
    backlog = crowded()
    backlog.release(key("first-0"))
    assert started(backlog) == ["large-0"]


def test_smaller_steps_do_not_starve_a_larger_one() -> None:
    names = [f"small-{n}" for n in range(3 * PASSES)]
    backlog = crowded(*names)
    flying: list[str] = ["first-0"]
    order: list[str] = []
    while "large-0" not in order:
        new = started(backlog)
        order, flying = order + new, flying + new
        backlog.release(key(flying.pop(0)))
    assert order.index("large-0") == PASSES
    assert order == [*names[:PASSES], "large-0"]


def test_kept_capacity_is_kept_from_later_steps_too() -> None:
    backlog = crowded(*(f"small-{n}" for n in range(PASSES)))
    flying = ["first-0"]
    while flying:
        flying += started(backlog)
        if backlog.size == 1:
            break
        backlog.release(key(flying.pop(0)))
    backlog.add(key("late-0"), next(iter(backlog._buckets))[0], Cost((8,), 3, False))
    assert started(backlog) == []


def test_void_positions_keep_no_capacity() -> None:
    backlog = crowded("small-0")
    backlog.add(key("large-0"), next(iter(backlog._buckets))[0], SMALL)
    assert started(backlog) == ["small-0", "large-0"]


def test_released_capacity_is_given_to_a_later_step_that_fits() -> None:
    controller = InMemoryController(range(1, 13)).with_limits(replicas=3)
    controller.with_partitions(
        partition("foo-0", (1, 2)), partition("foo-1", (3, 4)), partition("foo-2", (5, 6, 7))
    )
    controller.with_partitions(partition("foo-3", (8, 9)))
    controller.alter({"foo-0": (10, 2), "foo-1": (11, 12), "foo-2": (1, 2, 3), "foo-3": (8, 10)})
    assert controller.in_flight() == ["foo-0", "foo-1"]
    controller.isr("foo-0", controller.replicas("foo-0"))
    assert controller.in_flight() == ["foo-1", "foo-3"]


def test_of_the_steps_that_fit_the_one_with_the_highest_priority_starts() -> None:
    controller = InMemoryController(range(1, 6)).with_partitions(
        *(
            partition(name, replicas)
            for name, replicas in (("bar-0", (4,)), ("bar-1", (2,)), ("bar-2", (2,)))
        ),
        partition("foo-0", (1, 4, 2)),
    )
    controller.alter({"bar-0": (3, 2, 5), "bar-1": (3, 2)})
    controller.with_limits(per_broker=2)
    controller.alter({"foo-0": (5, 3, 1)}, priority=-1)  # waits for broker 3
    controller.alter({"bar-2": (1, 5, 2)}, priority=0)  # waits for broker 2
    controller.isr("bar-1", (2, 3))  # frees both
    assert controller.in_flight() == ["bar-0", "bar-2"]
