"""The models of `/v1/jobs`."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from controller.model.jobs import PRIORITIES
from controller.model.plan import Plan
from server.api.models.shared import (
    OtherReasons,
    Reason,
    Refused,
    WaitingPartition,
)
from server.api.views.job_rows import Job
from server.api.views.parts import Part


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


class Jobs(Struct):
    """A page of jobs."""

    total: int
    jobs: list[Job]


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
