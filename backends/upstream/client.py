"""What the rest of the backend asks the upstream through: any broker, or a given one."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from backends.client.connection import BrokerConnection
from backends.client.errors import BrokerError, InDoubtError, UnreachableError, UnsupportedError
from backends.client.handshake import Caller, open_connection
from backends.client.link import Link
from common.address import Address
from common.clock import Clock, RealClock
from common.error_codes import ErrorCode
from common.off_loop import InlineExecutor, OffLoop
from protocol.apis import ApiKey
from protocol.codec.wire import schema_of
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.metadata_request import MetadataRequest

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
READ_SECONDS = 10.0
"""After which a broker that says nothing is given up, and the next one asked: looks must not stand still for it."""
WRITE_SECONDS = 30.0
WITH_FENCED_BROKERS = 2
"""DescribeCluster from this version on tells of brokers that are registered but fenced (KIP-1073)."""

READS = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
"""What changes nothing, and so may be asked twice."""


class UpstreamBroker(NamedTuple):
    """A broker as the upstream advertises it. One that is fenced is registered, but not (yet, or any more) live."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


class UpstreamClient:
    """Our own connections to a cluster, one a broker. What it knows of the cluster is what the last `refresh` saw."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        caller: Caller | None = None,
        *,
        clock: Clock | None = None,
        off_loop: OffLoop | None = None,
    ) -> None:
        self.brokers: Mapping[int, UpstreamBroker] = {}
        self.cluster_id = ""
        self.controller_id = -1
        """Where requests to any broker go first. With KRaft that is one of the live brokers, which passes them on."""
        self._bootstrap: Sequence[Address] = tuple(bootstrap)
        self._caller = caller or Caller()
        self._clock = clock or RealClock()
        self.off_loop = off_loop or InlineExecutor()
        self._links: dict[Address, Link] = {}
        self._closed = False

    @property
    def linked(self) -> set[Address]:
        """The addresses that connections are kept for."""
        return set(self._links)

    async def refresh(self) -> None:
        """Learn the brokers, fenced ones too where the upstream tells (Kafka 4.0 and later). Raises BrokerError."""
        try:
            seen = await self.ask(
                DescribeClusterRequest(include_fenced_brokers=True), version=WITH_FENCED_BROKERS
            )
        except UnsupportedError:
            await self._refresh_by_metadata()
            return
        if seen.error_code != ErrorCode.NONE:
            controller = seen.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
            hint = "; that is a controller's port, give a broker's" if controller else ""
            raise BrokerError(f"the upstream does not describe itself: error {seen.error_code}{hint}")
        rows = [UpstreamBroker(b.broker_id, b.host, b.port, b.rack, b.is_fenced) for b in seen.brokers]
        self._learn(seen.cluster_id, seen.controller_id, rows)

    async def ask(
        self,
        request: tuple[Any, ...],
        broker: int | None = None,
        *,
        version: int | None = None,
        timeout_seconds: float | None = None,
    ) -> Any:
        """The response of that broker, or of any.

        Without a `broker`, the next one is tried when one cannot be reached, and, for READS only, when the answer did
        not come; the time counts for each try, and is READ_SECONDS or WRITE_SECONDS if not given. Raises what `BrokerConnection.ask` and `open_connection` raise: an
        InDoubtError on a write is for the caller to look into.
        """
        repeatable = schema_of(type(request)).api_key in READS
        seconds = timeout_seconds or (READ_SECONDS if repeatable else WRITE_SECONDS)
        if broker is not None:
            return await self._link_to(broker).ask(request, seconds, version)
        failure: BrokerError = UnreachableError("there is no broker to ask: the client is closed")
        for link in self._candidates():
            try:
                return await link.ask(request, seconds, version)
            except UnreachableError as error:
                failure = error
            except InDoubtError as error:
                if not repeatable:
                    raise
                failure = error
            log.debug("trying the next broker: %s", failure)
        raise failure

    async def close(self) -> None:
        """Close all connections; what is unanswered is lost."""
        self._closed = True
        links, self._links = self._links, {}
        for link in links.values():
            await link.close()

    def _link_to(self, broker: int) -> Link:
        known = self.brokers.get(broker)
        if known is None:
            raise UnreachableError(f"the upstream has no broker {broker}")
        return self._link(Address(known.host, known.port))

    def _link(self, address: Address) -> Link:
        if self._closed:
            raise UnreachableError("the client is closed")
        if address not in self._links:
            self._links[address] = Link(partial(self._connect, address), self._clock)
        return self._links[address]

    async def _connect(self, address: Address) -> BrokerConnection:
        connection = await open_connection(address, self._caller, CONNECT_SECONDS)
        connection.off_loop = self.off_loop
        return connection

    def _candidates(self) -> Iterator[Link]:
        """The controller, live brokers, fenced ones, the bootstrap servers; those that did not answer last time, last."""
        first = sorted(self.brokers.values(), key=lambda b: (b.id != self.controller_id, b.fenced, b.id))
        addresses: list[Address] = [Address(broker.host, broker.port) for broker in first]
        addresses += self._bootstrap
        # A link is made, or found, when its turn comes: the one of a moment ago may have been forgotten since.
        for address in sorted(dict.fromkeys(addresses), key=self._failing):
            yield self._link(address)

    def _failing(self, address: Address) -> bool:
        link = self._links.get(address)
        return link is not None and not link.healthy

    async def _refresh_by_metadata(self) -> None:
        seen = await self.ask(MetadataRequest(topics=()))
        rows = [UpstreamBroker(b.node_id, b.host, b.port, b.rack) for b in seen.brokers]
        self._learn(seen.cluster_id or "", seen.controller_id, rows)

    def _learn(self, cluster_id: str, controller_id: int, rows: Sequence[UpstreamBroker]) -> None:
        if not rows:
            raise UnreachableError("the upstream knows of no broker yet")
        self.cluster_id, self.controller_id = cluster_id, controller_id
        self.brokers = {row.id: row for row in rows}
        # A bootstrap address need not be one that is advertised; whether it answered is remembered all the same.
        kept = {(row.host, row.port) for row in rows}.union(self._bootstrap)
        for address in self._links.keys() - kept:
            link = self._links[address]
            link.retire()
            if link.ended:
                del self._links[address]
