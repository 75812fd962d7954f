from typing import Any

from backends.measuring.stalls import CHECK_SECONDS, STEPS_PER_CHECK, Received, StallWatch
from common.clock import ManualClock
from common.tasks import cancel, spawn
from controller.configs.keys import BROKER_KEYS
from controller.configs.names import STEP_TIMEOUT
from controller.messages.event import AnyEvent
from controller.messages.events import Stalled
from controller.model.cluster import Config, ResourceType, TopicPartition
from tests.builders import InMemoryController, key, partition

TIMEOUT = int(BROKER_KEYS[STEP_TIMEOUT].default) / 1000


class Watched:
    """One partition that moves from 1 to 2, and the bytes of it that broker 2 has at each measurement."""

    def __init__(self) -> None:
        self.controller = InMemoryController().with_partitions(partition("foo-0", (1,)))
        self.controller.alter({"foo-0": (2,)})
        self.told: Received | None = None
        self.watch = StallWatch(self.controller.state, lambda _: self.told)
        self.look(0)

    def look(self, at: float, size: float = 0) -> list[TopicPartition]:
        self.told = Received(size, at)
        return self.watch.check()


def test_a_step_without_progress_for_the_timeout_is_stalled() -> None:
    watched = Watched()
    assert watched.look(TIMEOUT - 1) == []
    assert watched.look(TIMEOUT) == [key("foo-0")]


def test_a_step_with_some_progress_is_not_stalled() -> None:
    watched = Watched()
    assert watched.look(TIMEOUT - 1, size=1) == []
    assert watched.look(TIMEOUT, size=1) == []


def test_a_step_without_new_measurements_is_not_stalled() -> None:
    watched = Watched()
    assert [watched.look(TIMEOUT - 1), watched.watch.check()] == [[], []]
    watched.told = None
    assert watched.watch.check() == []
    assert [watched.look(TIMEOUT + 1), watched.look(2 * TIMEOUT)] == [[], []]
    assert watched.look(2 * TIMEOUT + 1) == [key("foo-0")]


def test_the_timeout_is_a_cluster_wide_config() -> None:
    watched = Watched()
    watched.controller.put(Config(ResourceType.BROKER, "", STEP_TIMEOUT, "5000"))
    assert watched.look(5) == [key("foo-0")]


def test_progress_of_ended_steps_is_discarded() -> None:
    watched = Watched()
    watched.controller.settle()
    assert watched.look(TIMEOUT) == []


def test_a_check_is_bounded_and_steps_take_turns() -> None:
    controller = InMemoryController().with_partitions(
        *(partition(f"foo-{n}", (1,)) for n in range(STEPS_PER_CHECK + 1))
    )
    controller.alter({f"foo-{n}": (2,) for n in range(STEPS_PER_CHECK + 1)})
    asked: list[TopicPartition] = []

    def received(name: TopicPartition) -> None:
        asked.append(name)

    watch = StallWatch(controller.state, received)
    watch.check()
    assert len(asked) == STEPS_PER_CHECK
    watch.check()
    assert len(set(asked)) == STEPS_PER_CHECK + 1


async def test_stalled_steps_are_submitted() -> None:
    clock, told = ManualClock(), list[AnyEvent]()

    async def submit(event: AnyEvent) -> Any:
        told.append(event)

    watched = Watched()
    watched.told = Received(0, TIMEOUT)
    task = spawn(watched.watch.run(clock, submit), "stalls")
    await clock.advance(CHECK_SECONDS)
    await cancel(task)
    assert told == [Stalled([key("foo-0")])]
