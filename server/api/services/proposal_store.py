"""The proposals of a running server: computed one after the other, and kept for a while."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from common.clock import Clock, RealClock
from common.tasks import cancel, spawn
from server.api.errors import HttpError
from server.api.models.proposals import Proposal, ProposalFigures, ProposalRequest, ProposalState
from server.api.models.shared import RateOrigin

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
    reasons: list[str] = []


@dataclass(slots=True)
class Kept:
    """One proposal. `plan` and `rollback` are plans in JSON."""

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
    request: ProposalRequest = field(default_factory=ProposalRequest)
    rate_origin: RateOrigin | None = None
    """Where the rate of the forecast is known from."""
    plan: memoryview = EMPTY
    rollback: memoryview = EMPTY
    job: int | None = None
    executing: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Held until the job is known: the second of two requests to execute it is refused with its number."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def open(self) -> bool:
        """Whether it is not computed yet."""
        return self.state in {ProposalState.WAITING, ProposalState.COMPUTING}


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
        """Begin to compute. `brokers` are those to drain and to add; `lines` makes the input. Raises HttpError."""
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

    def get(self, number: int) -> Kept:
        """Return a proposal. Raises HttpError."""
        if number not in self._kept:
            raise HttpError(404, f"There is no proposal {number}; only the last {MAX_KEPT} are kept.")
        return self._kept[number]

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
        kept.figures, kept.reasons = answer.figures, answer.reasons
        if answer.figures is None:
            kept.state = ProposalState.FAILED
            return
        middle = output.find(b"\n", end + 1)
        kept.plan, kept.rollback = view[end + 1 : middle], view[middle + 1 : output.rfind(b"\n")]
        kept.state = ProposalState.READY

    def _drop_old(self) -> None:
        newest_first, size = self.newest_first(), 0
        for place, kept in enumerate(newest_first):
            size += len(kept.plan) + len(kept.rollback)
            if place and not kept.open and (place >= MAX_KEPT or size > MAX_BYTES):
                del self._kept[kept.id]
