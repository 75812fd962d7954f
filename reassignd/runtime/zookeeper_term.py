"""One term as controller, in ZooKeeper mode: its state is loaded, then its cluster is served.

Preferred leaders are elected now and then, as in a Kafka with `auto.leader.rebalance.enable`.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, NamedTuple

from backends.client.channel import connector
from backends.client.handshake import ClientSettings
from backends.disk_moves.mover import ClientOfBrokers, DiskMover
from backends.load.asking import BrokerFrames
from backends.measuring.canary import Canary, by_controller
from backends.measuring.flows import FlowMeter
from backends.measuring.pace import PaceMeasurer
from backends.measuring.sizes import ReplicaSizes, StallWatch
from backends.zookeeper.admin.watcher import PlanFormat
from backends.zookeeper.session.tree import Tree, ZookeeperError, ensure
from backends.zookeeper.store.loading import load
from backends.zookeeper.store.multis import fits_topic
from backends.zookeeper.store.records import REDO, chunk_parents
from backends.zookeeper.store.shared_znodes import allocate, alter_scram_user
from backends.zookeeper.store.store import ElectedTerm, ZkStore
from backends.zookeeper.term.broker_protocol import BrokerProtocol, detect_protocol
from backends.zookeeper.term.cluster import TermContext, ZookeeperCluster
from backends.zookeeper.term.election import ControllerCandidate, while_controller
from backends.zookeeper.term.registered_brokers import BrokerDirectory, TermBrokerClient, TermCanaryClient
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections
from common.clock import Clock, wall_clock
from common.error_codes import ErrorCode
from common.tasks import cancel, spawn_lasting
from common.wording import counted
from common.zones import host_zone
from controller.messages.event import Event, Reply
from controller.messages.events import RebalanceLeaders
from controller.model.cluster import NO_ID
from controller.modes import ZOOKEEPER
from controller.ports import Submitter
from controller.state.cluster import ClusterState
from controller.state.settings import SettingsState
from controller.state.state import State
from protocol.codec.errors import ApiError
from reassignd.config.settings import Settings
from reassignd.runtime.served_cluster import UNTHROTTLED, Hooks
from server.counters import Counters, RelayCounters
from server.dispatch.router import Router
from server.driver.driver import DriverStoppedError
from server.metrics.sources import Traffic, Znodes
from server.zookeeper.authorization import Rights

log = logging.getLogger(__name__)


PARENTS = ("/config/changes", "/config/topics", "/config/brokers", "/config/users", "/admin/delete_topics")
"""Znodes that Kafka's controller creates when they are missing."""


class TermSetup(NamedTuple):
    """What the loading of each term needs."""

    settings: Settings
    tree: Tree
    client_settings: ClientSettings
    rejections: Rejections


async def load_term(
    setup: TermSetup,
    candidate: ControllerCandidate,
    term: ElectedTerm,
    stack: AsyncExitStack,
    term_end: asyncio.Future[BaseException],
) -> tuple[TermContext, State]:
    """Load the state from ZooKeeper while the brokers' protocol is detected."""
    settings, tree, client_settings, rejections = setup
    detecting = while_controller(tree, term_end, _detect_protocol(setup))
    detection = asyncio.create_task(detecting, name="protocol")
    stack.push_async_callback(cancel, detection)
    plan_format = PlanFormat(
        plain=settings.zookeeper_reassign_partitions_plain,
        children=settings.zookeeper_reassignments_children,
    )
    await ensure(tree, *chunk_parents(), REDO, *PARENTS)
    if plan_format.children:
        await ensure(tree, paths.REASSIGNMENTS)
    loaded, protocol = await load(tree, rejections, candidate.id), await detection
    store = ZkStore(tree, term, loaded, with_topic_ids=protocol.topic_ids)
    stack.push_async_callback(store.close)
    if protocol.topic_ids and (identified := loaded.assign_topic_ids(lambda: uuid.uuid4().bytes)):
        await store.commit(identified)
    refused: set[str] = set()
    cluster = ClusterState(settings.node_id, refused.__contains__, fits_topic)
    state = State(ZOOKEEPER, cluster, SettingsState(host_zone))
    state.apply(store.load())
    context = TermContext(
        tree,
        store,
        candidate,
        protocol,
        rejections,
        refused,
        settings.zookeeper_broker_listener_name,
        client_settings.security.protocol,
        plan_format,
    )
    return context, state


async def _detect_protocol(setup: TermSetup) -> BrokerProtocol:
    settings, client_settings = setup.settings, setup.client_settings
    directory = BrokerDirectory(settings.zookeeper_broker_listener_name, client_settings.security.protocol)
    configured = settings.zookeeper_inter_broker_protocol_version
    connect = connector(client_settings)
    return await detect_protocol(setup.tree, settings.node_id, configured, directory.endpoint, connect)


class ControllerCounters(NamedTuple):
    """Counters that go on from term to term."""

    relayed: RelayCounters
    znodes: Znodes


