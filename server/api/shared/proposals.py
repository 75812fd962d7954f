"""The proposals of a running server: their models; computed one after the other, and kept for a while."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from common.clock import Clock, RealClock
from common.tasks import cancel, spawn
from controller.model.disks import BrokerDir
from server.api.shared.errors import HttpError
from server.api.shared.models import (
    BandwidthOrigin,
    OutpacedBrokers,
    RateOrigin,
    ScheduledSeconds,
    TieredPartitions,
)

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


class Moment(Enum):
    """Which rates count."""

    BUSY = "busy"
    MEAN = "mean"
    NOW = "now"


class Minimized(Enum):
    """What a plan has least of."""

    MOVES = "moves"
    BYTES = "bytes"


class Spread(Enum):
    """Whether replicas move for an even cluster only, or also for even topics."""

    CLUSTER = "cluster"
    TOPIC = "topic"


class ChosenPartition(Struct, forbid_unknown_fields=True):
    """A partition that may change."""

    topic: str
    partition: Annotated[int, Meta(ge=0, le=2**31 - 1)]


class TopicFactor(Struct, forbid_unknown_fields=True):
    """A replication factor of topics."""

    factor: Annotated[int, Meta(ge=1, le=2**15 - 1)]
    topics: Annotated[str, Meta(description="Regular expression of their whole names.")]


class NamedDir(Struct, forbid_unknown_fields=True):
    """A log directory of a broker."""

    broker: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    dir: Annotated[str, Meta(min_length=1, description="Its path.")]


def dirs_of(named: Iterable[NamedDir]) -> list[BrokerDir]:
    """Return the directories that a request names."""
    return [BrokerDir(each.broker, each.dir) for each in named]


class DiskRequest(Struct, forbid_unknown_fields=True):
    """Moves between the log directories of a broker."""

    brokers: Annotated[
        Ids, Meta(description="Brokers whose directories are evened out; all brokers, if it is empty.")
    ] = []
    empty: Annotated[
        list[NamedDir],
        Meta(max_length=1000, description="Instead: directories that must hold no replica."),
    ] = []


class ProposalRequest(Struct, forbid_unknown_fields=True):
    """A goal: one or several of drain, demote, relieve, add, balance, rf, racks, repair and leaders, or disks alone, with the options of `reassignd propose`."""  # noqa: E501 (part of the OpenAPI document)

    drain: Annotated[Ids, Meta(description="Brokers that must hold no replica.")] = []
    demote: Annotated[
        Ids, Meta(description="Brokers that lead nothing where another replica can; no data moves.")
    ] = []
    relieve: Annotated[
        Ids,
        Meta(description="Brokers whose disks are too full, or loads of `by` too high: they give to others."),
    ] = []
    relieve_to: (
        Annotated[
            str,
            Meta(
                description="How full relieved brokers may be; 75% by default, unless `by` is given. With"
                " `empty` of `disks`: how full the other directories may get; 80% by default."
            ),
        ]
        | None
    ) = None
    relieve_over: (
        Annotated[
            str,
            Meta(description="Relieve all brokers that are fuller than the first level: 85%:75%."),
        ]
        | None
    ) = None
    allow_partial: Annotated[
        bool,
        Meta(
            description="Accept a plan after which relieved brokers, or loads of `by`, are still too high, or"
            " directories to be emptied still hold what fits nowhere."
        ),
    ] = False
    add: Annotated[Ids, Meta(description="New brokers; replicas are evened out.")] = []
    balance: Annotated[bool, Meta(description="Even out replicas and preferred leaders.")] = False
    rf: Annotated[int, Meta(ge=1, le=2**15 - 1)] | None = None
    factors: Annotated[
        list[TopicFactor],
        Meta(max_length=100, description="Instead of `rf`: a replication factor for some topics each."),
    ] = []
    racks: Annotated[bool, Meta(description="Obey the rack rule.")] = False
    repair: Annotated[
        bool, Meta(description="Replace the replicas that are lost, and nothing else; without other goals.")
    ] = False
    leaders: Annotated[bool, Meta(description="Even out preferred leaders; no data moves.")] = False
    disks: (
        Annotated[
            DiskRequest,
            Meta(description="Even out the log directories of brokers, or empty some. Without other goals."),
        ]
        | None
    ) = None
    to: Annotated[
        Ids,
        Meta(
            description="Brokers that may hold the chosen topics: their replicas on others move here. Needs "
            "`topics` or `partitions`."
        ),
    ] = []
    partitions: Annotated[
        list[ChosenPartition],
        Meta(max_length=1000, description="Only these may change; all of the topics, if it is empty."),
    ] = []
    topics: Annotated[str, Meta(description="Regular expression of the topics that may change.")] | None = (
        None
    )
    exclude_topics: str | None = None
    exclude_brokers: Annotated[Ids, Meta(description="Brokers that get no new replicas.")] = []
    tolerance: Annotated[str, Meta(description="Allowed deviation from even counts, such as 5%.")] | None = (
        None
    )
    preferred_leaders: LeaderGoal | None = None
    by: (
        Annotated[
            str,
            Meta(
                description="What `add` and `balance` even out: `replicas`, `bytes`, `in`, `out`,"
                " `leaders-in` and `cpu`, separated by commas. `both` is `replicas,bytes`, `load` is"
                " `bytes,in,out`. For other goals: of what no broker may get too much. With `relieve`, but"
                " neither `relieve_to` nor `relieve_over`: what is too much."
            ),
        ]
        | None
    ) = None
    tolerance_of: Annotated[
        list[str], Meta(description="Allowed deviation from the fair share of a load, such as `in=10%`.")
    ] = []
    at: Moment | None = None
    allow_unknown: Annotated[
        bool,
        Meta(
            description="Count rates that are not known as 0. With `disks`: take directories of unknown size"
            " as equally large, with room for all."
        ),
    ] = False
    byte_tolerance: Annotated[str, Meta(description="Allowed deviation from even bytes.")] | None = None
    minimize: Minimized | None = None
    spread: Spread | None = None
    max_moves: Annotated[int, Meta(ge=0)] | None = None
    max_bytes: Annotated[str, Meta(description="Most bytes to copy, such as 500GiB.")] | None = None
    headroom: Annotated[str, Meta(description="Share of a disk that stays free.")] | None = None
    strict_racks: bool = False
    strict_sizes: Annotated[
        bool, Meta(description="Refuse a cluster of which the size of a replica is not known.")
    ] = False
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


class CarriedLoad(Struct):
    """What a broker carries of a load before and after the plan, and what it should."""

    broker: int
    before: int
    after: int
    least: int
    most: int
    share: Annotated[float, Meta(description="The fair share.")]
    reason: Annotated[str, Meta(description="Why it stays outside of its range.")] | None


class BeforeAndAfter(Struct):
    """Parts of a fair share."""

    before: float
    after: float


class BalancedLoad(Struct):
    """A load that the goal evens out by name, in replicas, bytes, or bytes per second."""

    load: str
    highest: BeforeAndAfter
    lowest: BeforeAndAfter
    wanted: Annotated[float, Meta(description="The largest part of a fair share within the tolerance.")]
    brokers: list[CarriedLoad]


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
    rate_origin: BandwidthOrigin = None
    tiered_partitions: TieredPartitions = 0
    outpaced_brokers: OutpacedBrokers = 0
    scheduled_seconds: ScheduledSeconds = None


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
    elections: Annotated[
        int, Meta(description="Partitions that keep their list: only the preferred leader is to be elected.")
    ]
    in_sync_loss: InSyncLoss
    below_min_isr: Annotated[
        int, Meta(description="Partitions with fewer replicas than min.insync.replicas.")
    ]
    bytes_estimate: Annotated[
        int, Meta(description="The least bytes for even loads if replicas could be divided; 0: not known.")
    ]
    loads: list[BalancedLoad]
    rack_excess: RackExcess
    topic_excess: TopicExcess
    brokers: list[ProposedBroker]
    left_out: Annotated[list[LeftOut], Meta(description="The first 1,000 of them.")]
    left_out_partitions: int
    summary: Annotated[list[str], Meta(description="The proposal in words.")]
    forecast: ProposalForecast | None
    elects: Annotated[
        bool, Meta(description="Whether the job of the plan elects the preferred leaders of its partitions.")
    ] = False


class DiskMove(Struct):
    """A replica that moves to another log directory of its broker."""

    topic: str
    partition: int
    broker: int
    source: str
    target: str
    bytes: int


class DiskMoves(Struct):
    """Moves between log directories."""

    moves: list[DiskMove]


class ProposedDir(Struct):
    """A log directory before and after the moves, in bytes of its volume."""

    broker: int
    path: str
    total: Annotated[int | None, Meta(description="Null if the broker does not report it.")]
    before: Annotated[int | None, Meta(description="What is used, also by other files.")]
    after: int | None
    replicas_before: int
    replicas_after: int
    gains: int
    losses: int
    least: Annotated[int | None, Meta(description="What should be used at least; null if that is open.")]
    most: Annotated[int | None, Meta(description="What should be used at most; null if that is open.")]
    cordoned: bool


class LeftReplica(Struct):
    """A replica that stays in its directory, and why."""

    topic: str
    partition: int
    broker: int
    reason: str


class DiskForecast(Struct):
    """How long the moves take: as long as those of the broker that needs longest."""

    bandwidth: Annotated[int, Meta(description="Bytes per second of each broker.")]
    seconds: float
    rate_origin: BandwidthOrigin = None
    scheduled_seconds: ScheduledSeconds = None


class DiskFigures(Struct):
    """Moves between log directories in numbers."""

    moves: Annotated[int, Meta(description="Replicas that move.")]
    bytes: int
    bytes_bound: Annotated[
        int, Meta(description="Nothing that comes as near to the goal copies fewer bytes.")
    ]
    fewest_bytes_proven: bool
    dirs: list[ProposedDir]
    left_out: Annotated[list[LeftReplica], Meta(description="The first 1,000 of them.")]
    left_out_replicas: int
    short: Annotated[list[str], Meta(description="What is not reached, and why.")]
    notes: list[str]
    summary: Annotated[list[str], Meta(description="The proposal in words.")]
    forecast: DiskForecast | None = None


class ProposedPlacement(Struct):
    """The brokers and log directories that the execution of a proposal excludes or allows."""

    exclude: Annotated[Ids, Meta(description="Brokers that are excluded: they get no new partitions.")]
    allow: Annotated[Ids, Meta(description="Excluded brokers that get new partitions again.")]
    exclude_dirs: Annotated[
        list[NamedDir], Meta(description="Log directories that are excluded: they get no new replicas.")
    ]


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
    disks: Annotated[DiskFigures | None, Meta(description="Instead of figures, if the goal is `disks`.")] = (
        None
    )
    placement: Annotated[
        ProposedPlacement | None,
        Meta(description="What its execution excludes or allows at this moment; null if nothing."),
    ] = None


class Proposals(Struct):
    """The kept proposals, newest first."""

    proposals: list[Proposal]


MAX_OPEN = 4
"""Most proposals that are being computed or wait for it."""
MAX_KEPT = 16
"""Most proposals that are kept. The oldest one is dropped first."""
MAX_BYTES = 256 * 1024 * 1024
"""Most bytes of kept plans; the newest proposal is kept in any case."""

EMPTY = memoryview(b"")

Compute = Callable[[AsyncIterable[bytes]], Awaitable[bytes]]
"""Computes a proposal: from the request and the snapshot to the lines of the answer. Raises Exception."""


class _Answer(msgspec.Struct):
    """The first line of an answer."""

    figures: ProposalFigures | None = None
    disks: DiskFigures | None = None
    reasons: list[str] = []


@dataclass(slots=True)
class Kept:
    """One proposal. `plan` and `rollback` are plans in JSON, `moves` those of `disks`."""

    id: int
    goals: Sequence[str]
    drain: frozenset[int]
    add: frozenset[int]
    partitions: int
    created_ms: int
    began: float
    state: ProposalState = ProposalState.WAITING
    read: int = 0
    ended: float | None = None
    reasons: Sequence[str] = ()
    figures: ProposalFigures | None = None
    disks: DiskFigures | None = None
    request: ProposalRequest = field(default_factory=ProposalRequest)
    rate_origin: RateOrigin | None = None
    """Where the rate of the forecast is known from."""
    plan: memoryview = EMPTY
    rollback: memoryview = EMPTY
    moves: memoryview = EMPTY
    unsized: set[tuple[str, int]] | None = None
    """Partitions whose sizes are not known, if they are to be noted. The plan counts them as 0 bytes."""
    asked: str = ""
    """What dry run of Cruise Control's API has shown it, if one has (`controller.model.tasks.DryRun`)."""
    job: int | None = None
    executing: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Held until the job is known: the second of two requests to execute it is refused with its number."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def open(self) -> bool:
        """Whether it is not computed yet."""
        return self.state in {ProposalState.WAITING, ProposalState.COMPUTING}

    @property
    def emptied(self) -> "Sequence[NamedDir]":
        """The log directories that it empties, or that are empty already: nothing new is placed there."""
        return () if self.request.disks is None else self.request.disks.empty

    @property
    def places(self) -> bool:
        """Whether it says where new replicas are placed, even if it moves nothing."""
        return bool(self.drain or self.add or self.emptied)

    @property
    def changes_anything(self) -> bool:
        """Whether its plan moves or elects something; false without a plan."""
        if self.disks is not None:
            return self.disks.moves > 0
        return self.figures is not None and self.figures.partitions > 0


