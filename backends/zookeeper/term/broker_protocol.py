"""The brokers' inter.broker.protocol.version: what a controller needs of each, and its detection.

ZooKeeper does not contain it, so the brokers are asked (Kafka: MetadataVersion, ApiVersion).
"""

import asyncio
import logging
import re
from collections.abc import Callable
from typing import NamedTuple

from backends.broker_commands.requests import Versions
from backends.client.channel import Connect, ask_once, connect
from backends.zookeeper.session.tree import Tree, Znode, ZookeeperError
from backends.zookeeper.term.registered_brokers import BrokerDirectory
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, numbered
from backends.zookeeper.znodes.formats import Endpoint, Registration, decode_broker
from common.backoff import RETRY_SECONDS
from common.clock import Clock, RealClock
from common.error_codes import ErrorCode
from controller.model.cluster import ResourceType
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import DescribeConfigsResponse

_PATTERN = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-IV(\d+))?")
_LATEST = 99

OLDEST = "2.2"


class BrokerProtocol(NamedTuple):
    """`versions` are the versions of the controller's requests to brokers."""

    versions: Versions
    isr_by_request: bool
    """Leaders send AlterPartition to change an ISR (KIP-497), instead of writing it to ZooKeeper."""
    topic_ids: bool
    """Topics have ids (KIP-516)."""


_LEADER_AND_ISR = {(2, 2, 0): 2, (2, 4, 0): 3, (2, 4, 1): 4, (2, 8, 1): 5, (3, 2, 0): 6, (3, 4, 0): 7}
_UPDATE_METADATA = {(2, 2, 0): 5, (2, 4, 1): 6, (2, 8, 1): 7, (3, 4, 0): 8}
_STOP_REPLICA = {(2, 2, 0): 1, (2, 4, 1): 2, (2, 6, 0): 3, (3, 4, 0): 4}
_ISR_BY_REQUEST = (2, 7, 2)
_TOPIC_IDS = (2, 8, 0)


def parse_protocol(version: str) -> BrokerProtocol:
    """Parse `2.4-IV0`, `3.9` or `3.9.1`; without an IV, the release's last IV counts. Raises ValueError."""
    matched = _PATTERN.fullmatch(version.strip())
    if matched is None:
        raise ValueError(f"{version!r} is not an inter.broker.protocol.version such as 2.4-IV0 or 3.9")
    major, minor, internal = matched.groups()
    level = (int(major), int(minor), _LATEST if internal is None else int(internal))
    if level < (2, 2, 0) or level >= (4, 0, 0):
        raise ValueError(
            f"inter.broker.protocol.version {version} is not supported; supported are {OLDEST} to 3.9"
        )
    versions = Versions(
        _request_version(_LEADER_AND_ISR, level),
        _request_version(_UPDATE_METADATA, level),
        _request_version(_STOP_REPLICA, level),
    )
    return BrokerProtocol(versions, level >= _ISR_BY_REQUEST, level >= _TOPIC_IDS)


def _request_version(table: dict[tuple[int, int, int], int], level: tuple[int, int, int]) -> int:
    return next(version for since, version in reversed(table.items()) if level >= since)


log = logging.getLogger(__name__)

KEY = "inter.broker.protocol.version"
DESCRIBE_CONFIGS_VERSION = 1
REQUEST_SECONDS = 2.0
"""Timeout of the connection, and of the response."""
UNREACHABLE_SECONDS = 10.0
"""How long to wait for unreachable brokers when others have answered.

A paused broker may speak an older version than the others. The registration of a crashed broker ends in this
time. The cluster has no working controller meanwhile.
"""
GIVE_UP_SECONDS = 30.0
"""How long to wait when brokers are registered and none answers. One of them may be a better controller."""

EndpointOf = Callable[[Registration], Endpoint]
FIRST_PLAINTEXT: EndpointOf = BrokerDirectory().endpoint


