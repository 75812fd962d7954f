"""Several instances before one cluster.

This one follows the state topic, serves terms, and follows again after each.

What lives as long as the process: the listeners, which relay also on a standby, and the connection to the
cluster. Each term has an assembly of its own (`reassignd.runtime.instances.term`). A term ends with the first
failure; the records are in the topic, so the next active instance, which may be another one, goes on from
there.
"""

import asyncio
import logging
from uuid import uuid4

from backends.client.errors import BrokerError
from backends.client.handshake import ClientSettings
from backends.client.security import Security
from backends.state_topic.candidate import ClaimedTerm
from backends.state_topic.claim import Claim
from backends.state_topic.log import FencedError, Timings, TopicReplacedError
from backends.state_topic.topic import StateTopicError
from backends.upstream.outcomes import UpstreamCounters
from common.address import Address
from common.backoff import RETRY_LATER_SECONDS, Backoff
from common.clock import BootClock, Clock, within
from common.off_loop import WorkerThread
from common.tasks import cancel, spawn, spawn_lasting
from common.wording import counted
from controller.modes import GATEWAY
from controller.ports import StoreLostError
from controller.state.state import State
from protocol.codec.errors import DecodeError
from protocol.record_batch import Producer
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.version import __version__
from reassignd.runtime.assembly import Assembly
from reassignd.runtime.background import ProcessParts
from reassignd.runtime.gateway import gateway_addresses, gateway_settings, upstream_security
from reassignd.runtime.instances.connection import InstanceConnection, TopicPorts
from reassignd.runtime.instances.following import Follower
from reassignd.runtime.instances.mirrored_audit import TopicAudit
from reassignd.runtime.instances.network import InstanceNetwork, claimed_address, http_url
from reassignd.runtime.instances.term import ActiveTerm, TermContext, TermCounters
from reassignd.runtime.listeners.sockets import limits, refused
from reassignd.runtime.presence import Presence
from reassignd.runtime.runtime import HttpContent, Publication, Publish
from reassignd.runtime.served_cluster import GRACE_SECONDS
from reassignd.runtime.storage.retention import audit_retention
from reassignd.tracing.setting import open_traces
from server.counters import Counters
from server.dispatch.router import Refusals, Refuse
from server.driver.driver import DriverStoppedError
from server.gateway.gateway import Gateway
from server.metrics.exposition import Metrics
from server.metrics.modes import INSTANCE_METRICS
from server.metrics.serving import SERVING_METRICS
from server.metrics.sources import Sources

log = logging.getLogger(__name__)