class ProposalStore:
    """Computes and keeps proposals. `obstacle` returns why none can be computed, or None."""

    def __init__(
        self,
        compute: Compute,
        obstacle: Callable[[], str | None],
        wall_clock: Callable[[], int],
        clock: Clock | None = None,
        bandwidth: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._compute, self._obstacle, self._wall_clock = compute, obstacle, wall_clock
        self._clock = clock or RealClock()
        self.bandwidth = bandwidth
        """Bytes per second of a broker without a throttle, for forecasts; None if it is not known."""
        self._kept: dict[int, Kept] = {}
        # A number of before a restart must not name another proposal. Numbers in paths have at most 9 digits.
        self._last = wall_clock() // 1000 % 10**9
        self._turn = asyncio.Semaphore(1)

    def start(
        self,
        goals: Sequence[str],
        brokers: tuple[frozenset[int], frozenset[int]],
        partitions: int,
        lines: Callable[[Kept], AsyncIterable[bytes]],
    ) -> Kept:
        """Begin to compute.

        `brokers` are those to drain and to add; `lines` makes the input. Raises HttpError.
        """
        if (obstacle := self._obstacle()) is not None:
            raise HttpError(501, obstacle)
        if sum(each.open for each in self._kept.values()) >= MAX_OPEN:
            raise HttpError(429, f"{MAX_OPEN} proposals are being computed: wait for one, or cancel it.")
        self._last += 1
        kept = Kept(self._last, goals, *brokers, partitions, self._wall_clock(), self._clock.now())
        self._kept[kept.id] = kept
        kept.task = spawn(self._run(kept, lines), f"proposal {kept.id}")
        self._drop_old()
        return kept

    def restore(self, kept: Kept) -> None:
        """Keep a proposal that was computed before a restart, unless another one has its number now."""
        self._kept.setdefault(kept.id, kept)
        self._drop_old()

    def get(self, number: int) -> Kept:
        """Return a proposal. Raises HttpError."""
        if number not in self._kept:
            raise HttpError(404, f"There is no proposal {number}; only the last {MAX_KEPT} are kept.")
        return self._kept[number]

    def __contains__(self, number: int) -> bool:
        """Return whether the proposal is kept."""
        return number in self._kept

    def newest_first(self) -> list[Kept]:
        """Return all proposals."""
        return [self._kept[number] for number in sorted(self._kept, reverse=True)]

    async def delete(self, number: int) -> None:
        """Forget a proposal; one that is being computed is cancelled. Raises HttpError."""
        kept = self.get(number)
        del self._kept[number]
        if kept.task is not None:
            await cancel(kept.task)

    async def close(self) -> None:
        """Cancel all computations."""
        await cancel(*(each.task for each in self._kept.values() if each.task is not None))

    def shown(self, kept: Kept) -> Proposal:
        """Return the proposal as the API shows it."""
        ended = self._clock.now() if kept.ended is None else kept.ended
        return Proposal(
            id=kept.id,
            state=kept.state,
            goals=list(kept.goals),
            created_ms=kept.created_ms,
            seconds=round(ended - kept.began, 3),
            cluster_partitions=kept.partitions,
            read_partitions=kept.read,
            reasons=list(kept.reasons),
            job=kept.job,
            figures=kept.figures,
            disks=kept.disks,
        )

    async def _run(self, kept: Kept, lines: Callable[[Kept], AsyncIterable[bytes]]) -> None:
        async with self._turn:
            kept.state = ProposalState.COMPUTING
            try:
                self._finish(kept, await self._compute(lines(kept)))
            except Exception as error:  # noqa: BLE001 - whatever failed is shown as the reason
                kept.state, kept.reasons = ProposalState.FAILED, [f"the computation failed: {error}"]
            finally:
                kept.ended = self._clock.now()
        self._drop_old()

    @staticmethod
    def _finish(kept: Kept, output: bytes) -> None:
        # Views, since copies of large plans would hold the event loop.
        view, end = memoryview(output), output.find(b"\n")
        answer = msgspec.json.decode(view[:end] if end >= 0 else view, type=_Answer)
        kept.figures, kept.disks, kept.reasons = answer.figures, answer.disks, answer.reasons
        if answer.figures is None and answer.disks is None:
            kept.state = ProposalState.FAILED
            return
        middle = output.find(b"\n", end + 1)
        last = output.find(b"\n", middle + 1)
        kept.plan, kept.rollback = view[end + 1 : middle], view[middle + 1 : last]
        kept.moves = view[last + 1 : output.rfind(b"\n")]
        kept.state = ProposalState.READY

    def _drop_old(self) -> None:
        newest_first, size = self.newest_first(), 0
        for place, kept in enumerate(newest_first):
            size += len(kept.plan) + len(kept.rollback) + len(kept.moves)
            if place and not kept.open and (place >= MAX_KEPT or size > MAX_BYTES):
                del self._kept[kept.id]
