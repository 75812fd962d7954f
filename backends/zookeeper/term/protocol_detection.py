"""Which inter.broker.protocol.version the brokers speak: they are asked, since ZooKeeper does not tell."""

import asyncio
import logging
from collections.abc import Callable

from backends.client.channel import Connect, ask_once, connect
from backends.zookeeper.session.tree import Tree, Znode, ZookeeperError
from backends.zookeeper.term.broker_protocol import BrokerProtocol, parse_protocol
from backends.zookeeper.term.brokers import BrokerDirectory
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, numbered
from backends.zookeeper.znodes.formats import Endpoint, Registration, decode_broker
from common.error_codes import ErrorCode
from controller.model.cluster import ResourceType
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import DescribeConfigsResponse

log = logging.getLogger(__name__)

KEY = "inter.broker.protocol.version"
VERSION = 1
RETRY_SECONDS = 0.5
ANSWER_SECONDS = 2.0
"""For a connection, and again for the answer."""
PATIENCE_SECONDS = 10.0
"""For brokers that are silent while others answer: one in a pause may speak an older version. One that has died is waited
for no longer than it is registered; nothing is led meanwhile."""
GIVE_UP_SECONDS = 30.0
"""When brokers are registered and none answers: one of them may be a better controller."""

Reach = Callable[[Registration], Endpoint]
PLAIN: Reach = BrokerDirectory().endpoint


async def detect_protocol(
    tree: Tree, own_id: int, configured: str, reach: Reach = PLAIN, connect: Connect = connect
) -> BrokerProtocol:
    """The oldest that a broker speaks, or what is configured; without topic ids unless all brokers answered.

    `reach` tells where a broker is asked. Waits until a broker is registered. Raises ZookeeperError, also when none answers.
    """
    if configured:
        return parse_protocol(configured)
    poll, now = _Poll(tree, own_id, reach, connect), asyncio.get_running_loop().time
    since = now()
    while True:
        await poll.ask()
        waited = now() - since
        if poll.told and (not poll.silent or waited >= PATIENCE_SECONDS):
            return poll.outcome()
        if not poll.missing:
            since = now()
        elif waited >= GIVE_UP_SECONDS:
            log.error(
                "no broker told its %s within %g s: %s; mend that, or set zookeeper.inter.broker.protocol.version",
                KEY, GIVE_UP_SECONDS, _listed(poll.missing),
            )  # fmt: skip
            raise ZookeeperError(f"no broker told its {KEY}")
        await asyncio.sleep(RETRY_SECONDS)


class _Poll:
    """Asks the brokers that are registered until each has told; a registration that is new is asked anew."""

    def __init__(self, tree: Tree, own_id: int, reach: Reach, connect: Connect) -> None:
        self._tree, self._own_id, self._reach, self._connect = tree, own_id, reach, connect
        self.told: dict[tuple[int, int], str] = {}
        """The version by broker and its epoch."""
        self.missing: dict[int, str] = {}
        """Why the others have not told."""
        self.silent: set[int] = set()
        """Those of them that may still answer."""
        self._logged: dict[int, str] | None = None

    async def ask(self) -> None:
        """One round. Raises ZookeeperError."""
        registered = await self._registered()
        self.told = {key: version for key, version in self.told.items() if key in registered}
        self.missing, self.silent = {}, set()
        await asyncio.gather(
            *(self._ask(key, znode) for key, znode in registered.items() if key not in self.told)
        )
        self._log()

    def outcome(self) -> BrokerProtocol:
        """What to speak by what was told. Raises ZookeeperError when that cannot be served."""
        versions = sorted(set(self.told.values()))
        log.info("the brokers speak %s %s", KEY, ", ".join(versions))
        try:
            oldest = min(map(parse_protocol, versions))
        except ValueError as error:
            raise ZookeeperError(str(error)) from error
        if self.missing and oldest.topic_ids:
            log.warning(
                "topics get no ids in this term: %s did not tell whether they know those; restart reassignd when they do",
                _listed(self.missing),
            )
        return oldest._replace(topic_ids=oldest.topic_ids and not self.missing)

    async def _registered(self) -> dict[tuple[int, int], Znode]:
        found = {}
        for name in await self._tree.children(paths.BROKERS) or []:
            broker = numbered(name)
            if broker is None or broker == self._own_id:
                continue
            znode = await self._tree.get(paths.broker(broker))
            if znode is not None:
                found[broker, znode.czxid] = znode
        return found

    async def _ask(self, key: tuple[int, int], znode: Znode) -> None:
        broker, _ = key
        try:
            self.told[key] = await _version(broker, self._reach(decode_broker(znode.data)), self._connect)
        except ZnodeError as error:
            self.missing[broker] = str(error)
        except OSError as error:
            self.missing[broker] = str(error) or type(error).__name__
            self.silent.add(broker)

    def _log(self) -> None:
        """Tell who is missing, whenever that changes."""
        if self.missing:
            if self.missing != self._logged:
                log.warning("waiting for brokers to tell their %s: %s", KEY, _listed(self.missing))
            self._logged = self.missing
        elif not self.told:
            if self._logged is None or self._logged:
                log.warning("waiting for a broker: none is registered")
            self._logged = {}


async def _version(broker: int, endpoint: Endpoint, connect: Connect) -> str:
    """What the broker says. Raises OSError when it does not."""
    request = DescribeConfigsRequest([DescribeConfigsResource(ResourceType.BROKER, str(broker), [KEY])])
    response: DescribeConfigsResponse = await ask_once(
        connect, endpoint.host, endpoint.port, request, VERSION, ANSWER_SECONDS
    )
    for result in response.results:
        if result.error_code != ErrorCode.NONE:
            raise OSError(f"it refused: error {result.error_code}, {result.error_message}")
        for row in result.configs:
            if row.name == KEY and row.value:
                return row.value
    raise OSError(f"its answer does not name {KEY}")


def _listed(reasons: dict[int, str]) -> str:
    return ", ".join(f"broker {broker} ({reasons[broker]})" for broker in sorted(reasons))