async def detect_protocol(
    tree: Tree,
    own_id: int,
    configured: str,
    endpoint_of: EndpointOf = FIRST_PLAINTEXT,
    connect: Connect = connect,
    clock: Clock | None = None,
) -> BrokerProtocol:
    """Return the oldest version that a broker speaks, or the configured one.

    `endpoint_of` returns the listener to ask a broker at. Topic ids are used only if all brokers have
    answered. Waits until a broker is registered. Raises ZookeeperError, also when no broker answers.
    """
    if configured:
        return parse_protocol(configured)
    clock = clock or RealClock()
    survey = _Survey(tree, own_id, endpoint_of, connect)
    started = clock.now()
    while True:
        await survey.ask()
        waited = clock.now() - started
        if survey.versions and (not survey.unreachable or waited >= UNREACHABLE_SECONDS):
            return survey.outcome()
        if not survey.missing:
            # No broker is registered. The time starts with the first one.
            started = clock.now()
        elif waited >= GIVE_UP_SECONDS:
            log.error(
                "no broker has answered with its %s within %g s: %s; fix the reasons, or set"
                " zookeeper.inter.broker.protocol.version",
                KEY, GIVE_UP_SECONDS, _listed(survey.missing),
            )  # fmt: skip
            raise ZookeeperError(f"no broker has answered with its {KEY}")
        await clock.sleep(RETRY_SECONDS)


class _Survey:
    """Asks each registered broker until it has answered. A broker that registers again is asked again."""

    def __init__(self, tree: Tree, own_id: int, endpoint_of: EndpointOf, connect: Connect) -> None:
        self._tree, self._own_id, self._endpoint_of, self._connect = tree, own_id, endpoint_of, connect
        self.versions: dict[tuple[int, int], str] = {}
        """Versions by broker id and epoch."""
        self.missing: dict[int, str] = {}
        """Brokers without an answer, and the reasons."""
        self.unreachable: set[int] = set()
        """Those of them that may still answer."""
        self._logged: dict[int, str] | None = None

    async def ask(self) -> None:
        """Ask the brokers that have not answered. Raises ZookeeperError."""
        registered = await self._registered()
        self.versions = {key: version for key, version in self.versions.items() if key in registered}
        self.missing, self.unreachable = {}, set()
        await asyncio.gather(
            *(self._ask(key, znode) for key, znode in registered.items() if key not in self.versions)
        )
        self._log()

    def outcome(self) -> BrokerProtocol:
        """Return the oldest version. Raises ZookeeperError when it is not supported."""
        versions = sorted(set(self.versions.values()))
        log.info("the brokers speak %s %s", KEY, ", ".join(versions))
        try:
            oldest = min(map(parse_protocol, versions))
        except ValueError as error:
            raise ZookeeperError(str(error)) from error
        if self.missing and oldest.topic_ids:
            log.warning(
                "topics get no ids in this term, because brokers did not answer with their version: %s;"
                " restart reassignd when they run",
                _listed(self.missing),
            )
        return oldest._replace(topic_ids=oldest.topic_ids and not self.missing)

    async def _registered(self) -> dict[tuple[int, int], Znode]:
        """Return the registrations by broker id and epoch."""
        registered = {}
        for name in await self._tree.children(paths.BROKERS) or []:
            broker = numbered(name)
            if broker is None or broker == self._own_id:
                continue
            znode = await self._tree.get(paths.broker(broker))
            if znode is not None:
                registered[broker, znode.czxid] = znode
        return registered

    async def _ask(self, key: tuple[int, int], znode: Znode) -> None:
        broker, _ = key
        try:
            endpoint = self._endpoint_of(decode_broker(znode.data))
            self.versions[key] = await _ask_version(broker, endpoint, self._connect)
        except ZnodeError as error:
            self.missing[broker] = str(error)
        except OSError as error:
            self.missing[broker] = str(error) or type(error).__name__
            self.unreachable.add(broker)

    def _log(self) -> None:
        """Log the brokers without an answer, whenever they change."""
        if self.missing:
            if self.missing != self._logged:
                log.warning("waiting for the %s of %s", KEY, _listed(self.missing))
            self._logged = self.missing
        elif not self.versions:
            if self._logged is None or self._logged:
                log.warning("waiting for a broker: none is registered")
            self._logged = {}


async def _ask_version(broker: int, endpoint: Endpoint, connect: Connect) -> str:
    """Return the broker's inter.broker.protocol.version. Raises OSError."""
    request = DescribeConfigsRequest([DescribeConfigsResource(ResourceType.BROKER, str(broker), [KEY])])
    response: DescribeConfigsResponse = await ask_once(
        connect, endpoint.host, endpoint.port, request, DESCRIBE_CONFIGS_VERSION, REQUEST_SECONDS
    )
    for result in response.results:
        if result.error_code != ErrorCode.NONE:
            raise OSError(f"DescribeConfigs failed: error {result.error_code}, {result.error_message}")
        for row in result.configs:
            if row.name == KEY and row.value:
                return row.value
    raise OSError(f"the DescribeConfigs response does not contain {KEY}")


def _listed(reasons: dict[int, str]) -> str:
    return ", ".join(f"broker {broker} ({reasons[broker]})" for broker in sorted(reasons))
