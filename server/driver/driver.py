"""The driver: the only owner of the controller's state. Before it, the queue of its events and its alarm.

It takes one event at a time: it decides the event, hands the records to the store and, once they are durable,
answers the submitter and carries out the effects. Answers and effects keep the order of the decisions. The
driver decides the next event while the store still writes the records of the last one, so that many decisions
share a disk flush. A decision without records waits for the commits before it, because it may be based on
records that are not durable yet.

Events are first in, first out, except that background work lets other events pass. The alarm submits an event
at a time of the wall clock.

Any failure here ends the driver: the state in memory may then be ahead of the store, and only a restart from
the store makes them equal again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from time import perf_counter, time_ns
from typing import Any, NamedTuple, cast

from common.garbage_collector import gc_paused
from common.tasks import wait_while
from controller.messages.effects import Effect
from controller.messages.event import AnyEvent, Event, Reply
from controller.messages.events import Continue, PeriodChanged
from controller.ports import AnyBackend, Backend, Store, StoreLostError
from controller.state.state import Decision, State
from server.counters import Counters

log = logging.getLogger(__name__)

ROUNDS_BEFORE_BACKGROUND = 6
"""Iterations of the event loop that the queue waits before it returns background work.

A reply that is ready needs some of them to reach the socket. asyncio has neither priorities nor a callback
for an idle loop, and a timer would slow down long plans, so the queue counts iterations."""

PASSES = 100
"""Events that pass background work although they were submitted later. More would let it starve."""

PATIENCE_SECONDS = 0.5
"""How long background work waits for a busy worker thread. The list of a million partitions takes about a
second without it, and several times as long beside it."""


class QueuedEvent(NamedTuple):
    """An event and the future of its reply; None if nobody waits for one."""

    event: AnyEvent
    reply: asyncio.Future[Any] | None
    """Of the type that the event declares (`Event[Reply]`), which `Driver.submit` and `Decision.answer`
    check."""


class EventQueue:
    """The events that wait for their decision. None marks the end of the queue."""

    def __init__(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        self.is_busy = is_busy
        """Whether requests need the interpreter lock in another thread."""
        self._events: asyncio.PriorityQueue[tuple[int, QueuedEvent | None]] = asyncio.PriorityQueue()
        """(position, event), the smallest position first; positions are unique."""
        self._last = 0

    def __len__(self) -> int:
        return self._events.qsize()

    def add(self, queued: QueuedEvent | None) -> None:
        """Add an event at the end; background work behind the next `PASSES` events too."""
        # Positions of other events are even, those of background work odd: so no two are equal.
        self._last += 2
        background = queued is not None and isinstance(queued.event, Continue)
        self._events.put_nowait((self._last + (2 * PASSES + 1 if background else 0), queued))

    async def take(self) -> QueuedEvent | None:
        """Wait for the next event and remove it.

        An event that arrives meanwhile still passes background work.
        """
        position, queued = await self._events.get()
        if queued is not None and isinstance(queued.event, Continue):
            await self.let_replies_pass(lambda: self._events.empty() and self.is_busy())
            self._events.put_nowait((position, queued))
            _, queued = self._events.get_nowait()
        return queued

    async def let_replies_pass(self, is_busy: Callable[[], bool] | None = None) -> None:
        """Wait until replies that are ready have left, and `is_busy` or the queue's own is False."""
        for _ in range(ROUNDS_BEFORE_BACKGROUND):
            await asyncio.sleep(0)
        await wait_while(is_busy or self.is_busy, PATIENCE_SECONDS)


MAX_SECONDS = 60.0
"""Longest sleep. The wall clock can be set, and a machine can be suspended; a timer notices neither."""


class Alarm:
    """Calls `notify` once, at the time that was set last."""

    def __init__(self, now_ms: Callable[[], int], notify: Callable[[], None]) -> None:
        self._now_ms, self._notify = now_ms, notify
        self._at_ms = 0
        self._timer: asyncio.TimerHandle | None = None

    def set(self, at_ms: int) -> None:
        """Set the time, in milliseconds since 1970. It replaces an earlier one."""
        self.cancel()
        self._at_ms = at_ms
        self._sleep()

    def cancel(self) -> None:
        """Set no time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sleep(self) -> None:
        left = (self._at_ms - self._now_ms()) / 1000
        if left > 0:
            sleep = min(left, MAX_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(sleep, self._sleep)
        else:
            self._timer = None
            self._notify()


Decide = Callable[[Decision, AnyEvent], Iterator[None] | None]
OnDecision = Callable[[AnyEvent, Decision], None]
"""Called with each decision when it is durable and answered."""

TASK = "driver"
"""Prefix of the names of the driver's tasks."""

