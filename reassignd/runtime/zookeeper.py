"""The wiring for a ZooKeeper-mode cluster: candidate for controller, controller for a term, candidate again.

A term has its own state, store and driver, made of what is in ZooKeeper, and ends with the first thing that goes wrong: what
is in ZooKeeper is then taken up anew, by us or by whoever is elected.
"""

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Self

from backends.client.channel import connector
from backends.client.handshake import Caller
from backends.client.security import PLAINTEXT
from backends.zookeeper.admin.watcher import PlanFormat
from backends.zookeeper.session.client import ZookeeperClient
from backends.zookeeper.session.tree import Tree, ZookeeperError, ensure
from backends.zookeeper.store.loading import load
from backends.zookeeper.store.multis import fits_topic
from backends.zookeeper.store.record_chunks import REDO, chunk_parents
from backends.zookeeper.store.store import Term, ZkStore
from backends.zookeeper.term.backoff import Backoff
from backends.zookeeper.term.broker_protocol import BrokerProtocol
from backends.zookeeper.term.brokers import BrokerDirectory
from backends.zookeeper.term.cluster import TermContext
from backends.zookeeper.term.election import (
    Candidate,
    check_permissions,
    resign,
    run_election,
    while_controller,
)
from backends.zookeeper.term.live_brokers import LiveBrokers
from backends.zookeeper.term.protocol_detection import detect_protocol
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import decode_cluster_id
from backends.zookeeper.znodes.rejections import Rejections
from common.address import Address
from common.tasks import cancel, spawn
from common.worker_thread import WorkerThread
from controller.model.cluster import NO_ID
from controller.model.profile import ZOOKEEPER
from controller.ports import StoreLostError
from controller.state.state import State
from reassignd import __version__
from reassignd.config import command_config
from reassignd.config.config import Settings
from reassignd.config.zookeeper_security import security as zookeeper_security
from reassignd.errors import CommandError
from reassignd.runtime.controller_listeners import ControllerListeners
from reassignd.runtime.controller_term import ControllerTerm
from reassignd.runtime.watchdog import Farewell, Watchdog
from server.api.call import ApiServices
from server.api.progress import Progress
from server.dispatch.cache import BodyCache
from server.dispatch.context import Services
from server.dispatch.router import Router
from server.driver.driver import DriverStoppedError, wall_clock
from server.metrics.exposition import Metrics
from server.metrics.latency import RequestLatency
from server.metrics.sources import Sources, Znodes
from server.metrics.stats import Counters
from server.zk_controller.authorization import Rights
from server.zk_controller.endpoint import ActiveController, ControllerEndpoint
from server.zk_controller.interceptors import controller_interceptors

log = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
AGAIN_SECONDS = 0.5
"""After an election that could not be held."""

STANDSTILL_SECONDS = 6.0
"""The least time after which an event loop that does not run ends the process; a longer session time-out counts."""

STAND_BY = "another controller is in office"

NOBODY = Rights()
"""May nothing: what a broker says of whoever asks counts instead, for each request."""