class InstancesRuntime:
    """Implements `Runtime` for `state=topic`."""

    kind = "gateway"

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings, self._clock = settings, clock or BootClock()
        self._instance = str(uuid4())
        security = upstream_security(settings)
        self._client_settings = ClientSettings(software_version=__version__, security=security)
        off_loop = WorkerThread()
        self._connection = InstanceConnection(settings, self._client_settings, self._clock, off_loop)
        self._audit = TopicAudit(self._connection, audit_retention(settings), off_loop, self._clock)
        self._presence = self._new_presence()
        self._parts = ProcessParts(
            off_loop, Counters(), self._audit.store, self._presence, open_traces(settings)
        )
        self._timings = Timings(settings.gateway_session_timeout_ms / 1000)
        self._follower = self._new_follower()
        self._ports = TopicPorts(lambda: self._follower.history)
        refuse = Refusals(self._parts.off_loop, self._parts.stats).refuse
        self._network = self._new_network(refuse)
        self._switch = self._network.switch
        self._gateway = self._new_gateway(security)
        self._counters = TermCounters(self._gateway.counts, UpstreamCounters())
        self._metrics = self._new_metrics()
        self._backoff = Backoff()
        self._active: ActiveTerm | None = None
        """The term of this instance."""
        self._known = False
        """Whether the active instance is known."""
        self._ready, self._wake = asyncio.Event(), asyncio.Event()
        self._own_address: Address
        """Where other instances reach this one."""
        self._tasks: list[asyncio.Task[None]] = []
        self._publication: Publication

    @property
    def addresses(self) -> list[Address]:
        """The bootstrap port first, then the ports by broker id."""
        return gateway_addresses(self._gateway)

    @property
    def records_place(self) -> str:
        """The topic, and who is active."""
        role = "active" if self._switch.is_active else "standby"
        return f"records in the topic {self._settings.state_topic}, {role}"

    async def start(self, publish: Publish) -> None:
        """Read the topic, open the listeners, and follow. Returns when an active instance is known."""
        self._publication = Publication(publish)
        self._publication.show(HttpContent("connecting to the upstream"))
        await self._connection.open(lambda text: self._publication.show(HttpContent(text)))
        self._publication.show(HttpContent("the state topic is being read"))
        await self._follower.read()
        try:
            await self._gateway.update(self._connection.brokers)
        except OSError as error:
            raise refused(error, self._settings.listener, "listener") from error
        self._own_address = await self._network.open()
        self._publication.show(HttpContent("no instance is active yet"))
        self._tasks = [
            spawn(self._run_terms(), "terms"),
            spawn_lasting(self._follow_brokers, "brokers", self._clock),
            spawn_lasting(self._audit.run, "audit log", self._clock),
            spawn_lasting(self._connection.watch_topic, "state topic", self._clock),
        ]
        while not await within(self._clock, RETRY_LATER_SECONDS, self._ready):
            if self._follower.unreadable is not None and not self._known:
                raise CommandError(f"the state topic cannot be read: {self._follower.unreadable}")

    async def wait_for_failure(self) -> None:
        """Wait without end: the end of a term is no failure of the process."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """See `Runtime.stop`.

        The term is released first, so a standby takes over while relayed requests end.
        """
        await cancel(*self._tasks)
        await self._gateway.close(GRACE_SECONDS)
        await self._network.close()
        await self._connection.close()

    def close(self) -> None:
        """See `Runtime.close`."""
        self._parts.close()
        self._audit.close()

    def abort(self) -> None:
        """Do nothing: a standby takes over after the session."""

    def _new_gateway(self, security: Security) -> Gateway:
        settings = self._settings
        return Gateway(
            self._switch.services,
            gateway_settings(settings, security),
            limits(settings),
            self._parts.stats,
            self._ports,
            self._parts.off_loop,
        )

    def _new_metrics(self) -> Metrics:
        """Return the metrics of a standby, which knows nothing of the cluster."""
        stats = self._parts.stats
        sources = Sources(
            __version__,
            State(mode=GATEWAY),
            stats,
            lambda: 0,
            dict,
            lambda: False,
            self._counters.relayed,
            audited=stats.audited,
            upstream=self._counters.upstream,
            instances=self._presence,
        )
        return Metrics(sources, (*SERVING_METRICS, *INSTANCE_METRICS))

    def _new_presence(self) -> Presence:
        settings = self._settings
        return Presence(
            self._instance,
            http_url(settings),
            lambda: self._follower.history,
            lambda: None if self._active is None else self._active.lease,
            self.hand_over,
        )

    def _new_follower(self) -> Follower:
        return Follower(
            self._connection,
            self._settings.state_topic,
            self._timings,
            self._clock,
            self._new_claim,
            self._read,
            lambda text: self._publication.show(HttpContent(text)),
        )

    def _new_network(self, refuse: Refuse) -> InstanceNetwork:
        connection, presence = self._connection, self._presence
        return InstanceNetwork(
            self._settings,
            self._instance,
            lambda: connection.cluster_id,
            refuse,
            self._clock,
            self._parts.off_loop,
            status=presence.status,
            on_status=presence.heard,
        )

    def hand_over(self) -> bool:
        """End the term of this instance. Returns False if it is not active.

        See `Follower.yield_term`.
        """
        if self._active is None:
            return False
        self._follower.yield_term()
        self._active.hand_over()
        return True

    async def _run_terms(self) -> None:
        while True:
            try:
                await self._run_term(await self._follower.claim_term(self._instance))
            except TopicReplacedError as error:
                await self._leave_topic(error)
            except (StoreLostError, FencedError, DriverStoppedError, StateTopicError, DecodeError) as error:
                log.warning("the term of this instance has ended: %s", error)
                if isinstance(error.__cause__, TopicReplacedError):
                    await self._leave_topic(error.__cause__)
            except Exception:
                log.exception("the term of this instance has ended by an error")
            pause = self._backoff.next_pause()
            self._follower.pause(pause)
            await self._clock.sleep(min(pause, RETRY_LATER_SECONDS))

    async def _run_term(self, term: ClaimedTerm) -> None:
        """Be the active instance until the term ends. Raises the reason."""
        log.info("this instance is active: term %d", term.claim.term)
        self._switch.nobody()
        context = TermContext(
            self._settings,
            self._parts,
            self._client_settings,
            self._counters,
            self._switch,
            self._ports,
            self._audit,
            self._presence,
            self._timings,
            self._clock,
            self._read_in_term,
        )
        self._presence.claimed(term.claim)
        self._active = ActiveTerm(
            context, self._connection.log, self._follower.history, self._follower.rows, term
        )
        try:
            await self._active.serve(self._connection.cluster_id, self._served)
        finally:
            self._active = None
            self._publication.show(self._standby)

    def _served(self, assembly: Assembly) -> None:
        self._backoff.reset()
        self._publication.show(
            assembly.http_content._replace(others=self._network.proxy, details=self._details)
        )
        self._set_known()

    @property
    def _standby(self) -> HttpContent:
        return HttpContent(
            None, metrics=self._metrics.page, others=self._network.proxy, details=self._details
        )

    def _details(self) -> str:
        """Return the lines of `/readyz` about the instances."""
        claim = self._follower.history.claim
        if self._switch.is_active:
            lapsed = ", but the lease has lapsed: the state topic does not answer"
            return f"role: active{'' if self._presence.active else lapsed}\n"
        reason = self._follower.claims_nothing
        obstacle = "" if reason is None else f"cannot become active: {reason}\n"
        if claim is None or self._switch.peer is None:
            return f"role: standby, no instance is active\n{obstacle}"
        active = f"{claim.instance} at {claim.peer}, term {claim.term}"
        return f"role: standby\nactive: {active}\nlag: {counted(self._presence.lag, 'record')}\n{obstacle}"

    def _new_claim(self, last: Claim | None, producer: Producer) -> Claim:
        return Claim(
            instance=self._instance,
            term=last.term + 1 if last else 1,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            replaces=(last.producer_id, last.producer_epoch) if last else None,
            session_ms=self._settings.gateway_session_timeout_ms,
            peer=str(self._own_address),
            url=http_url(self._settings),
            version=__version__,
        )

    def _read(self) -> None:
        """Follow the claims."""
        claim = self._follower.history.claim
        other = None if claim is None else claimed_address(claim.peer)
        if claim is None or other is None or claim.released or claim.instance == self._instance:
            self._switch.nobody()
        else:
            self._switch.forward_to(other, claim.url)
            self._presence.claimed(claim)
            if not self._known:
                self._publication.show(self._standby)
            self._set_known()
        self._read_in_term()

    def _read_in_term(self, _at_end: bool = True) -> None:
        if self._ports.changed():
            self._wake.set()

    def _set_known(self) -> None:
        self._known = True
        self._wake.set()

    async def _follow_brokers(self) -> None:
        """Open and close the ports of brokers as the upstream lists them."""
        answered = self._clock.now()
        while True:
            self._wake.clear()
            try:
                async with asyncio.timeout(self._timings.session):
                    await self._connection.client.refresh()
                answered = self._clock.now()
                self._publication.answered()
            except (BrokerError, TimeoutError) as error:
                log.debug("the brokers of the upstream are unknown: %s", error)
                if self._clock.now() - answered >= self._timings.session:
                    self._publication.cut_off(str(error) or "no answer", self._timings.session)
            await self._gateway.update(self._connection.brokers)
            if self._known and self._gateway.addresses:
                self._ready.set()
            await within(self._clock, RETRY_LATER_SECONDS, self._wake)

    async def _leave_topic(self, reason: Exception) -> None:
        """Wait until there is a topic with records again. The records in memory are kept until then."""
        log.error("%s: no instance is active; steps in flight go on in Kafka", reason)
        self._switch.nobody()
        self._publication.show(HttpContent(str(reason)))
        await self._follower.wait_for_topic()
