"""The one owner of the controller's state.

Events are taken one at a time: decided, handed to the store, and, once durable, answered and carried out, in the
order of decisions. The next event is decided while the store still writes the last one, so that many share one
flush. A decision that changes nothing waits for those before it, since it may be based on them.

Whatever goes wrong here ends the driver: memory may then be ahead of the store, and only a restart from the store
makes them one again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter, time_ns
from typing import Any, NamedTuple, cast

from controller.messages.effects import BackendEffect, Effect, Wake
from controller.messages.event import AnyEvent, Event, Reply
from controller.messages.events import Continue
from controller.ports import AnyBackend, Backend, Store, StoreLostError
from controller.state.decision import Decision
from controller.state.state import State
from server.driver.event_queue import EventQueue, QueuedEvent
from server.ports import Stats

log = logging.getLogger(__name__)

Decide = Callable[[Decision, AnyEvent], Iterator[None] | None]
Note = Callable[[AnyEvent, Decision], None]

TASK = "driver"
"""Prefix of the names of the driver's tasks."""

CAPACITY = 1000
"""Events submitted and not yet answered; whoever submits one more waits."""

EFFECTS_PER_SLICE = 1000
"""Effects handed to the backend in a row before others are served."""

SLICE_SECONDS = 0.002
"""How long the driver decides small events in a row before others are served."""


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time_ns() // 1_000_000


class DriverStoppedError(Exception):
    """The event was not decided, or whether it is durable is unknown."""


class _Decided(NamedTuple):
    submission: QueuedEvent
    decision: Decision
    commit: asyncio.Future[None] | None
    since: float


class Driver:
    """Runs decisions over `state`. `on_failure` is called once, when the driver had to stop by itself.

    Of a lost store it is told without a line in the log. `now_ms` dates what is decided.
    """

    def __init__(
        self,
        state: State,
        store: Store,
        backend: AnyBackend,
        decide: Decide,
        *,
        stats: Stats,
        on_failure: Callable[[BaseException], None],
        capacity: int = CAPACITY,
        now_ms: Callable[[], int] = wall_clock,
    ) -> None:
        self._state = state
        self._store = store
        # The profile of the state determines which effects the core emits; a backend gets no others.
        self._backend = cast(Backend[BackendEffect], backend)
        self._decide = decide
        self._stats = stats
        self._on_failure = on_failure
        self._now_ms = now_ms
        self.note: Note = lambda _event, _decision: None
        """Called with each decision when it is durable and answered; to be replaced by who wants to know."""
        self._places = asyncio.Semaphore(capacity)
        self._turns = EventQueue()
        self._decided: asyncio.Queue[_Decided | None] = asyncio.Queue()
        self._unfinished = 0
        """Decisions that wait in `_decided` or for their commit; while it is 0, replies need not wait."""
        self._waiting: set[asyncio.Future[Any]] = set()
        self._stopped = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to take events."""
        self._task = asyncio.create_task(self._run(), name=TASK)

    async def stop(self) -> None:
        """Take no new events, finish those submitted, and end."""
        self._stopped = True
        self._turns.add(None)
        if self._task is not None:
            await self._task

    async def submit(self, event: Event[Reply]) -> Reply:
        """Have the event decided; return its reply once the decision is durable.

        Raises DriverStoppedError when that did not happen or cannot be known.
        """
        async with self._places:
            if self._stopped:
                raise DriverStoppedError("the controller has stopped")
            reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            self._waiting.add(reply)
            reply.add_done_callback(self._waiting.discard)
            self._turns.add(QueuedEvent(event, reply))
            self._stats.queue(len(self._turns))
            return await reply

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._decide_all(), name=f"{TASK}-decide")
                tasks.create_task(self._finish_all(), name=f"{TASK}-finish")
        except* Exception as failures:
            failure = failures.exceptions[0]
            if not isinstance(failure, StoreLostError):
                log.exception("the controller stops: its memory may be ahead of its store")
            await self._fail(failure)

    async def _decide_all(self) -> None:
        yielded = perf_counter()
        while (submission := await self._turns.take()) is not None:
            self._stats.queue(len(self._turns))
            decision = Decision(self._state, self._now_ms())
            began = perf_counter()
            await self._run_slices(decision, submission)
            now = perf_counter()
            self._stats.decision(type(submission.event).__name__, now - began)
            self._settle(decision, submission, now)
            if now - yielded > SLICE_SECONDS:
                await asyncio.sleep(0)
                yielded = perf_counter()
        self._decided.put_nowait(None)

    async def _run_slices(self, decision: Decision, submission: QueuedEvent) -> None:
        try:
            slices = self._decide(decision, submission.event)
            if slices is not None:
                for _ in slices:
                    await asyncio.sleep(0)
        except Exception as error:
            error.add_note(f"while deciding on {type(submission.event).__name__}")
            raise

    def _settle(self, decision: Decision, submission: QueuedEvent, now: float) -> None:
        if decision.changes:
            commit = asyncio.ensure_future(self._store.commit(decision.changes))
        elif self._unfinished or len(decision.effects) > EFFECTS_PER_SLICE:
            commit = None
        else:
            self._answer(decision, submission)
            self._perform(decision.effects)
            return
        self._unfinished += 1
        self._decided.put_nowait(_Decided(submission, decision, commit, now))

    async def _finish_all(self) -> None:
        while (decided := await self._decided.get()) is not None:
            decision = decided.decision
            if decided.commit is not None:
                await decided.commit
                self._stats.commit(len(decision.changes), perf_counter() - decided.since)
            self._answer(decision, decided.submission)
            self._perform(decision.effects[:EFFECTS_PER_SLICE])
            for start in range(EFFECTS_PER_SLICE, len(decision.effects), EFFECTS_PER_SLICE):
                await asyncio.sleep(0)
                self._perform(decision.effects[start : start + EFFECTS_PER_SLICE])
            self._unfinished -= 1

    def _answer(self, decision: Decision, submission: QueuedEvent) -> None:
        event, reply = submission
        if reply is not None and not reply.done():
            reply.set_result(decision.reply)
        self.note(event, decision)

    def _perform(self, effects: Sequence[Effect]) -> None:
        if effects:
            self._backend.perform([each for each in effects if not isinstance(each, Wake)])
            if any(isinstance(each, Wake) for each in effects) and not self._stopped:
                self._turns.add(QueuedEvent(Continue(), None))

    async def _fail(self, failure: BaseException) -> None:
        self._stopped = True
        for reply in [each for each in self._waiting if not each.done()]:
            reply.set_exception(DriverStoppedError("the controller has stopped"))
        self._on_failure(failure)
        unfinished = [self._decided.get_nowait() for _ in range(self._decided.qsize())]
        commits = [each.commit for each in unfinished if each is not None and each.commit is not None]
        await asyncio.gather(*commits, return_exceptions=True)
