"""ZooKeeper mode: reassignd is a candidate for controller, serves terms, and is a candidate again after each.

Each term has an assembly of its own, whose state is loaded from ZooKeeper. A term ends with the first
failure. The next controller, which may be another process, then loads the state from ZooKeeper again.
"""

import asyncio
import logging
from collections import Counter
from contextlib import AsyncExitStack

from backends.client.handshake import ClientSettings
from backends.client.security import PLAINTEXT
from backends.zookeeper.session.client import ZookeeperClient
from backends.zookeeper.session.tree import Tree, ZookeeperError
from backends.zookeeper.store.store import ElectedTerm
from backends.zookeeper.term.election import ControllerCandidate, check_permissions, resign, run_election
from backends.zookeeper.term.registered_brokers import LiveBrokers
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections, ZnodeError
from backends.zookeeper.znodes.formats import decode_cluster_id
from common.address import Address
from common.backoff import RETRY_SECONDS, Backoff
from common.clock import Clock, RealClock, wall_clock
from common.off_loop import WorkerThread
from common.tasks import cancel, spawn, spawn_lasting
from controller.ports import StoreLostError
from reassignd.config import command_config
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.version import __version__
from reassignd.config.zookeeper_security import security as zookeeper_security
from reassignd.runtime.assembly import Assembly
from reassignd.runtime.background import ProcessParts
from reassignd.runtime.listeners.zookeeper import ControllerListeners
from reassignd.runtime.runtime import HttpContent, Publish
from reassignd.runtime.served_cluster import GRACE_SECONDS, Hooks
from reassignd.runtime.storage.audit_dir import AuditDir
from reassignd.runtime.storage.retention import audit_retention
from reassignd.runtime.watchdog import Watchdog
from reassignd.runtime.zookeeper_term import ControllerCounters, ControllerTerm, TermSetup, load_term
from reassignd.tracing.setting import open_traces
from server.counters import Counters
from server.dispatch.router import refused
from server.driver.driver import DriverStoppedError
from server.gateway.services import only_named
from server.metrics.sources import Znodes
from server.zookeeper.endpoint import ActiveController, ControllerEndpoint
from server.zookeeper.interceptors import controller_interceptors

log = logging.getLogger(__name__)

HANG_SECONDS = 6.0
"""The watchdog ends a process whose event loop hangs for this time, or for the session timeout if that is
longer."""

STANDBY = HttpContent("another controller is active")


