"""One term as controller of a ZooKeeper-mode cluster: its driver, its brokers, and what is known of their data."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from backends.client.channel import connector
from backends.client.handshake import Caller
from backends.measuring.sizes import ReplicaSizes
from backends.measuring.stalls import StallWatch
from backends.zookeeper.session.tree import ZookeeperError
from backends.zookeeper.term.broker_client import TermBrokerClient
from backends.zookeeper.term.cluster import TermContext, ZookeeperCluster
from backends.zookeeper.znodes import scram_users
from backends.zookeeper.znodes.producer_ids import allocate
from common.clock import RealClock
from common.error_codes import ErrorCode
from common.tasks import cancel, spawn
from controller.machine import decide
from controller.messages.event import Event, Reply
from controller.state.state import State
from protocol.errors import ApiError
from reassignd.config.config import Settings
from reassignd.runtime.rebalance import rebalance_for_ever
from reassignd.runtime.retention import Retention, prune_for_ever
from server.driver.driver import Driver, DriverStoppedError, wall_clock
from server.driver.journal import Journal, report_for_ever
from server.metrics.stats import Counters

log = logging.getLogger(__name__)


class ControllerTerm:
    """Made when the state is loaded; `start` takes over. `on_end` is told once why the term is over, unless it is stopped."""

    def __init__(
        self,
        office: TermContext,
        state: State,
        stats: Counters,
        on_end: Callable[[BaseException], None],
        caller: Caller,
    ) -> None:
        self._office, self._state, self._clock = office, state, RealClock()
        self.cluster = ZookeeperCluster(office, state, self._decide, on_end, connect=connector(caller))
        self.driver = Driver(state, office.store, self.cluster, decide, stats=stats, on_failure=on_end)
        self.driver.note = Journal(state).note
        self.with_topic_ids = office.protocol.topic_ids
        self._asker = TermBrokerClient(state, caller, self._clock)
        self.sizes = ReplicaSizes(self._asker, state, self.submit, self._clock)
        self._stalls = StallWatch(state, self.sizes.received)
        self._chores: list[asyncio.Task[None]] = []

    async def submit(self, event: Event[Reply]) -> Reply:
        """Have the controller decide; return its reply once that is durable. Raises DriverStoppedError."""
        try:
            return await self.cluster.submit(event)
        except ZookeeperError as error:
            raise DriverStoppedError(str(error)) from error

    async def _decide(self, event: Event[Reply]) -> Reply:
        return await self.driver.submit(event)

    async def allocate(self, broker: int, epoch: int) -> tuple[int, int]:
        """Producer ids for a broker that is registered. Raises ApiError, ZookeeperError."""
        known = self._state.brokers.get(broker)
        if known is None or broker not in self._state.live or epoch != known.epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
        return await allocate(self._office.tree, self._office.store, broker)

    async def alter_user(self, user: str, changes: Mapping[str, str | None]) -> None:
        """A user's logins by SCRAM. Raises ApiError, ZookeeperError, ZnodeError."""
        await scram_users.alter(self._office.tree, self._office.store, user, changes)
        log.info("the logins of user %s were altered: %s", user, ", ".join(sorted(changes)))

    async def start(self, settings: Settings) -> None:
        """Take over, and do what is to be done now and then. Raises ZookeeperError, DriverStoppedError."""
        self.driver.start()
        await self.cluster.start()
        retention = Retention(
            settings.jobs_retention_ms, settings.jobs_retention_count, settings.jobs_retention_partitions
        )
        work = {
            "pruning": prune_for_ever(self.driver, retention, wall_clock),
            "progress": report_for_ever(self._state),
            "preferred-leaders": rebalance_for_ever(self, settings),
            "sizes": self.sizes.run(),
            "stalls": self._stalls.run(self._clock, self.submit),
        }
        self._chores = [spawn(_until_stopped(each), name) for name, each in work.items()]

    async def stop(self) -> None:
        """Ask and tell brokers no more, then finish what was submitted."""
        await cancel(*self._chores)
        await self._asker.close()
        await self.cluster.stop()
        await self.driver.stop()


async def _until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """The end of the driver, of which others tell, is the end of the work."""
    with suppress(DriverStoppedError):
        await work
