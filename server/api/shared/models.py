"""Models that several resources have in common."""

from enum import Enum
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

Replicas: TypeAlias = Annotated[tuple[int, ...], Meta(description="Broker ids, the preferred leader first.")]


CopiedBytes: TypeAlias = Annotated[int, Meta(description="Bytes copied until now, of all replicas together.")]


TotalBytes: TypeAlias = Annotated[int, Meta(description="Bytes to copy in total.")]


CopyBytesPerSecond: TypeAlias = Annotated[
    int | None,
    Meta(
        description="Bytes per second, the mean of 10 s or more in which steps were in flight; null before "
        "that, and while nothing is copied."
    ),
]


SecondsLeft: TypeAlias = Annotated[
    int | None,
    Meta(
        description="Time left at that rate, and at that of the slowest broker; null without a rate, during "
        "a pause, and while a part cannot start or its broker is down."
    ),
]


TieredPartitions: TypeAlias = Annotated[
    int, Meta(description="Partitions to copy of which only the local part counts and is copied.")
]


OutpacedBrokers: TypeAlias = Annotated[
    int,
    Meta(
        description="Brokers that would copy no faster than producers write to the same partitions: that"
        " does not end."
    ),
]


OtherReasons: TypeAlias = Annotated[
    int, Meta(description="Partitions with reasons that are not listed: there are more than 100 reasons.")
]


class Error(Struct):
    """A refused request."""

    error: Annotated[str, Meta(description="One line that names the problem.")]
    faults: Annotated[
        list[str] | UnsetType,
        Meta(
            description="A line for each wrong entry of a plan, of the first 1,000; only if they are several."
        ),
    ] = UNSET


Obstacles: TypeAlias = Annotated[
    list[str],
    Meta(
        description="What keeps steps of all jobs from starting now: a pause, the schedule, the health guard."
    ),
]


class Whoami(Struct):
    """The client of the request."""

    principal: Annotated[str, Meta(description="The name that jobs and the audit log record.")]
    role: Annotated[str, Meta(description="`viewer`: may read; `operator`: may also change.")]


class Refused(Struct):
    """A partition that the controller refused."""

    topic: str
    partition: int
    error: Annotated[str, Meta(description="The name of the Kafka error code.")]
    message: str


class WaitingPartition(Struct):
    """A partition that cannot reach its target now."""

    topic: str
    partition: int
    replicas: Annotated[Replicas, Meta(description="How far it gets.")]
    reason: str


class Reason(Struct):
    """A reason, and the number of partitions that it applies to."""

    reason: str
    partitions: int


class ThrottledBrokers(Struct):
    """Brokers with the same replication throttle."""

    bytes_per_second: int
    brokers: list[int]


class Paused(Struct):
    """Whether the job, or the server, starts no new steps."""

    paused: bool


class Page(Struct, forbid_unknown_fields=True):
    """Query parameters of a list in pages."""

    offset: Annotated[int, Meta(ge=0, le=2**31 - 1, description="Number of rows to skip.")] = 0
    limit: Annotated[int, Meta(ge=0, le=10_000, description="Maximum number of rows to return.")] = 100

    def next(self, shown: int, total: int) -> int | None:
        """Return the offset of the page after this one, which shows so many rows; None if there is none."""
        end = self.offset + shown
        return end if shown and end < total else None


class RateOrigin(Enum):
    """Where the rate of a forecast is known from."""

    GIVEN = "given"
    """The parameter `throttle`."""
    THROTTLE = "throttle"
    """The throttle of the server."""
    MEASURED = "measured"
    """The fastest broker that copies now."""
    PACED = "paced"
    """What pace permits the fastest broker now or, if nothing moves now, has permitted it in the last half
    hour."""
    ASSUMED = "assumed"
    """Nothing moves now, and there is no throttle."""
    UNPACED = "unpaced"
    """As `assumed`, but pace is on, so that it takes longer with producers."""


BandwidthOrigin: TypeAlias = Annotated[
    RateOrigin | None, Meta(description="Where `bandwidth` is known from.")
]


ScheduledSeconds: TypeAlias = Annotated[
    float | None,
    Meta(
        description="The time from now on in the periods of the schedule; null if that is more than 90 days."
    ),
]