class ZookeeperRuntime:
    """Implements `Runtime` for ZooKeeper mode. `clock` measures the pauses between terms."""

    kind = "controller"

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings, self._clock = settings, clock or RealClock()
        session_timeout = settings.zookeeper_session_timeout_ms / 1000
        self._tree = ZookeeperClient(
            settings.zookeeper_connect, session_timeout, self._session_lost, zookeeper_security(settings)
        )
        self._watchdog = Watchdog(max(HANG_SECONDS, session_timeout), self._tree.abort)
        path = settings.zookeeper_command_config
        security = PLAINTEXT if path is None else command_config.load(path)
        self._client_settings = ClientSettings(software_version=__version__, security=security)
        off_loop, stats = WorkerThread(), Counters()
        self._endpoint = ControllerEndpoint()
        named_only = settings.relay_refuse_unknown_principals
        answer = only_named(self._endpoint.answer, refused) if named_only else self._endpoint.answer
        interceptors = controller_interceptors(settings.node_id, self._endpoint, answer)
        self._listeners = ControllerListeners(settings, interceptors, stats)
        rejections = Rejections()
        self._setup = TermSetup(settings, self._tree, self._client_settings, rejections)
        self._terms: Counter[str] = Counter()
        znodes = Znodes(rejections.documents, rejections.entries, self._terms)
        self._counters = ControllerCounters(self._listeners.counts, znodes)
        self._live_brokers = LiveBrokers(self._tree, settings.node_id, self._listeners.brokers_changed)
        self._backoff = Backoff()
        self._controller_changed = asyncio.Event()
        """Set when the holder of `/controller` may have changed."""
        self._term_end: asyncio.Future[BaseException] | None = None
        """The reason why the term ends; pending as long as it goes on."""
        self._tasks: list[asyncio.Task[None]] = []
        self._candidate: ControllerCandidate
        self._publish: Publish
        self._audit = _audit_dir(settings, off_loop)
        audit = None if self._audit is None else self._audit.log
        self._parts = ProcessParts(off_loop, stats, audit, traces=open_traces(settings))

    @property
    def addresses(self) -> list[Address]:
        """The first listener."""
        endpoint = self._candidate.registration.endpoints[0]
        return [Address(endpoint.host, endpoint.port)]

    @property
    def records_place(self) -> str:
        """The servers of ZooKeeper."""
        return f"ZooKeeper {self._settings.zookeeper_connect}, id {self._settings.node_id}"

    async def start(self, publish: Publish) -> None:
        """Connect to ZooKeeper, open the listeners, and become a candidate."""
        self._publish = publish
        publish(HttpContent("connecting to ZooKeeper"))
        try:
            await self._tree.start()
            await check_permissions(self._tree)
            self._claim_audit_dir(await _cluster_id(self._tree))
            registration = await self._listeners.open()
        except ZookeeperError as error:
            raise CommandError(str(error)) from error
        relieve_brokers = self._settings.zookeeper_relieve_brokers
        self._candidate = ControllerCandidate(self._settings.node_id, registration, relieve_brokers)
        publish(STANDBY)
        self._tasks = [
            spawn(self._run_elections(), "elections"),
            spawn_lasting(self._live_brokers.follow, "brokers", self._clock),
        ]
        self._watchdog.start()

    async def wait_for_failure(self) -> None:
        """Wait without end: the end of a term is no failure of the process."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """See `Runtime.stop`. The end of the session lets another controller be elected at once."""
        await self._listeners.close(GRACE_SECONDS)
        await cancel(*self._tasks)
        await self._tree.stop()
        self._watchdog.stop()

    def close(self) -> None:
        """See `Runtime.close`."""
        self._parts.close()
        if self._audit is not None:
            self._audit.close()

    def abort(self) -> None:
        """End the session, so that another controller is elected at once."""
        self._tree.abort()

    async def _run_elections(self) -> None:
        while True:
            self._controller_changed.clear()
            term = None
            try:
                term = await run_election(
                    self._tree, self._candidate, wall_clock(), self._controller_changed.set
                )
                if term is None:
                    await self._controller_changed.wait()
                    continue
                await self._run_term(term)
            except (StoreLostError, ZnodeError, DriverStoppedError) as error:
                log.warning("the term as controller has ended: %s", error)
            except Exception:
                log.exception("the term as controller has ended by an error")
            # During the pause a broker may be elected. While our terms fail, it is the better controller.
            pause = RETRY_SECONDS if term is None else self._backoff.next_pause()
            if pause > RETRY_SECONDS:
                log.error("the term failed before it served: the next election is in %g s", pause)
            await self._clock.sleep(pause)

    async def _run_term(self, term: ElectedTerm) -> None:
        """Be the controller until the term ends. Raises the reason."""
        log.info("elected controller, epoch %d", term.epoch)
        self._terms["won"] += 1
        try:
            await self._serve_term(term)
        except Exception:
            self._terms["lost"] += 1
            raise

    async def _serve_term(self, term: ElectedTerm) -> None:
        self._term_end = term_end = asyncio.get_running_loop().create_future()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._resign, term)
            context, state = await load_term(self._setup, self._candidate, term, stack, term_end)
            controller: ControllerTerm

            def build(hooks: Hooks) -> ControllerTerm:
                nonlocal controller
                controller = ControllerTerm(
                    self._settings, context, state, hooks, self._client_settings, self._counters, self._clock
                )
                return controller

            cluster_id = await _cluster_id(self._tree)
            self._claim_audit_dir(cluster_id)
            store = context.store if self._audit is None else self._audit.audited(context.store)
            assembly = Assembly(self._settings, state, store, cluster_id, build, self._parts)
            assembly.failure.add_done_callback(lambda failure: _end(term_end, failure.result().error))
            await assembly.start()
            stack.push_async_callback(assembly.stop)
            self._endpoint.active = ActiveController(
                assembly.router, controller.allocate, controller.alter_user, state
            )
            self._publish(assembly.http_content)
            stack.callback(self._hide_cluster)
            self._backoff.reset()
            raise await term_end

    def _claim_audit_dir(self, cluster_id: str) -> None:
        if self._audit is not None:
            self._audit.claim(cluster_id)

    def _hide_cluster(self) -> None:
        self._endpoint.active = None
        self._publish(STANDBY)

    async def _resign(self, term: ElectedTerm) -> None:
        try:
            await resign(self._tree, self._candidate, term)
        except ZookeeperError as error:
            log.debug("could not resign: %s", error)

    def _session_lost(self) -> None:
        if self._term_end is not None:
            _end(self._term_end, ZookeeperError("the ZooKeeper session is lost"))
        self._controller_changed.set()


def _end(term_end: asyncio.Future[BaseException], reason: BaseException) -> None:
    if not term_end.done():
        term_end.set_result(reason)


def _audit_dir(settings: Settings, off_loop: WorkerThread) -> AuditDir | None:
    if settings.audit_dir is None:
        return None
    try:
        return AuditDir(settings.audit_dir, audit_retention(settings), off_loop)
    except BaseException:
        off_loop.close()
        raise


async def _cluster_id(tree: Tree) -> str:
    znode = await tree.get(paths.CLUSTER_ID)
    return "" if znode is None else decode_cluster_id(znode.data)
