"""What pace is told about a cluster: latencies, copied and produced bytes. Times are monotonic, in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from controller.messages.event import Event


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
    """Replicas that moved during the whole measurement. Others have copied for a part of it only, and do not count."""


class Produced(NamedTuple):
    """What producers write, in bytes per second."""

    everywhere: float
    """To all partitions, without replication. 0: nobody writes."""
    floors: Mapping[int, float]
    """By broker: what it sends and fetches at least for the partitions that move, so that they come to an end."""


@dataclass(frozen=True, slots=True)
class PaceMeasured(Event[None]):
    """The measurements since the last reading. Submitted once a second while `reassignment.pace` is `auto`."""

    at: float
    source: Source
    probes: Sequence[Probe]
    copied: Mapping[int, Copied] | None = None
    """By broker; None if it was not measured."""
    produced: Produced | None = None
    """None if it was not measured."""
    problem: str = ""
    """Why the canary is not used, in one line."""
