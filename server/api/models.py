"""The JSON that the API reads and writes, declared once.

msgspec reads, checks and writes JSON by these structs, and makes the components of the OpenAPI document from them. The
order of the fields is their order in the JSON. A class's docstring and a field's `description` are part of the document.
"""

from enum import Enum
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from controller.model.plan import PartitionName, Plan, TopicName
from controller.views.jobs import JobState, PartState
from server.api.services.spark import Spark
from server.audit.detail import AuditDetail
from server.events.models import End, JobDeleted, JobEvent, ManyPartitions, PartitionEvent, PausedEvent, Start

FASTEST = 1000.0
"""The greatest factor for a broker's network speed."""

PRIORITIES = (-1000, 1000)

JobKindName: TypeAlias = Literal["plan", "rollback", "queue"]

Replicas: TypeAlias = Annotated[tuple[int, ...], Meta(description="Broker ids, the preferred leader first.")]

CopiedBytes: TypeAlias = Annotated[int, Meta(description="Bytes copied until now, of all replicas together.")]
TotalBytes: TypeAlias = Annotated[int, Meta(description="Bytes to copy in total.")]
CopyBytesPerSecond: TypeAlias = Annotated[
    int | None,
    Meta(
        description="Bytes per second, the mean of 10 s or more in which steps were in flight; null before that,"
        " and while nothing is copied."
    ),
]
SecondsLeft: TypeAlias = Annotated[
    int | None,
    Meta(
        description="Time left at that rate, and at that of the slowest broker; null without a rate, during a pause,"
        " and while a part cannot start."
    ),
]
Endings: TypeAlias = Annotated[
    dict[str, int],
    Meta(description="Number of partitions by the way their part in the job ended, until now."),
]
OtherReasons: TypeAlias = Annotated[
    int, Meta(description="Partitions with reasons that are not listed: there are more than 100 reasons.")
]


class Error(Struct):
    """A refused request."""

    error: Annotated[str, Meta(description="One line that names the problem.")]


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


class Reason(Struct):
    """A reason, and the number of partitions that it applies to."""

    reason: str
    partitions: int


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

    partitions: Annotated[int, Meta(description="Partitions that move back.")]
    bytes: Annotated[int, Meta(description="Bytes to copy for that, of replicas whose size is known.")]
    withdrawn: Annotated[int, Meta(description="Queued entries that have not started and are withdrawn.")]
    unchanged: Annotated[
        int, Meta(description="Partitions that are where the rollback leads, or on their way.")
    ]
    skipped: Annotated[int, Meta(description="Partitions that are left as they are.")]
    examples: Annotated[list[Skipped], Meta(description="The first 100 partitions that are skipped.")]


class Priority(Struct, forbid_unknown_fields=True):
    """The priority of a job: jobs of higher priority start their steps first."""

    priority: Annotated[int, Meta(ge=PRIORITIES[0], le=PRIORITIES[1])]


class ReassignmentRow(Struct):
    """An ongoing reassignment."""

    topic: str
    partition: int
    replicas: Annotated[tuple[int, ...], Meta(description="The target replicas.")]
    adding_replicas: Replicas
    removing_replicas: Replicas


class Reassignments(Struct, omit_defaults=True):
    """The ongoing reassignments as a plan; an empty object when there are none."""

    version: Literal[1] | UnsetType = UNSET
    partitions: list[ReassignmentRow] | UnsetType = UNSET


class Cancel(Struct, forbid_unknown_fields=True):
    """The reassignments to cancel. Exactly one of the fields must be given."""

    everything: Literal[True] | UnsetType = msgspec.field(default=UNSET, name="all")
    topic: TopicName | UnsetType = UNSET
    job: Annotated[int, Meta(ge=1, le=2**63 - 1, extra={"expected": "a job's number"})] | UnsetType = UNSET
    partitions: (
        Annotated[
            list[PartitionName], Meta(min_length=1, extra={"expected": "a list of topics and partitions"})
        ]
        | UnsetType
    ) = UNSET


