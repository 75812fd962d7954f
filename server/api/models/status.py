"""The models of `/v1/status`."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from server.api.models.limits import Limit
from server.api.models.pace import PaceState
from server.api.models.schedule import ScheduleState
from server.api.models.shared import (
    CopiedBytes,
    CopyBytesPerSecond,
    OtherReasons,
    Reason,
    SecondsLeft,
    ThrottledBrokers,
    TotalBytes,
)
from server.api.services.spark import Spark
from server.api.views.job_rows import Job


class Totals(Struct):
    """Numbers of reassignments. `moving`, `waiting` and `queued` add up to `ongoing`."""

    ongoing: int
    moving: int
    waiting: int
    queued: int
    pending: Annotated[
        int, Meta(description="Partitions of queued plans that wait for an earlier reassignment.")
    ]
    others: Annotated[int, Meta(description="Reassignments that reassignd did not start.")]


class BrokerCounts(Struct):
    """Numbers of brokers."""

    registered: int
    live: int
    offline: Annotated[list[int], Meta(description="The ids of the offline brokers.")]
    idle: Annotated[
        list[int],
        Meta(
            description="The offline brokers of a gateway that hold no replica and get none. Nothing waits for them;"
            " KRaft lists them until they are unregistered."
        ),
    ]
    excluded: Annotated[
        list[int] | None,
        Meta(description="The brokers that get no new partitions; null where Kafka places partitions."),
    ]
    hidden: Annotated[
        list[int],
        Meta(
            description="The brokers that clients of a gateway do not see, because their ports cannot be opened."
        ),
    ]


class PartitionCounts(Struct):
    """Numbers of partitions."""

    total: int
    offline: int
    under_replicated: int
    under_min_isr: int


class ClusterHealth(Struct):
    """What is wrong with the cluster, and the state of the health guard."""

    problems: Annotated[
        list[str],
        Meta(
            description="Offline brokers, and offline, under-min-ISR and under-replicated partitions; empty when healthy."
        ),
    ]
    trouble: Annotated[
        str | None, Meta(description="What the health guard found; null when nothing, or without a guard.")
    ]
    holds: Annotated[
        int | None,
        Meta(
            description="Number of steps, other than repairs, that may be in flight: 0 (hold), 1 (slow), or null when"
            " the guard restricts nothing."
        ),
    ]
    unseen_since_ms: Annotated[
        int | None,
        Meta(
            description="Since when the Kafka cluster behind a gateway does not answer, in milliseconds since 1970; no"
            " step starts, and the numbers of brokers and partitions are of that time. Null while it answers."
        ),
    ]


class Incoming(Struct):
    """Progress of the data that is copied to a broker."""

    broker: int
    bytes: CopiedBytes
    total: TotalBytes
    rate: CopyBytesPerSecond
    seconds_left: SecondsLeft


class Throttle(Struct):
    """The replication throttle."""

    bytes_per_second: Annotated[
        int | None, Meta(description="The lowest rate of the cluster, the open jobs and the schedule.")
    ]
    source: Annotated[
        str | None,
        Meta(description="Whose rate that is: `the cluster`, `the schedule`, or for example `job 3`."),
    ]
    leases: Annotated[int, Meta(description="Number of throttle configs that reassignd has set.")]
    unlisted: Annotated[
        int,
        Meta(
            description="Number of replicas in flight that are not throttled, because the throttle list of their topic"
            " is full: a config of Kafka has 32,767 bytes."
        ),
    ]
    set_by_others: Annotated[
        list[ThrottledBrokers],
        Meta(
            description="Rates at brokers that reassignd has not set and does not change, the lowest first. They are in"
            " force at these brokers. Before a running Kafka they are read while something moves."
        ),
    ]


class Status(Struct):
    """The state of the server and the cluster."""

    version: str
    cluster_id: str
    paused: bool
    brokers: BrokerCounts
    partitions: PartitionCounts
    health: ClusterHealth
    reassignments: Totals
    jobs: Annotated[list[Job], Meta(description="The jobs that have not ended, the oldest first.")]
    incoming: Annotated[
        list[Incoming],
        Meta(description="Data of the jobs that have not ended, by the broker that receives it."),
    ]
    reasons: Annotated[
        list[Reason],
        Meta(
            description="Why partitions do not move or make no progress, of all of them, the most frequent first."
        ),
    ]
    other_reasons: OtherReasons
    limits: list[Limit]
    throttle: Throttle
    pace: PaceState
    schedule: Annotated[ScheduleState | None, Meta(description="Null without a schedule.")]
    cancel_mode: Annotated[
        Literal["rollback", "stop"],
        Meta(description="What a cancel does: `reassignment.cancel.mode`."),
    ]
    spark: Spark
