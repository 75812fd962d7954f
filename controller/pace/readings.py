"""What pace is told about a cluster: latencies, copied and produced bytes.

Times are monotonic, in seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from controller.messages.event import Event
from controller.model.configs import PACE, PACE_FACTOR, PACE_MS, PACE_UNREACHABLE


class Source(StrEnum):
    """Where the latencies come from. The values are shown to users."""

    CANARY = "canary produces"
    ROUND_TRIPS = "round trips of requests"
    NONE = "nothing"


class Probe(NamedTuple):
    """The latencies of one probe since the last reading, such as of produces to one partition.

    `followers` delay the probe's answers too. They are empty if only the leader answers.
    """

    leader: int
    followers: Sequence[int]
    latencies: Sequence[float]
    """In ms. A request that is not answered yet counts when it has taken longer than the latest answer."""
    timeouts: int = 0
    """Requests that were not answered in time, or not with success."""


class Copied(NamedTuple):
    """What replicas copied to a broker or from it, whichever is more."""

    rate: float
    """Bytes per second."""
    replicas: int
    """Replicas that moved during the whole measurement. Others have copied for a part of it only, and do not
    count."""


class Produced(NamedTuple):
    """What producers write, in bytes per second."""

    everywhere: float
    """To all partitions, without replication. 0: nobody writes."""
    floors: Mapping[int, float]
    """By broker: what it sends and fetches at least for the partitions that move, so that they come to an
    end."""


@dataclass(frozen=True, slots=True)
class PaceMeasured(Event[None]):
    """The measurements since the last reading.

    Submitted once a second while `reassignment.pace` is `auto`.
    """

    at: float
    source: Source
    probes: Sequence[Probe]
    copied: Mapping[int, Copied] | None = None
    """By broker; None if it was not measured."""
    produced: Produced | None = None
    """None if it was not measured."""
    problem: str = ""
    """Why the canary is not used, in one line."""


class Moves(NamedTuple):
    """Replicas that move in one direction."""

    in_flight: int = 0
    ended: int = 0
    """How many have ended since the start of the process."""

    def lasting(self, before: "Moves") -> int:
        """Return how many of those in flight have moved since the reading `before`; there may be more.

        What has ended since then counts as begun before.
        """
        return max(0, min(self.in_flight, before.in_flight - (self.ended - before.ended)))


NONE = Moves()


class Load(NamedTuple):
    """What moves at a broker."""

    incoming: Moves = NONE
    outgoing: Moves = NONE
    throttled_by_others: bool = False
    """Somebody else has set a throttle there. It stays in force, so that one of pace would have no effect."""

    @property
    def in_flight(self) -> int:
        """Replicas that move to the broker, or from it, whichever is more."""
        return max(self.incoming.in_flight, self.outgoing.in_flight)

    def moved(self, before: "Load") -> int:
        """Return how many replicas have moved since the reading `before`, with those that have ended."""
        return max(
            now.in_flight + now.ended - then.ended for now, then in zip(self[:2], before[:2], strict=True)
        )

    def lasting(self, before: "Load") -> int:
        """Return how many replicas have moved to or from the broker, whichever is more, since `before`."""
        return max(self.incoming.lasting(before.incoming), self.outgoing.lasting(before.outgoing))


AUTO, OFF = "auto", "off"
CONTINUE, HOLD = "continue", "hold"
DEFAULT_FACTOR = 1.5
FIRST_WINDOW = 1
"""Replicas that may move to and from a broker before its first measurement, as after a restart."""


class PaceSettings(NamedTuple):
    """What operators have configured. Without `latency_ms` the target is a multiple of the idle latency."""

    latency_ms: float | None = None
    factor: float = DEFAULT_FACTOR
    holds: bool = False
    """Start no steps while the target cannot be reached; otherwise go on at the floor."""

    def target(self, idle: float | None) -> float | None:
        """Return the highest latency in ms for a probe with this idle latency.

        The result is None while the idle latency is not known.
        """
        if self.latency_ms is not None:
            return self.latency_ms
        return None if idle is None else self.factor * idle

    @property
    def text(self) -> str:
        """Return the target for people."""
        if self.latency_ms is not None:
            return f"{self.latency_ms:g} ms"
        return f"{self.factor:g} times the idle latency"


def pace_settings(configs: Mapping[str, str]) -> PaceSettings | None:
    """Return the settings in the cluster-wide configs; None if pace is off."""
    if configs.get(PACE, OFF) != AUTO:
        return None
    return PaceSettings(
        float(configs.get(PACE_MS, 0)) or None,
        float(configs.get(PACE_FACTOR, DEFAULT_FACTOR)),
        configs.get(PACE_UNREACHABLE, CONTINUE) == HOLD,
    )
