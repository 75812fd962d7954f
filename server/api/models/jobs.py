"""The models of `/v1/jobs`."""

from enum import Enum
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from controller.model.plan import Plan
from controller.views.jobs import JobState, PartState
from server.api.models.shared import (
    CopiedBytes,
    CopyBytesPerSecond,
    OtherReasons,
    Page,
    Reason,
    Refused,
    Replicas,
    SecondsLeft,
    TotalBytes,
    WaitingPartition,
)

PRIORITIES = (-1000, 1000)


JobKindName: TypeAlias = Literal["plan", "rollback", "queue"]


Endings: TypeAlias = Annotated[
    dict[str, int],
    Meta(description="Number of partitions by the way their part in the job ended, until now."),
]


class Accepted(Struct):
    """A submitted plan."""

    job: Annotated[int | None, Meta(description="Null when every partition already has its target replicas.")]
    accepted: Annotated[int, Meta(description="Partitions in the job.")]
    unchanged: Annotated[
        int,
        Meta(
            description="Entries that are not in the job: their partitions have the target replicas, or move to them."
        ),
    ]
    refused: list[Refused]
    rollback: Annotated[Plan, Meta(description="The plan that restores the present replicas.")]


class Copied(Struct):
    """Progress of a job in bytes."""

    bytes: CopiedBytes
    total: TotalBytes
    rate: CopyBytesPerSecond
    seconds_left: SecondsLeft


class Job(Struct):
    """A job. The numbers count partitions."""

    id: int
    kind: JobKindName
    state: JobState
    held: Annotated[
        str | None,
        Meta(
            description="Why nothing of a running job moves, if that holds for every job: a pause, the schedule, or the"
            " health guard."
        ),
    ]
    created_ms: Annotated[int, Meta(description="Milliseconds since 1970.")]
    ended_ms: int | None
    principal: str
    client_id: str | None
    total: int
    done: Annotated[int, Meta(description="Partitions that have arrived at the target.")]
    moving: int
    waiting: int
    queued: Annotated[
        int,
        Meta(
            description="`moving`, `waiting` and `queued` are the partitions whose part in the job has not ended."
        ),
    ]
    priority: int
    throttle: Annotated[int | None, Meta(description="Bytes per second.")]
    undoes: Annotated[int | None, Meta(description="The job that this rollback undoes.")]
    rolled_back_by: Annotated[int | None, Meta(description="The newest rollback of this job.")]
    outcome: Annotated[
        str | None,
        Meta(
            description="The ending of all partitions, or `partly done`, or `not done`; null until the job ends."
            " `rolled back` too if rollbacks have taken back all that was done."
        ),
    ]
    endings: Endings
    copied: Annotated[
        Copied | None,
        Meta(description="Null when the job has ended, has nothing to copy, or was not measured yet."),
    ]


class Jobs(Struct):
    """A page of jobs."""

    total: int
    jobs: list[Job]


class Part(Struct):
    """One partition of a job."""

    topic: str
    partition: int
    state: PartState
    replicas: Replicas
    target: Replicas
    original: Replicas
    step: Annotated[tuple[int, ...] | None, Meta(description="The replicas after the step in flight.")]
    leader: Annotated[
        int | None, Meta(description="The broker that the data is copied from; null without a leader.")
    ]
    bytes: Annotated[
        int | None,
        Meta(description="Bytes to copy from the originals to the target; null when the size is not known."),
    ]
    copied: Annotated[int | None, Meta(description="The part of `bytes` that is copied.")]
    reason: Annotated[
        str,
        Meta(
            description="Why the partition does not move or makes no progress; empty when it does or is done."
        ),
    ]


class JobDetail(Struct):
    """A job and a page of its partitions."""

    job: Job
    reasons: list[Reason]
    other_reasons: OtherReasons
    matching: Annotated[
        int, Meta(description="Number of partitions that `state`, `topic` and `broker` select, of all pages.")
    ]
    partitions: list[Part]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]


