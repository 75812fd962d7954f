"""One term of this instance as the active one: from the claim to the first failure, or to a clean stop.

The records are read from the history that the standby has followed, into a state and an assembly of its own.
The listeners outlive the term.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from backends.client.errors import AuthenticationError
from backends.client.handshake import ClientSettings
from backends.state_topic.candidate import ClaimedTerm, read_during_term
from backends.state_topic.claim import Lease, StepPermit
from backends.state_topic.history import DecodedRows, History
from backends.state_topic.log import StateLog, Timings
from backends.state_topic.state_rows import Meta, read_meta
from backends.state_topic.writer import StateTopicStore, TermWriter
from backends.upstream.outcomes import UpstreamCounters
from backends.upstream.own_records import OwnRecords
from common.clock import Clock, wall_clock
from common.garbage_collector import gc_paused
from common.tasks import cancel
from common.zones import host_zone
from controller.cluster.brokers import holders
from controller.gateway.steps import name_suspects
from controller.modes import GATEWAY
from controller.ports import Store, StoreLostError
from controller.state.settings import SettingsState
from controller.state.state import State
from protocol.record_batch import BatchRecord
from reassignd.config.settings import Settings
from reassignd.runtime.assembly import Assembly
from reassignd.runtime.background import ProcessParts
from reassignd.runtime.gateway import ServedUpstream
from reassignd.runtime.instances.connection import TopicPorts
from reassignd.runtime.instances.mirrored_audit import TopicAudit
from reassignd.runtime.presence import Presence
from reassignd.runtime.served_cluster import Hooks
from reassignd.runtime.storage.identity import new_id
from server.counters import Counters, RelayCounters
from server.dispatch.router import Router
from server.instances.switch import Switch


class TermCounters(NamedTuple):
    """Counters that go on from term to term."""

    relayed: RelayCounters
    upstream: UpstreamCounters


class ServedTerm(ServedUpstream):
    """Implements `reassignd.runtime.served_cluster.ServedCluster`.

    `permit` tells whether steps may be sent now.
    """

    def __init__(
        self,
        settings: Settings,
        state: State,
        hooks: Hooks,
        client_settings: ClientSettings,
        permit: Callable[[], bool],
        counters: TermCounters,
    ) -> None:
        super().__init__(settings, state, hooks, client_settings, permit=permit, counters=counters.upstream)
        self.relayed = counters.relayed

    def serve(self, router: Router, stats: Counters) -> None:
        """Do nothing: the runtime switches the gateway to this term when it has started."""

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """Return when the upstream was polled. Raises StoreLostError if the login is refused."""
        try:
            await self.backend.start(show_obstacle)
        except AuthenticationError as error:
            raise StoreLostError(str(error)) from error

    @property
    def writes_in_flight(self) -> int:
        """Number of writes that the upstream has not answered."""
        return self._client.writes_in_flight

    async def stop(self) -> None:
        """See `ServedCluster.stop`."""
        await self.backend.stop()


log = logging.getLogger(__name__)

RECORDS_PER_SLICE = 2_000
"""Records that are put into the state before other tasks run."""

DRAIN_SECONDS = 1.0
"""How long a clean stop waits for answers of the upstream."""

RELEASE_SECONDS = 1.5
"""How long a clean stop waits until the released claim is written."""


class TermContext(NamedTuple):
    """What all terms of an instance share."""

    settings: Settings
    parts: ProcessParts
    client_settings: ClientSettings
    counters: TermCounters
    switch: Switch
    ports: TopicPorts
    audit: TopicAudit
    presence: Presence
    timings: Timings
    clock: Clock
    on_read: Callable[[bool], None]
    """See `backends.state_topic.candidate.Candidate`."""


class ActiveTerm:
    """A term that `log` has accepted. `history` was read to its claim; `rows` are its decoded rows."""

    def __init__(
        self, context: TermContext, log: StateLog, history: History, rows: DecodedRows, term: ClaimedTerm
    ) -> None:
        self._context, self._log, self._history, self._rows = context, log, history, rows
        self.lease = Lease(context.clock, context.timings.lease)
        self.lease.renew(term.claimed)
        self._permit = StepPermit(self.lease, context.clock, term.steps_from)
        self._writer = TermWriter(
            log,
            term,
            self.lease,
            context.timings,
            context.clock,
            history.repairs_after,
            context.presence.writes,
        )
        self._end: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        """The reason why the term ends; pending as long as it goes on."""

    async def serve(self, cluster_id: str, on_serving: Callable[[Assembly], None]) -> NoReturn:
        """Serve until the term ends, and raise the reason. `cluster_id` is that of the upstream.

        When cancelled or failed, the claim is released, unless another instance has claimed the term.
        """
        async with AsyncExitStack() as stack:
            writing = self._spawn(self._writer.run(), "state-topic-writer")
            stack.push_async_callback(self._release, writing)
            await self._until_end(self._start(stack, cluster_id, on_serving))
            raise await self._end

    def hand_over(self) -> None:
        """End the term: release it for another instance."""
        self._ended(StoreLostError("it was handed over"))

    async def _start(
        self, stack: AsyncExitStack, cluster_id: str, on_serving: Callable[[Assembly], None]
    ) -> None:
        context = self._context
        meta = read_meta(self._history.rows, context.settings.state_topic, cluster_id)
        if meta is None:
            meta = Meta(cluster_id=new_id(), upstream_cluster_id=cluster_id)
            await self._writer.commit([meta.encode()])
        store, state = await self._load()
        reading = read_during_term(self._log, self._history, context.clock, context.on_read)
        stack.push_async_callback(cancel, self._spawn(reading, "state-topic-reader"))
        outbox = await context.audit.begin_term(store, self._history.rows)
        stack.push_async_callback(cancel, self._spawn(outbox.run(), "audit-outbox"))
        context.ports.begin_term(self._write, partial(holders, state))
        stack.callback(context.ports.end_term)
        stack.callback(self._keep_late_rows, state)
        assembly, served = self._assembly(state, outbox, meta.cluster_id)
        await assembly.start()
        stack.push_async_callback(assembly.stop)
        stack.push_async_callback(self._drain, served)
        stack.callback(context.switch.nobody)
        context.switch.serve_here(served.services(assembly.router), self.lease)
        on_serving(assembly)

    async def _load(self) -> tuple[StateTopicStore, State]:
        """Return the store and the state after all records. Raises DecodeError."""
        state = State(GATEWAY, settings=SettingsState(host_zone))
        with gc_paused:
            rows, records = await self._rows.take()
            while loaded := list(islice(records, RECORDS_PER_SLICE)):
                state.load(loaded)
                await asyncio.sleep(0)
        name_suspects(state, wall_clock())
        return StateTopicStore(self._history, self._writer, rows), state

    def _assembly(self, state: State, store: Store, cluster_id: str) -> tuple[Assembly, ServedTerm]:
        context = self._context
        served: ServedTerm

        def build(hooks: Hooks) -> ServedTerm:
            nonlocal served
            served = ServedTerm(
                context.settings, state, hooks, context.client_settings, self._permit, context.counters
            )
            return served

        assembly = Assembly(
            context.settings, state, OwnRecords(store), cluster_id, build, context.parts, clock=context.clock
        )
        assembly.failure.add_done_callback(lambda failure: self._ended(failure.result().error))
        return assembly, served

    def _keep_late_rows(self, state: State) -> None:
        self._context.presence.earlier_late_rows += state.gateway.late_rows

    def _write(self, row: BatchRecord) -> None:
        """Write a row that nobody waits for. A failure ends the term anyway."""
        self._writer.commit([row]).add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _drain(self, served: ServedTerm) -> None:
        """Send no more steps, and wait for answers: what is answered is no suspect of the next term."""
        self._permit.end()
        until = self._context.clock.now() + DRAIN_SECONDS
        while served.writes_in_flight and self.lease.valid and self._context.clock.now() < until:
            await self._context.clock.sleep(0.02)

    async def _release(self, writing: asyncio.Task[None]) -> None:
        """Write what waits and the released claim; give up after RELEASE_SECONDS."""
        self._writer.close(release=True)
        await asyncio.wait([writing], timeout=RELEASE_SECONDS)
        if not writing.done():
            log.warning("the term could not be released: a standby takes over after the session")
        self.lease.end()
        await cancel(writing)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a task whose failure ends the term."""

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                self._ended(error)

        task = asyncio.create_task(work, name=name)
        task.add_done_callback(ended)
        return task

    def _ended(self, reason: BaseException) -> None:
        if not self._end.done():
            self._end.set_result(reason)

    async def _until_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work; raise the reason if the term ends before."""
        task = asyncio.create_task(work, name="start of the term")
        try:
            either: list[asyncio.Future[Any]] = [task, self._end]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                await cancel(task)
        if self._end.done():
            if not task.cancelled() and task.exception() is None:
                log.debug("the term ended as it began")
            raise self._end.result()
        task.result()