CAPACITY = 1000
"""Events that may be submitted and not yet answered. Further submitters wait."""

EFFECTS_PER_SLICE = 1000
"""Effects handed to the backend before other tasks run."""

SLICE_SECONDS = 0.002
"""How long the driver decides small events before other tasks run."""


class DriverStoppedError(Exception):
    """The event was not decided, or it is unknown whether its decision is durable."""


class _Decided(NamedTuple):
    queued: QueuedEvent
    decision: Decision
    commit: asyncio.Future[None] | None
    """None if the decision has no records."""
    since: float
    """When the records were handed to the store, in seconds."""
    large: bool
    """See `Driver.is_busy`."""


class Driver:
    """Decides events with `decide` and owns `state`.

    The driver calls `on_failure` once if it stops by itself; it logs the failure, unless the store was lost.
    `now_ns` gives the time of decisions in nanoseconds since 1970. It adds to the counters of decisions and
    commits in `stats` itself.
    """

    def __init__(
        self,
        state: State,
        store: Store,
        decide: Decide,
        *,
        stats: Counters,
        on_failure: Callable[[BaseException], None],
        on_decision: OnDecision = lambda _event, _decision: None,
        capacity: int = CAPACITY,
        now_ns: Callable[[], int] = time_ns,
    ) -> None:
        self._state = state
        self._store = store
        self._decide = decide
        self._stats = stats
        self._on_failure = on_failure
        self._now_ns = now_ns
        self._on_decision = on_decision
        self._capacity = asyncio.Semaphore(capacity)
        self._queue = EventQueue()
        self._alarm = Alarm(
            lambda: now_ns() // 1_000_000, lambda: self._queue.add(QueuedEvent(PeriodChanged(), None))
        )
        self._undelivered: asyncio.Queue[_Decided | None] = asyncio.Queue()
        self._unanswered = 0
        """Decisions that are not answered yet; while it is 0, a decision without records is answered at once.
        """
        self._large = 0
        """Decisions that `is_busy` is about."""
        self._replies: set[asyncio.Future[Any]] = set()
        """Of all events. `submit` makes each one for the type of reply that its event declares."""
        self._stopped = False
        self._task: asyncio.Task[None] | None = None
        self._backend: Backend[Effect]

    @property
    def queue_length(self) -> int:
        """Number of events that wait for their decision."""
        return len(self._queue)

    @property
    def is_busy(self) -> bool:
        """Whether a decision with several slices is being made, or is not answered yet."""
        return self._large > 0

    def start(self, backend: AnyBackend, is_busy: Callable[[], bool] = lambda: False) -> None:
        """Start to take events; `backend` carries out the effects.

        While `is_busy`, background work and the effects of large decisions wait
        (`EventQueue.let_replies_pass`).
        """
        self._queue.is_busy = is_busy
        # The mode of the state determines which effects the controller emits; a backend gets no others.
        self._backend = cast(Backend[Effect], backend)
        self._task = asyncio.create_task(self._run(), name=TASK)

    async def stop(self) -> None:
        """Accept no more events, complete those that were submitted, and end."""
        self._stopped = True
        self._alarm.cancel()
        self._queue.add(None)
        if self._task is not None:
            await self._task

    async def submit(self, event: Event[Reply]) -> Reply:
        """Decide the event and return its reply once the decision is durable.

        Raises DriverStoppedError if that did not happen, or if it is unknown.
        """
        async with self._capacity:
            if self._stopped:
                raise DriverStoppedError("the controller has stopped")
            reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            self._replies.add(reply)
            reply.add_done_callback(self._replies.discard)
            self._queue.add(QueuedEvent(event, reply))
            return await reply

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._decide_events(), name=f"{TASK}-decide")
                tasks.create_task(self._deliver_decisions(), name=f"{TASK}-finish")
        except* Exception as failures:
            failure = failures.exceptions[0]
            if not isinstance(failure, StoreLostError):
                log.exception("the controller stops: its state may be ahead of the store")
            await self._fail(failure)

    async def _decide_events(self) -> None:
        stats, yielded = self._stats, perf_counter()
        while (queued := await self._queue.take()) is not None:
            decision = Decision(self._state, self._now_ns() // 1_000_000)
            began, kind = perf_counter(), type(queued.event).__name__
            large = False
            try:
                slices = self._decide(decision, queued.event) or iter(())
                for _ in slices:
                    large = True
                    await self._decide_rest(decision, slices)
            except Exception as error:
                error.add_note(f"while deciding on {kind}")
                raise
            now = perf_counter()
            stats.decisions[kind] += 1
            stats.decision_seconds[kind] += now - began
            # A decision without records waits too if others do: it may be based on records that are not
            # durable yet, and answers and effects keep the order of the decisions.
            if decision.changes or self._unanswered or len(decision.effects) > EFFECTS_PER_SLICE:
                changes = decision.changes
                commit = asyncio.ensure_future(self._store.commit(changes)) if changes else None
                self._unanswered += 1
                self._undelivered.put_nowait(_Decided(queued, decision, commit, now, large))
            else:  # It depends on no commit.
                self._large -= large
                self._deliver(queued, decision)
            if now - yielded > SLICE_SECONDS:
                await asyncio.sleep(0)
                yielded = perf_counter()
        self._undelivered.put_nowait(None)

    async def _decide_rest(self, decision: Decision, slices: Iterator[None]) -> None:
        """Decide what follows the first slice. Other tasks run between two slices.

        Most of what a large decision makes is kept: to search it for garbage would take a quarter of its
        time.
        """
        self._large += 1
        with gc_paused:
            for _ in chain((None,), slices):
                self._store.prepare(decision.changes)
                await asyncio.sleep(0)

    async def _deliver_decisions(self) -> None:
        stats = self._stats
        while (decided := await self._undelivered.get()) is not None:
            queued, decision, commit, since, large = decided
            if commit is not None:
                await commit
                stats.commits += 1
                stats.committed_changes += len(decision.changes)
                stats.commit_seconds += perf_counter() - since
            self._large -= large
            self._deliver(queued, decision)
            if len(decision.effects) > EFFECTS_PER_SLICE:
                await self._perform_in_slices(decision.effects)
            self._unanswered -= 1

    async def _perform_in_slices(self, effects: Sequence[Effect]) -> None:
        """Carry out the effects when the answer has left.

        Its encoding would take twice the time beside them.
        """
        await self._queue.let_replies_pass()
        for start in range(0, len(effects), EFFECTS_PER_SLICE):
            self._backend.perform(effects[start : start + EFFECTS_PER_SLICE])
            await asyncio.sleep(0)

    def _deliver(self, queued: QueuedEvent, decision: Decision) -> None:
        """Answer the submitter and hand the effects to the backend, if one slice is enough."""
        event, reply = queued
        if reply is not None and not reply.done():
            reply.set_result(decision.reply)
        self._on_decision(event, decision)
        if 0 < len(decision.effects) <= EFFECTS_PER_SLICE:
            self._backend.perform(decision.effects)
        if self._stopped:
            return
        if decision.more:
            self._queue.add(QueuedEvent(Continue(), None))
        if decision.wake_at_ms is not None:
            self._alarm.set(decision.wake_at_ms)

    async def _fail(self, failure: BaseException) -> None:
        self._stopped = True
        self._alarm.cancel()
        for reply in [reply for reply in self._replies if not reply.done()]:
            reply.set_exception(DriverStoppedError("the controller has stopped"))
        self._on_failure(failure)
        # Await commits that nobody awaits any more: asyncio would log their errors as never retrieved.
        undelivered = [self._undelivered.get_nowait() for _ in range(self._undelivered.qsize())]
        commits = [decided.commit for decided in undelivered if decided is not None]
        await asyncio.gather(*filter(None, commits), return_exceptions=True)