class Skipped(Struct):
    """A partition that a rollback leaves as it is."""

    topic: str
    partition: int
    reason: str


class RolledBack(Struct):
    """A started rollback."""

    job: Annotated[
        int | None, Meta(description="The job that rolls back; null when there is nothing to roll back.")
    ]
    skipped: list[Skipped]


class RollbackPreview(Struct):
    """What a rollback of the job would do now."""

    undoes: Annotated[
        int | None,
        Meta(
            description="The job that this one has rolled back: partitions move to the targets of that job again."
        ),
    ]
    partitions: Annotated[int, Meta(description="Partitions that move back.")]
    bytes: Annotated[int, Meta(description="Bytes to copy for that, of replicas whose size is known.")]
    unmoved: Annotated[
        int,
        Meta(description="Partitions that have not moved yet: they are taken out of the job, nothing else."),
    ]
    withdrawn: Annotated[int, Meta(description="Queued entries that have not started and are withdrawn.")]
    unchanged: Annotated[
        int, Meta(description="Partitions that are where the rollback leads, or on their way.")
    ]
    skipped: Annotated[int, Meta(description="Partitions that are left as they are.")]
    examples: Annotated[list[Skipped], Meta(description="The first 100 partitions that are skipped.")]
    waiting_partitions: Annotated[
        int,
        Meta(
            description="Partitions that move back but cannot get there with the brokers that are live now."
        ),
    ]
    waiting: Annotated[list[WaitingPartition], Meta(description="The first 100 of them.")]


class Priority(Struct, forbid_unknown_fields=True):
    """The priority of a job: jobs of higher priority start their steps first."""

    priority: Annotated[int, Meta(ge=PRIORITIES[0], le=PRIORITIES[1])]


class JobThrottle(Struct, forbid_unknown_fields=True):
    """The throttle of a job of its own. The lowest of the throttles of the cluster, the jobs and the schedule is in force."""

    throttle: Annotated[
        Annotated[int, Meta(ge=1, le=2**63 - 1)] | None, Meta(description="Bytes per second, null for none.")
    ]


class PartSort(Enum):
    """The order of a job's partitions."""

    PROGRESS = "progress"
    """Moving, rolling back first, waiting or queued, and ended."""
    PARTITION = "partition"
    STATE = "state"
    BYTES = "bytes"


class PartsPage(Page, forbid_unknown_fields=True):
    """Query parameters of a job's partitions."""

    state: Annotated[PartState | UnsetType, Meta(description="Only partitions in this state.")] = UNSET
    topic: Annotated[
        str | UnsetType, Meta(description="Only partitions of topics whose name contains this text.")
    ] = UNSET
    broker: Annotated[
        int | UnsetType,
        Meta(description="Only partitions with a replica on this broker, now, originally or in the target."),
    ] = UNSET
    sort: Annotated[PartSort, Meta(description="The order of the partitions.")] = PartSort.PROGRESS
    descending: Annotated[bool, Meta(description="Reverse the order.")] = False


class JobOptions(Struct, forbid_unknown_fields=True):
    """Query parameters of a submitted plan."""

    queue: Annotated[
        bool,
        Meta(
            description="Queue the plan behind ongoing reassignments; its moving partitions are rolled back first."
        ),
    ] = False
    append: Annotated[
        bool,
        Meta(
            description="Queue the plan even if an earlier queued plan has partitions that have not started."
        ),
    ] = False
    paused: Annotated[bool, Meta(description="Start no step until the job is resumed.")] = False
    throttle: (
        Annotated[
            int,
            Meta(ge=1, le=2**63 - 1, description="Bytes per second for the replicas that this job copies."),
        ]
        | UnsetType
    ) = UNSET
    priority: (
        Annotated[
            int,
            Meta(
                ge=PRIORITIES[0],
                le=PRIORITIES[1],
                description="Jobs of higher priority start their steps first. Default: -1 for a queued plan, else 0.",
            ),
        ]
        | UnsetType
    ) = UNSET
