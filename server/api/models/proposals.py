"""The models of `/v1/proposals`."""

from enum import Enum
from typing import Annotated

from msgspec import Meta, Struct

from server.api.models.shared import RateOrigin

Ids = list[int]


class ProposalState(Enum):
    """The state of a proposal."""

    WAITING = "waiting"
    """Another proposal is being computed."""
    COMPUTING = "computing"
    READY = "ready"
    FAILED = "failed"
    """No plan meets the goal, or it could not be computed; `reasons` says why."""


class LeaderGoal(Enum):
    """Whether preferred leaders are evened out."""

    BALANCE = "balance"
    KEEP = "keep"


class Measure(Enum):
    """What `add` and `balance` even out."""

    REPLICAS = "replicas"
    BYTES = "bytes"
    BOTH = "both"


class Minimized(Enum):
    """What a plan has least of."""

    MOVES = "moves"
    BYTES = "bytes"


class Spread(Enum):
    """Whether replicas move for an even cluster only, or also for even topics."""

    CLUSTER = "cluster"
    TOPIC = "topic"


class ProposalRequest(Struct, forbid_unknown_fields=True):
    """A goal: one or several of drain, add, balance, rf, racks and leaders, with the options of `reassignd propose`."""

    drain: Annotated[Ids, Meta(description="Brokers that must hold no replica.")] = []
    add: Annotated[Ids, Meta(description="New brokers; replicas are evened out.")] = []
    balance: Annotated[bool, Meta(description="Even out replicas and preferred leaders.")] = False
    rf: Annotated[int, Meta(ge=1, le=2**15 - 1)] | None = None
    racks: Annotated[bool, Meta(description="Obey the rack rule.")] = False
    leaders: Annotated[bool, Meta(description="Even out preferred leaders; no data moves.")] = False
    topics: Annotated[str, Meta(description="Regular expression of the topics that may change.")] | None = (
        None
    )
    exclude_topics: str | None = None
    exclude_brokers: Annotated[Ids, Meta(description="Brokers that get no new replicas.")] = []
    tolerance: Annotated[str, Meta(description="Allowed deviation from even counts, such as 5%.")] | None = (
        None
    )
    preferred_leaders: LeaderGoal | None = None
    by: Measure | None = None
    byte_tolerance: Annotated[str, Meta(description="Allowed deviation from even bytes.")] | None = None
    minimize: Minimized | None = None
    spread: Spread | None = None
    max_moves: Annotated[int, Meta(ge=0)] | None = None
    max_bytes: Annotated[str, Meta(description="Most bytes to copy, such as 500GiB.")] | None = None
    headroom: Annotated[str, Meta(description="Share of a disk that stays free.")] | None = None
    strict_racks: bool = False
    fix_racks: bool = False
    disable_rack_aware: bool = False
    weights: Annotated[list[str], Meta(description="Shares of brokers, such as 7=0.5.")] = []
    skip_moving: Annotated[
        bool, Meta(description="Leave out partitions that are being reassigned or queued.")
    ] = False


class ProposedLoad(Struct):
    """What a broker holds."""

    replicas: int
    leaders: int
    bytes: int


class ProposedRange(Struct):
    """Least and most replicas of a broker for even counts."""

    least: int
    most: int


class ProposedBroker(Struct):
    """A broker before and after the plan."""

    broker: int
    rack: str | None
    live: bool
    before: ProposedLoad
    after: ProposedLoad
    gains: int
    losses: int
    wanted: ProposedRange | None


class InSyncLoss(Struct):
    """Partitions that have fewer replicas in sync after the plan than before."""

    partitions: int
    keeping_others: Annotated[int, Meta(description="Those that keep a replica that is not in sync.")]


class RackExcess(Struct):
    """Replicas against the rack rule."""

    before: int
    after: int


class TopicExcess(Struct):
    """Replicas above the even share of their topic on a broker."""

    before: int
    after: int


class LeftOut(Struct):
    """A partition that the plan does not change, and why."""

    topic: str
    partition: int
    reason: str


class ProposalForecast(Struct):
    """The forecast of the plan under the limits and the rate of when it was proposed."""

    steps: int
    waves: int
    bytes: int
    bandwidth: int
    seconds: float
    least_seconds: float
    waiting_partitions: int
    rate_origin: Annotated[RateOrigin | None, Meta(description="Where `bandwidth` is known from.")] = None
    scheduled_seconds: Annotated[
        float | None,
        Meta(
            description="The time from now on in the periods of the schedule; null if that is more than 90 days."
        ),
    ] = None


class ProposalFigures(Struct):
    """The plan in numbers."""

    partitions: Annotated[int, Meta(description="Partitions that change.")]
    moves: Annotated[int, Meta(description="Replicas to copy.")]
    bytes: int
    moves_bound: Annotated[int, Meta(description="No plan can do with fewer moves.")]
    fewest_moves_proven: bool
    bytes_bound: Annotated[int, Meta(description="No plan can do with fewer bytes.")]
    fewest_bytes_proven: bool
    leader_changes: int
    in_sync_loss: InSyncLoss
    below_min_isr: Annotated[
        int, Meta(description="Partitions with fewer replicas than min.insync.replicas.")
    ]
    rack_excess: RackExcess
    topic_excess: TopicExcess
    brokers: list[ProposedBroker]
    left_out: Annotated[list[LeftOut], Meta(description="The first 1,000 of them.")]
    left_out_partitions: int
    summary: Annotated[list[str], Meta(description="The proposal in words.")]
    forecast: ProposalForecast | None


class Proposal(Struct):
    """A proposal. Nothing moves until it is executed."""

    id: int
    state: ProposalState
    goals: Annotated[list[str], Meta(description="The goals as words: drain 7 add 31.")]
    created_ms: Annotated[int, Meta(description="Milliseconds since 1970.")]
    seconds: Annotated[float, Meta(description="Time since the request, or that it took.")]
    cluster_partitions: int
    read_partitions: Annotated[int, Meta(description="Partitions that were handed to the computation.")]
    reasons: Annotated[list[str], Meta(description="Why there is no plan.")]
    job: Annotated[int | None, Meta(description="The job that executes it.")]
    figures: ProposalFigures | None


class Proposals(Struct):
    """The kept proposals, newest first."""

    proposals: list[Proposal]
