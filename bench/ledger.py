"""What a client may expect of its partitions, knowing only what was acknowledged, and what may have happened.

A partition's story branches: a move may have ended before the next order came or not, an order whose answer was lost may
have been taken or not. Every branch is a `World`; what is seen of the partition rules worlds out. When none is left,
something that was acknowledged has been lost.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

Replicas = tuple[int, ...]
Key = tuple[str, int]

STORY = 12
"""Events of a partition that are told when something was lost."""


class LostError(AssertionError):
    """What was acknowledged is not there, or something is there that nobody ordered."""


class Pending(NamedTuple):
    """A target that a queued plan holds for the time after the roll-back; `tag` names the plan."""

    tag: str
    target: Replicas


class World(NamedTuple):
    """One way in which things may stand. It rests at `original` without a `target`, else it goes there from `original`."""

    original: Replicas
    target: Replicas | None = None
    pending: Pending | None = None


Deed = Callable[[World], Iterable[World]]
"""What an accepted request makes of a world; no world where it would have been refused."""


def rests_or_goes(original: Replicas, target: Replicas) -> World:
    """At rest there, when there is nothing to do."""
    return World(original) if original == target else World(original, target)


def order(target: Replicas) -> Deed:
    """A new target. The original stays the first one, and what is queued gives way."""

    def deed(world: World) -> Iterator[World]:
        if world.target is None:
            yield rests_or_goes(world.original, target)
        else:
            yield World(world.original, target)

    return deed


def queue(tag: str, target: Replicas) -> Deed:
    """What moves goes back first (KIP-236)."""

    def deed(world: World) -> Iterator[World]:
        if world.target is None:
            yield rests_or_goes(world.original, target)
        else:
            yield World(world.original, world.original, Pending(tag, target))

    return deed


def cancel(world: World) -> Iterator[World]:
    """Back to the original; what is queued is withdrawn. Refused where nothing moves."""
    if world.target is not None:
        yield World(world.original, world.original)


def withdraw(tag: str) -> Deed:
    """A queued plan is taken back where it has not begun."""

    def deed(world: World) -> Iterator[World]:
        ours = world.pending is not None and world.pending.tag == tag
        yield world._replace(pending=None) if ours else world

    return deed


def take_back(tag: str, found: Replicas | None) -> Deed:
    """A job is rolled back: where it has begun, to what it found; None means to the original, whatever that is.

    Refused where another plan is queued.
    """

    def deed(world: World) -> Iterator[World]:
        if world.pending is not None and world.pending.tag == tag:
            yield world._replace(pending=None)
        elif world.pending is None:
            yield from order(world.original if found is None else found)(world)

    return deed


def later(world: World) -> Iterator[World]:
    """The world, and those that time makes of it."""
    yield world
    while world.target is not None:
        pending = world.pending
        world = World(world.target) if pending is None else rests_or_goes(world.target, pending.target)
        yield world


class Seen(NamedTuple):
    """What was seen of a partition: where it goes (None: nowhere), where it rests then, and what is queued for it."""

    target: Replicas | None
    replicas: Replicas
    pending: Replicas | None


def told(worlds: Iterable[World]) -> str:
    """The worlds in words."""
    return " or ".join(
        sorted(f"{each.original}->{each.target} {each.pending or ''}".strip() for each in worlds)
    )


class Place:
    """One partition."""

    def __init__(self, replicas: Replicas) -> None:
        self.worlds = {World(replicas)}
        self.story = [f"created at {replicas}"]

    def did(self, deed: Deed, tag: str = "") -> None:
        """It was acknowledged."""
        self.worlds = {each for world in self._now() for each in deed(world)}
        self.story.append(f"{tag} acknowledged: {told(self.worlds)}")
        if not self.worlds:
            raise LostError("a request was accepted that had to be refused")

    def may_have_done(self, deed: Deed, tag: str = "") -> None:
        """Its answer was lost."""
        self.story.append(f"{tag} not answered")
        now = self._now()
        self.worlds = now | {each for world in now for each in deed(world)}

    def fits(self, seen: Seen) -> set[World]:
        """The worlds in which this can be seen. Raises LostError when there is none.

        What is queued was looked at first, what is ongoing later, and replicas only of what rests.
        """
        queued = {
            world
            for world in self._now()
            if (None if world.pending is None else world.pending.target) == seen.pending
        }
        fitting = {
            world
            for earlier in queued
            for world in later(earlier)
            if world.target == seen.target and (world.target is not None or world.original == seen.replicas)
        }
        if not fitting:
            story = "; ".join(self.story[-STORY:])
            raise LostError(f"{seen} is seen where {told(self.worlds)} were expected; before: {story}")
        return fitting

    def settle(self, worlds: set[World]) -> None:
        """These are the worlds that fit, for certain."""
        if worlds != self.worlds:
            self.story.append(f"seen: {told(worlds)}")
        self.worlds = worlds

    def ends_at(self) -> set[Replicas]:
        """Where it may be when all is done."""
        return {list(later(world))[-1].original for world in self.worlds}

    def found_at(self, original: Replicas) -> None:
        """The order that was taken just now says where it found the partition."""
        going = {world for world in self.worlds if world.target is not None}
        self.story.append(f"found at {original}")
        if not any(world.original == original for world in going):
            raise LostError(f"was found at {original}, expected one of {told(going)}")
        self.worlds = {world for world in going if world.original == original}

    def _now(self) -> set[World]:
        return {each for world in self.worlds for each in later(world)}


class Register:
    """A value that the server keeps for us: the last one acknowledged, or one that may have been taken since."""

    def __init__(self, name: str, value: object) -> None:
        self.name = name
        self.values = [value]

    def did(self, value: object) -> None:
        """It was acknowledged."""
        self.values = [value]

    def may_have_done(self, value: object) -> None:
        """The answer was lost."""
        self.values = [*self.values, value]

    def check(self, value: object) -> None:
        """Raises LostError when this cannot be."""
        if value not in self.values:
            raise LostError(f"{self.name} is {value}, expected one of {self.values}")
        self.values = [value]