class Controller:
    """Stands, rules and stands again inside `async with`. `on_core` is told who rules: None while it is not us.

    `farewell` learns how the session is given up while the event loop stands still.
    """

    def __init__(
        self,
        settings: Settings,
        on_core: Callable[[ApiServices | None, Metrics | None], None],
        farewell: Farewell | None = None,
    ) -> None:
        self._settings, self._on_core = settings, on_core
        self._tree = ZookeeperClient(
            settings.zookeeper_connect,
            settings.zookeeper_session_timeout_ms / 1000,
            self._session_lost,
            zookeeper_security(settings),
        )
        if farewell is not None:
            farewell.act = self._tree.abort
        still = max(STANDSTILL_SECONDS, settings.zookeeper_session_timeout_ms / 1000)
        self._watchdog = Watchdog(still, self._tree.abort)
        self._rejections = Rejections()
        self._terms: Counter[str] = Counter()
        self._backoff = Backoff()
        path = settings.zookeeper_command_config
        security = PLAINTEXT if path is None else command_config.load(path)
        self._caller = Caller(software_version=__version__, security=security)
        self._off_loop = WorkerThread()
        self._stats = Counters()
        self._endpoint = ControllerEndpoint()
        self._latency = RequestLatency(self._endpoint.answer)
        self._doors = ControllerListeners(
            settings,
            controller_interceptors(settings.node_id, self._endpoint, self._latency.answer),
            self._stats,
        )
        self._brokers = LiveBrokers(self._tree, settings.node_id, self._doors.brokers_changed)
        self._turned = asyncio.Event()
        """Something about the office may have changed."""
        self._ending: asyncio.Future[BaseException] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._znodes = Znodes(self._rejections.documents, self._rejections.entries, self._terms)
        self._candidate: Candidate
        self.address: Address

    async def __aenter__(self) -> Self:
        try:
            await self._tree.start()
            await check_permissions(self._tree)
            await self._listen()
        except ZookeeperError as error:
            await self._tree.stop()
            raise CommandError(str(error)) from error
        self._tasks = [spawn(self._serve(), "candidate"), spawn(self._brokers.follow(), "brokers")]
        self._watchdog.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._doors.close(GRACE_SECONDS)
        await cancel(*self._tasks)
        await self._tree.stop()
        self._watchdog.stop()
        self._off_loop.close()

    async def _listen(self) -> None:
        registration = await self._doors.open()
        first = registration.endpoints[0]
        self.address = Address(first.host, first.port)
        self._candidate = Candidate(
            self._settings.node_id,
            registration,
            self._settings.zookeeper_relieve_brokers,
        )

    # ---- terms ------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        while True:
            self._turned.clear()
            term = None
            try:
                term = await run_election(self._tree, self._candidate, wall_clock(), self._turned.set)
                if term is None:
                    await self._turned.wait()
                    continue
                await self._rule(term)
            except (StoreLostError, ZnodeError, DriverStoppedError) as error:
                log.warning("out of office: %s", error)
            except Exception:
                log.exception("out of office by an error")
            # Nobody is relieved meanwhile: while terms come to nothing, a broker is the better controller.
            pause = AGAIN_SECONDS if term is None else self._backoff.next_pause()
            if pause > AGAIN_SECONDS:
                log.error("this term came to nothing: standing again in %g s", pause)
            await asyncio.sleep(pause)

    async def _rule(self, term: Term) -> None:
        """Be the controller until something ends that."""
        log.info("elected controller, epoch %d", term.epoch)
        self._terms["won"] += 1
        try:
            await self._in_office(term)
        except Exception:
            self._terms["lost"] += 1
            raise

    async def _in_office(self, term: Term) -> None:
        self._ending = asyncio.get_running_loop().create_future()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._resign, term)
            asking = asyncio.create_task(
                while_controller(self._tree, self._ending, self._find_protocol()), name="protocol"
            )
            stack.push_async_callback(cancel, asking)
            await ensure(self._tree, *chunk_parents(), REDO, "/config/changes", "/config/topics", "/config/brokers", "/config/users",
                         "/admin/delete_topics")  # fmt: skip
            if self._form().children:
                await ensure(self._tree, paths.REASSIGNMENTS)
            loaded, protocol = (
                await load(self._tree, self._rejections, self._candidate.id),
                await asking,
            )
            store = ZkStore(self._tree, term, loaded, with_topic_ids=protocol.topic_ids)
            stack.push_async_callback(store.close)
            if protocol.topic_ids and (identified := loaded.assign_topic_ids(new_id)):
                await store.commit(identified)
            state = State(
                profile=ZOOKEEPER, fits_topic=fits_topic,
                controller_id=self._settings.node_id,
            )  # fmt: skip
            state.apply(store.load())
            office = TermContext(
                self._tree, store, self._candidate, protocol, self._rejections,
                self._settings.zookeeper_broker_listener_name,
                self._caller.security.protocol, self._form(),
            )  # fmt: skip
            rule = ControllerTerm(office, state, self._stats, self._end, self._caller)
            stack.push_async_callback(rule.stop)
            await rule.start(self._settings)
            identity = await _cluster_id(self._tree)
            await self._open_doors(stack, rule, identity, state)
            raise await self._ending

    async def _find_protocol(self) -> BrokerProtocol:
        settings = self._settings
        reach = BrokerDirectory(
            settings.zookeeper_broker_listener_name, self._caller.security.protocol
        ).endpoint
        configured = settings.zookeeper_inter_broker_protocol_version
        return await detect_protocol(self._tree, settings.node_id, configured, reach, connector(self._caller))

    def _form(self) -> PlanFormat:
        return PlanFormat(
            plain=self._settings.zookeeper_reassign_partitions_plain,
            children=self._settings.zookeeper_reassignments_children,
        )

    async def _open_doors(
        self, stack: AsyncExitStack, rule: ControllerTerm, identity: str, state: State
    ) -> None:
        """Serve, until the stack is left."""
        bodies = BodyCache(self._off_loop)
        with_ids = rule.with_topic_ids
        services = Services(
            identity, state, rule, NOBODY, self._off_loop, bodies, lambda: new_id() if with_ids else NO_ID
        )  # fmt: skip
        progress = Progress(state, rule.sizes)
        stack.push_async_callback(cancel, spawn(progress.run(), "bytes"))
        core = ApiServices(__version__, identity, state, rule, self._off_loop, rule.sizes, progress)
        sources = Sources(
            __version__,
            state,
            self._stats,
            self._latency,
            dict,
            lambda: True,
            self._doors.counts,
            self._znodes,
        )
        self._endpoint.active = ActiveController(
            Router(services, self._stats), rule.allocate, rule.alter_user, state
        )
        self._on_core(core, Metrics(sources))
        self._backoff.reset()
        stack.callback(self._close_doors)

    def _close_doors(self) -> None:
        self._endpoint.active = None
        self._on_core(None, None)

    async def _resign(self, term: Term) -> None:
        try:
            await resign(self._tree, self._candidate, term)
        except ZookeeperError as error:
            log.debug("could not resign: %s", error)

    def _end(self, reason: BaseException) -> None:
        if self._ending is not None and not self._ending.done():
            self._ending.set_result(reason)

    def _session_lost(self) -> None:
        self._end(ZookeeperError("the ZooKeeper session is lost"))
        self._turned.set()


def new_id() -> bytes:
    """A topic's."""
    return uuid.uuid4().bytes


async def _cluster_id(tree: Tree) -> str:
    znode = await tree.get(paths.CLUSTER_ID)
    return "" if znode is None else decode_cluster_id(znode.data)
