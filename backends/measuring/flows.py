"""What moving replicas copy, and what producers write, from the growth of sizes."""

from collections import Counter
from collections.abc import Mapping
from itertools import chain, islice
from typing import NamedTuple, Protocol

from controller.model.cluster import TopicPartition
from controller.pace.readings import Copied, Produced
from controller.state.state import State

INTERVAL_SECONDS = 3.0
"""Sizes are measured about this often, so that a shorter time may show no growth."""
MOST_MOVING = 2_000
"""Partitions in flight whose sizes are compared."""
MOST_KNOWN = 20_000
"""With more partitions it is not known whether producers write somewhere."""

WATCH_SECONDS = 30.0
"""Sizes are compared this often while pace is off, so that pace knows from its first second whether producers
write."""

QUIET_SECONDS = 90.0
"""All sizes are measured about once a minute: producers write nothing if none has grown for longer."""


class KnownSizes(Protocol):
    """Sizes of replicas as far as they are known; see `server.progress.rates.Sizes`."""

    def size(self, key: TopicPartition) -> int | None: ...

    def arrived(self, key: TopicPartition, broker: int) -> int | None: ...


class Flows(NamedTuple):
    """See `PaceMeasured`."""

    copied: Mapping[int, Copied]
    produced: Produced | None


class _Look(NamedTuple):
    at: float
    leaders: Mapping[TopicPartition, int]
    arrived: Mapping[tuple[TopicPartition, int], int]


class FlowMeter:
    """Compares sizes."""

    def __init__(self, state: State, sizes: KnownSizes) -> None:
        self._state, self._sizes = state, sizes
        self._last: _Look | None = None
        self._flows: Flows | None = None
        self._total: tuple[float, int] | None = None
        self._everywhere: float | None = None
        self._watched_at = float("-inf")

    def watch(self, now: float, canary: str) -> None:
        """Notice whether producers write while nobody asks for the flows."""
        if now - self._watched_at >= WATCH_SECONDS:
            self._watched_at = now
            self._grown_everywhere(now, canary)

    def measure(self, now: float, canary: str) -> Flows | None:
        """Return the flows at this time in seconds.

        Those of the last interval while a new one is not complete.

        `canary` is the topic whose growth is our own.
        """
        last = self._last
        if last is not None and now - last.at < INTERVAL_SECONDS:
            return self._flows
        look, everywhere = self._look(now), self._grown_everywhere(now, canary)
        if last is not None:
            self._flows = self._compare(last, look, everywhere)
        self._last = look
        return self._flows

    def _look(self, now: float) -> _Look:
        leaders, arrived = {}, {}
        for key in islice(self._state.in_flight, MOST_MOVING):
            size = self._sizes.size(key)
            partition = self._state.cluster.partition(*key)
            if size is None or partition is None:
                continue
            leaders[key] = size
            for broker in partition.adding:
                received = self._sizes.arrived(key, broker)
                if received is not None:
                    arrived[key, broker] = received
        return _Look(now, leaders, arrived)

    def _compare(self, last: _Look, look: _Look, everywhere: float | None) -> Flows:
        seconds = look.at - last.at
        copied = self._copied(last, look)
        floors, moving = Counter[int](), 0
        for key in look.leaders.keys() & last.leaders.keys():
            # Deleted segments make a partition smaller: then nothing is known about its producers.
            grown = max(0, look.leaders[key] - last.leaders[key])
            moving += grown
            self._add_floor(key, grown, floors)
        if everywhere is None and not moving:
            return Flows(copied, None)
        produced = max(everywhere or 0.0, moving / seconds)
        return Flows(
            copied, Produced(produced, {broker: grown / seconds for broker, grown in floors.items()})
        )

    def _copied(self, last: _Look, look: _Look) -> dict[int, Copied]:
        """Return what the replicas copied that both looks have seen: of others the time is not known."""
        seconds = look.at - last.at
        sides = (Counter[int](), Counter[int]())
        replicas = (Counter[int](), Counter[int]())
        for key, broker in look.arrived.keys() & last.arrived.keys():
            partition = self._state.cluster.partition(*key)
            if partition is None:
                continue
            grown = max(0, look.arrived[key, broker] - last.arrived[key, broker])
            for side, number, end in zip(sides, replicas, (partition.leader, broker), strict=True):
                side[end] += grown
                number[end] += 1
        ends = {end for number in replicas for end in number}
        return {
            end: max(
                Copied(side[end] / seconds, number[end]) for side, number in zip(sides, replicas, strict=True)
            )
            for end in ends
        }

    def _add_floor(self, key: TopicPartition, grown: int, floors: Counter[int]) -> None:
        """Add what the adding replicas of a partition need.

        Each fetches it, and the leader sends it to each.
        """
        partition = self._state.cluster.partition(*key)
        if partition is not None and grown:
            floors.update(dict.fromkeys(partition.adding, grown))
            floors[partition.leader] += grown * len(partition.adding)

    def _grown_everywhere(self, now: float, canary: str) -> float | None:
        """Return the bytes per second that all live leaders grow by; None if it is not known."""
        state = self._state
        if sum(map(len, state.cluster.partitions.values())) > MOST_KNOWN:
            return None
        written = (
            each.key
            for each in chain.from_iterable(state.cluster.partitions.values())
            if each.topic != canary and each.leader in state.cluster.live
        )
        sizes = [self._sizes.size(key) for key in written]
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            return None
        total = sum(known)
        if self._total is None or total != self._total[1]:
            grown = 0 if self._total is None else total - self._total[1]
            # Where segments are deleted, producers may write nevertheless.
            self._everywhere = None
            if grown > 0 and self._total is not None:
                self._everywhere = grown / max(now - self._total[0], 1.0)
            self._total = (now, total)
        elif now - self._total[0] > QUIET_SECONDS:
            self._everywhere = 0.0
        return self._everywhere
