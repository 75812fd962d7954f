"""The events of `/v1/events`. The field `event` names the kind of an event."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from controller.model.jobs import JobKind

Replicas = Annotated[tuple[int, ...], Meta(description="Broker ids, the preferred leader first.")]


JobKindName: TypeAlias = Literal["plan", "rollback", "queue", "disks"]

KINDS: Mapping[JobKind, JobKindName] = {
    JobKind.PLAN: "plan",
    JobKind.ROLLBACK: "rollback",
    JobKind.QUEUE: "queue",
    JobKind.DISKS: "disks",
}


class Start(Struct, tag_field="event", tag="start"):
    """The first event. Changes after it are complete: read the jobs after this event."""

    cluster_id: str


class JobEvent(Struct, tag_field="event", tag="job"):
    """A job was accepted or has changed."""

    job: int
    kind: JobKindName
    state: Literal["running", "paused", "ended"]
    total: Annotated[int, Meta(description="Number of partitions.")]
    priority: int
    principal: str
    client_id: str | None
    created_ms: Annotated[int, Meta(description="Milliseconds since 1970.")]
    ended_ms: int | None
    endings: Annotated[
        dict[str, int], Meta(description="Partitions by the way their part ended; empty until the job ends.")
    ]


class JobDeleted(Struct, tag_field="event", tag="job_deleted"):
    """An ended job was deleted (`jobs.retention.*`)."""

    job: int


class PartitionEvent(Struct, tag_field="event", tag="partition"):
    """A partition of a job has changed: a step has started or ended, or its part in the job has ended."""

    topic: str
    partition: int
    job: int
    state: Annotated[
        str,
        Meta(
            description="`moving`, `waiting`, `queued` or `pending`; at the end `done`, `rolled back`, "
            "`taken over`, `topic deleted` or `stopped`."
        ),
    ]
    replicas: Replicas
    target: Replicas


class ManyPartitions(Struct, tag_field="event", tag="partitions"):
    """Too many partitions have changed at once to list them. Read the jobs again."""

    changes: Annotated[int, Meta(description="Number of changed records.")]


class PausedEvent(Struct, tag_field="event", tag="paused"):
    """The pause of all jobs has changed."""

    paused: bool


class ScheduleEvent(Struct, tag_field="event", tag="schedule"):
    """A period of the schedule has started or ended, or the schedule has changed. It shows what is permitted now.

    At the end of a period the queued partitions become waiting; they have no events of their own.
    """  # noqa: E501 (part of the OpenAPI document)

    open: Annotated[bool, Meta(description="Whether steps may start.")]
    throttle: Annotated[
        int | None,
        Meta(description="Bytes per second, of the present or the last period; null for none."),
    ]
    until_ms: Annotated[
        int | None,
        Meta(description="The next change, in milliseconds since 1970; null if it is not known."),
    ]
    reason: Annotated[str | None, Meta(description="Why steps do not start; null while they may.")]


class End(Struct, tag_field="event", tag="end"):
    """The last event. Open the stream again, and read the jobs after its first event."""

    reason: Annotated[str, Meta(description="Why the server ended the stream.")]


Event = Start | JobEvent | JobDeleted | PartitionEvent | ManyPartitions | PausedEvent | ScheduleEvent | End
