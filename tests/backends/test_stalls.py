from typing import Any

from backends.clock import ManualClock
from backends.stalls import DEFAULT_TIMEOUT_MS, LOOKS, STEP_TIMEOUT, StallWatch
from backends.tasks import cancel, spawn
from controller.events import Event, Stalled
from controller.model import Config, ResourceType, TopicPartition
from tests.builders import World, key, partition

TIMEOUT = DEFAULT_TIMEOUT_MS / 1000


class Watched:
    """One partition that moves from 1 to 2, and what broker 2 has of it."""

    def __init__(self) -> None:
        self.world = World().having(partition("foo-0", (1,)))
        self.world.alter({"foo-0": (2,)})
        self.bytes = 0.0
        self.watch = StallWatch(self.world.state, lambda _: self.bytes)
        self.watch.look(0)


def test_a_step_that_receives_nothing_for_too_long_is_found() -> None:
    watched = Watched()
    assert watched.watch.look(TIMEOUT - 1) == []
    assert watched.watch.look(TIMEOUT) == [key("foo-0")]


def test_a_step_that_receives_a_little_is_not() -> None:
    watched = Watched()
    watched.bytes = 1
    assert watched.watch.look(TIMEOUT - 1) == []
    assert watched.watch.look(TIMEOUT) == []


def test_the_timeout_is_a_cluster_wide_config() -> None:
    watched = Watched()
    watched.world.put(Config(ResourceType.BROKER, "", STEP_TIMEOUT, "5000"))
    assert watched.watch.look(5) == [key("foo-0")]


def test_a_step_that_has_ended_is_forgotten() -> None:
    watched = Watched()
    watched.world.settle()
    assert watched.watch.look(TIMEOUT) == []


def test_one_look_is_bounded_and_all_steps_have_their_turn() -> None:
    world = World().having(*(partition(f"foo-{n}", (1,)) for n in range(LOOKS + 1)))
    world.alter({f"foo-{n}": (2,) for n in range(LOOKS + 1)})
    asked: list[TopicPartition] = []

    def received(name: TopicPartition) -> float:
        asked.append(name)
        return 0.0

    watch = StallWatch(world.state, received)
    watch.look(0)
    assert len(asked) == LOOKS
    watch.look(1)
    assert len(set(asked)) == LOOKS + 1


async def test_what_stalls_is_told_to_the_core() -> None:
    clock, told = ManualClock(), list[Event]()

    async def submit(event: Event) -> Any:
        told.append(event)

    task = spawn(Watched().watch.run(clock, submit), "stalls")
    await clock.advance(TIMEOUT + 1)
    await cancel(task)
    assert told == [Stalled([key("foo-0")])]