class PlacedPartition(Struct):
    """A partition and its replicas."""

    topic: str
    partition: int
    replicas: Replicas


class CancelThrottle(Struct):
    """The replication throttles after a cancel."""

    bytes_per_second: Annotated[
        int | None, Meta(description="The rate that reassignd sets, while steps are still in flight.")
    ]
    set_by_others: Annotated[
        list[int] | None,
        Meta(
            description="Brokers with a throttle that reassignd did not set and does not remove; null when unknown."
        ),
    ]


class Cancelled(Struct):
    """Cancelled reassignments."""

    cancelled: int
    partitions: Annotated[
        list[PlacedPartition],
        Meta(description="The replicas that the first 1,000 cancelled partitions return to."),
    ]
    throttle: CancelThrottle
    refused: list[Refused]


class Paused(Struct):
    """Whether the job, or the server, starts no new steps."""

    paused: bool


class PlacementBroker(Struct):
    """A broker that replicas can be placed on."""

    id: int
    rack: str | None
    live: bool


class Placement(Struct):
    """The brokers, and those that new partitions are not placed on."""

    excluded: list[int]
    brokers: list[PlacementBroker]


class PlacementChange(Struct):
    """Changes of the excluded brokers."""

    exclude: Annotated[list[int], Meta(description="Brokers to exclude.")] = []
    allow: Annotated[list[int], Meta(description="Brokers that are not excluded any more.")] = []


class Limit(Struct):
    """A limit of KIP-435, or the throttle."""

    name: str
    config: str
    limit: Annotated[int | None, Meta(description="Null when there is no limit.")]
    used: Annotated[
        int | None, Meta(description="What steps in flight use of it; null for limits that nothing uses up.")
    ]


class BrokerLoad(Struct):
    """Replicas that are copied to and from a broker, as limit B counts them."""

    id: int
    incoming: int
    outgoing: int


class Limits(Struct):
    """The limits, and the brokers that steps in flight use."""

    limits: list[Limit]
    brokers: list[BrokerLoad]


LimitChanges: TypeAlias = Annotated[
    dict[str, int | None],
    Meta(
        title="LimitChanges",
        min_length=1,
        description="New values by name: R, P, L, C, B, throttle, or a config. Null removes the limit.",
    ),
]


class QueueEntry(Struct):
    """A partition of a queued plan that has not started."""

    topic: str
    partition: int
    state: PartState
    replicas: Replicas
    target: Replicas
    reason: str