class ControllerTerm:
    """Implements `reassignd.runtime.served_cluster.ServedCluster`.

    Created when the state is loaded; `start` takes over.
    """

    brokers = None
    upstream_cluster_id = ""
    upstream = None
    authorizer = Rights()
    """Allows nothing: each request has the rights that a broker has reported for its client."""

    def __init__(
        self,
        settings: Settings,
        context: TermContext,
        state: State,
        hooks: Hooks,
        client_settings: ClientSettings,
        counters: ControllerCounters,
        clock: Clock,
    ) -> None:
        self._settings, self._context, self._state, self._clock = settings, context, state, clock
        self.relayed, self.znodes = counters
        self.backend = ZookeeperCluster(
            context,
            state,
            hooks.submit,
            partial(hooks.report_failure, "the ZooKeeper session"),
            connect=connector(client_settings),
        )
        self._client_settings = client_settings
        self._client = TermBrokerClient(state, client_settings, clock)
        self.sizes = ReplicaSizes(self._client, state, self.submit, clock)
        self._stalls = StallWatch(state, self.sizes.received)
        self._disks = DiskMover(ClientOfBrokers(self._client), state, self.submit, clock)
        canary = Canary(
            TermCanaryClient(state, client_settings, clock),
            state,
            by_controller(self.submit, self.new_topic_id),
            clock,
            wall_clock,
        )
        flows = FlowMeter(state, self.sizes)
        self._pace = PaceMeasurer(canary, flows, state, self.submit, clock)
        self._tasks: list[asyncio.Task[None]] = []

    def bandwidth(self) -> int:
        """See `ServedCluster.bandwidth`."""
        return UNTHROTTLED

    def traffic(self) -> Mapping[int, Traffic]:
        """Nothing: the brokers have metrics of their own."""
        return {}

    async def refresh(self, topics: Collection[str] | None = None) -> str:
        """See `ServedCluster.refresh`. This server is the controller: its state is that of the cluster."""
        return ""

    def load_brokers(self) -> BrokerFrames:
        """See `ServedCluster.load_brokers`."""
        return BrokerFrames(self._state, self._client_settings, self._clock)

    def new_topic_id(self) -> bytes:
        """See `ServedCluster.new_topic_id`. Topics have ids from inter-broker protocol 2.8 on."""
        return uuid.uuid4().bytes if self._context.protocol.topic_ids else NO_ID

    def serve(self, router: Router, stats: Counters) -> None:
        """Do nothing: `ControllerEndpoint` serves the router in a term, and refuses requests otherwise."""

    async def submit(self, event: Event[Reply]) -> Reply:
        """Submit the event, after the ISRs that the decision depends on were read from ZooKeeper."""
        try:
            return await self.backend.submit(event)
        except ZookeeperError as error:
            raise DriverStoppedError(str(error)) from error

    async def allocate(self, broker: int, epoch: int) -> tuple[int, int]:
        """Allocate a block of producer ids to a registered broker (KIP-730).

        Raises ApiError, ZookeeperError.
        """
        known = self._state.cluster.brokers.get(broker)
        if known is None or broker not in self._state.cluster.live or epoch != known.epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
        return await allocate(self._context.tree, self._context.store, broker)

    async def alter_user(self, user: str, changes: Mapping[str, str | None]) -> None:
        """Alter the SCRAM credentials of a user (KIP-554). Raises ApiError, ZookeeperError, ZnodeError."""
        await alter_scram_user(self._context.tree, self._context.store, user, changes)
        log.info("the logins of user %s were altered: %s", user, ", ".join(sorted(changes)))

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """Take over the cluster and start the periodic tasks of a controller.

        Raises ZookeeperError, DriverStoppedError.
        """
        await self.backend.start()
        works: dict[str, Work] = {
            "preferred-leaders": partial(rebalance_periodically, self, self._settings, self._clock),
            "sizes": self.sizes.run,
            "stalls": partial(self._stalls.run, self._clock, self.submit),
            "disk-moves": self._disks.run,
            "pace": self._pace.run,
        }
        self._tasks = [
            spawn_lasting(partial(_until_stopped, work), name, self._clock) for name, work in works.items()
        ]

    async def stop(self) -> None:
        """Stop all communication with brokers."""
        await cancel(*self._tasks)
        await self._client.close()
        await self.backend.stop()


Work = Callable[[], Coroutine[Any, Any, None]]


async def _until_stopped(work: Work) -> None:
    """Run the work. The end of the driver ends it without an error: others report that."""
    with suppress(DriverStoppedError):
        await work()


async def rebalance_periodically(controller: Submitter, settings: Settings, clock: Clock) -> None:
    """Elect preferred leaders at the configured interval, until the controller has stopped.

    Returns at once when that is not configured.
    """
    if not settings.auto_leader_rebalance_enable:
        return
    while True:
        await clock.sleep(settings.leader_imbalance_check_interval_seconds)
        try:
            elected = await controller.submit(
                RebalanceLeaders(settings.leader_imbalance_per_broker_percentage)
            )
        except DriverStoppedError:
            return
        if elected:
            log.info("elected the preferred leaders of %s", counted(elected, "partition"))