class Queue(Struct):
    """A page of the queue."""

    total: int
    entries: list[QueueEntry]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]


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
    excluded: Annotated[
        list[int] | None,
        Meta(description="The brokers that get no new partitions; null where Kafka places partitions."),
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


class Incoming(Struct):
    """Progress of the data that is copied to a broker."""

    broker: int
    bytes: CopiedBytes
    total: TotalBytes
    rate: CopyBytesPerSecond
    seconds_left: SecondsLeft


class Throttle(Struct):
    """The replication throttle."""

    bytes_per_second: int | None
    leases: Annotated[int, Meta(description="Number of throttle configs that reassignd has set.")]


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
    cancel_mode: Annotated[
        Literal["rollback", "stop"],
        Meta(description="What a cancel does: `reassignment.cancel.mode`."),
    ]
    spark: Spark


class SnapshotCluster(Struct, tag_field="kind", tag="cluster"):
    """The cluster."""

    cluster_id: str


class SnapshotBroker(Struct, tag_field="kind", tag="broker"):
    """A broker."""

    id: int
    rack: str | None
    live: bool
    host: str
    port: int
    disk_bytes: Annotated[int | None, Meta(description="Size of its disks; null if it is not known.")]


class SnapshotPartition(Struct, tag_field="kind", tag="partition"):
    """A partition after its last completed step."""

    topic: str
    partition: int
    replicas: Replicas
    isr: Annotated[list[int], Meta(description="In-sync replicas.")]
    leader: int
    bytes: int
    min_isr: int
    target: Annotated[
        Replicas | None,
        Meta(description="Its replicas after the ongoing or queued reassignment; null if there is none."),
    ]


SnapshotRow: TypeAlias = Annotated[
    SnapshotCluster | SnapshotBroker | SnapshotPartition,
    Meta(
        title="SnapshotRow", description="One line each: the cluster, then the brokers, then the partitions."
    ),
]


class LogDir(Struct):
    """A log directory of a broker."""

    path: str
    works: bool


class Broker(Struct):
    """A broker of the embedded cluster."""

    id: int
    live: bool
    host: str
    port: int
    rack: str | None
    log_dirs: list[LogDir]


class Brokers(Struct):
    """The brokers of the embedded cluster."""

    brokers: list[Broker]


class Slow(Struct, forbid_unknown_fields=True):
    """A factor for the speed of a broker's network."""

    factor: Annotated[
        float,
        Meta(
            ge=0,
            le=FASTEST,
            description="0 stops the network, 1 restores its speed.",
            extra={"expected": f"a number from 0 to {FASTEST:.0f}"},
        ),
    ]


class FailLogDir(Struct, forbid_unknown_fields=True):
    """A log directory to fail."""

    path: Annotated[str, Meta(extra={"expected": "a log directory"})]


class Page(Struct, forbid_unknown_fields=True):
    """Query parameters of a list in pages."""

    offset: Annotated[int, Meta(ge=0, le=2**31 - 1, description="Number of rows to skip.")] = 0
    limit: Annotated[int, Meta(ge=0, le=10_000, description="Maximum number of rows to return.")] = 100


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


class StopOptions(Struct, forbid_unknown_fields=True):
    """Query parameters of stopping a broker."""

    controlled: Annotated[
        bool,
        Meta(
            description="True shuts the broker down in an orderly way; false stops it at once, like a crash."
        ),
    ] = True


AuditActionName: TypeAlias = Literal[
    "order", "queue", "cancel", "rollback", "pause", "resume", "limits", "priority"
]


class AuditRow(Struct):
    """An accepted request."""

    id: Annotated[int, Meta(description="Increases with each entry.")]
    time_ms: Annotated[int, Meta(description="Milliseconds since 1970; never decreases.")]
    action: AuditActionName
    principal: Annotated[
        str,
        Meta(
            description="`User:` and the name of a Kafka principal, a token or a certificate; or `Local:` and a login name."
        ),
    ]
    client_id: Annotated[str | None, Meta(description="The Kafka client id, or the user agent of HTTP.")]
    job: Annotated[int | None, Meta(description="The job that the request created or changed.")]
    detail: AuditDetail


class Audit(Struct):
    """A page of the audit log."""

    entries: list[AuditRow]
    next: Annotated[int | None, Meta(description="`before` of the next page; null if there is none.")]


class AuditMatch(Struct, forbid_unknown_fields=True):
    """Query parameters that select entries."""

    action: Annotated[str, Meta(description="Actions, separated by commas.")] | UnsetType = UNSET
    principal: str | int | bool | UnsetType = UNSET
    client: Annotated[str | int | bool, Meta(description="The whole client id.")] | UnsetType = UNSET
    job: Annotated[int, Meta(ge=1, le=2**31 - 1)] | UnsetType = UNSET
    since: Annotated[int, Meta(ge=0, le=2**53, description="Entries from this time in ms.")] | UnsetType = (
        UNSET
    )
    until: Annotated[int, Meta(ge=0, le=2**53, description="Entries before this time in ms.")] | UnsetType = (
        UNSET
    )


class AuditPage(AuditMatch, forbid_unknown_fields=True):
    """Query parameters of a page of the audit log."""

    before: Annotated[int, Meta(ge=0, le=2**53, description="Entries with a smaller id.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of entries.")] = 100


EventModel: TypeAlias = Annotated[
    Start | JobEvent | JobDeleted | PartitionEvent | ManyPartitions | PausedEvent | End,
    Meta(title="Event", description="The `data` of a server-sent event; `event` names its kind."),
]
