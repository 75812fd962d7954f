"""Client of the upstream: sends a request to a given broker, or to any broker that can be reached."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from backends.client.channel import BrokerClient
from backends.client.connection import BrokerConnection, Link
from backends.client.errors import BrokerError, HeldError, InDoubtError, UnreachableError, UnsupportedError
from backends.client.handshake import ClientSettings, open_connection
from backends.upstream.outcomes import UpstreamCounters
from common.address import Address
from common.clock import Clock, RealClock
from common.error_codes import ErrorCode
from common.off_loop import InlineExecutor, OffLoop
from protocol.apis import ApiKey
from protocol.codec.schema import Request, Response
from protocol.codec.wire import schema_of
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.metadata_request import MetadataRequest

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
READ_SECONDS = 10.0
"""Timeout of a read, after which the next broker is asked. It is short, so that polls do not wait for a dead
broker."""
WRITE_SECONDS = 30.0
FENCED_BROKERS_VERSION = 2
"""First version of DescribeCluster that includes brokers that are registered but fenced (KIP-1073)."""

READS = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.METADATA,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
"""Requests that change nothing, and so may be sent twice."""


HELD_PAUSE_SECONDS = 0.05
"""Between two checks whether a write may be sent."""


class ListedBroker(NamedTuple):
    """A broker as the upstream advertises it. A fenced broker is registered, but not live."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


class UpstreamClient:
    """Connections to a cluster, one per broker.

    A request that is not among READS is sent only while `permit` returns True; else it waits for that.
    Its attributes describe the cluster as of the last `refresh`.
    """

    def __init__(
        self,
        bootstrap: Sequence[Address],
        client_settings: ClientSettings | None = None,
        *,
        clock: Clock | None = None,
        off_loop: OffLoop | None = None,
        counters: UpstreamCounters | None = None,
        permit: Callable[[], bool] = lambda: True,
    ) -> None:
        self.brokers: Mapping[int, ListedBroker] = {}
        self.cluster_id = ""
        self.controller_id = -1
        """The first candidate for requests to any broker. With KRaft it is a live broker, which forwards
        requests."""
        self._bootstrap: Sequence[Address] = tuple(bootstrap)
        self._client_settings = client_settings or ClientSettings()
        self._clock = clock or RealClock()
        self.off_loop = off_loop or InlineExecutor()
        self._counters = counters or UpstreamCounters()
        self._permit = permit
        self.writes_in_flight = 0
        """Number of requests not among READS that were sent and are not answered."""
        self._links: dict[Address, Link] = {}
        self._closed = False

    @property
    def linked(self) -> set[Address]:
        """Addresses that have a link."""
        return set(self._links)

    async def refresh(self) -> None:
        """Update the list of brokers. It has fenced brokers with Kafka 4.0 and later. Raises BrokerError."""
        try:
            response = await self.ask(
                DescribeClusterRequest(include_fenced_brokers=True), version=FENCED_BROKERS_VERSION
            )
        except UnsupportedError:
            await self._refresh_by_metadata()
            return
        if response.error_code != ErrorCode.NONE:
            controller = response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
            hint = "; this is a controller's port, use a broker's" if controller else ""
            raise BrokerError(f"the upstream refuses DescribeCluster: error {response.error_code}{hint}")
        rows = [ListedBroker(b.broker_id, b.host, b.port, b.rack, b.is_fenced) for b in response.brokers]
        self._update(response.cluster_id, response.controller_id, rows)

    async def ask(
        self,
        request: Request[Response],
        broker: int | None = None,
        *,
        version: int | None = None,
        timeout_seconds: float | None = None,
    ) -> Response:
        """Send a request and return the response of `broker`, or of any broker if that is None.

        If any broker may answer, the next one is tried when one cannot be reached and, for READS only, when
        one does not answer. The timeout is per broker; its default is READ_SECONDS or WRITE_SECONDS. Raises
        the errors of `BrokerConnection.ask` and `open_connection`. After an InDoubtError of a write, the
        caller must find out whether the upstream has carried it out.
        """
        while True:
            try:
                return await self._ask(request, broker, version, timeout_seconds)
            except UnsupportedError:
                raise  # Callers try another request then.
            except BrokerError as error:
                self._counters.failed(schema_of(type(request)).api_key or 0, error)
                raise
            except HeldError:
                self._counters.held += 1
                while not self._permit():
                    await self._clock.sleep(HELD_PAUSE_SECONDS)

    async def _ask(
        self,
        request: Request[Response],
        broker: int | None,
        version: int | None,
        timeout_seconds: float | None,
    ) -> Response:
        if schema_of(type(request)).api_key in READS:
            return await self._ask_any(request, broker, version, timeout_seconds)
        self.writes_in_flight += 1
        try:
            return await self._ask_any(request, broker, version, timeout_seconds)
        finally:
            self.writes_in_flight -= 1

    async def _ask_any(
        self,
        request: Request[Response],
        broker: int | None,
        version: int | None,
        timeout_seconds: float | None,
    ) -> Response:
        repeatable = schema_of(type(request)).api_key in READS
        seconds = timeout_seconds or (READ_SECONDS if repeatable else WRITE_SECONDS)
        if broker is not None:
            return await self._link_to(broker).ask(request, seconds, version)
        failure: BrokerError = UnreachableError("no request can be sent: the client is closed")
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
        """Close all connections. Requests in flight fail."""
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
        connection = await open_connection(address, self._client_settings, CONNECT_SECONDS)
        connection.off_loop = self.off_loop
        connection.permits = self._permits
        return connection

    def _permits(self, request: Request[NamedTuple]) -> bool:
        return schema_of(type(request)).api_key in READS or self._permit()

    def _candidates(self) -> Iterator[Link]:
        """Yield links: controller, live brokers, fenced brokers, bootstrap servers; failing links last."""
        first = sorted(self.brokers.values(), key=lambda b: (b.id != self.controller_id, b.fenced, b.id))
        addresses: list[Address] = [Address(broker.host, broker.port) for broker in first]
        addresses += self._bootstrap
        # Links are looked up one by one: `_update` may remove a link while an earlier one is in use.
        for address in sorted(dict.fromkeys(addresses), key=self._failing):
            yield self._link(address)

    def _failing(self, address: Address) -> bool:
        link = self._links.get(address)
        return link is not None and not link.healthy

    async def _refresh_by_metadata(self) -> None:
        response = await self.ask(MetadataRequest(topics=()))
        rows = [ListedBroker(b.node_id, b.host, b.port, b.rack) for b in response.brokers]
        self._update(response.cluster_id or "", response.controller_id, rows)

    def _update(self, cluster_id: str, controller_id: int, rows: Sequence[ListedBroker]) -> None:
        """Replace the list of brokers, and retire the links to other addresses."""
        if not rows:
            raise UnreachableError("the upstream lists no brokers yet")
        self.cluster_id, self.controller_id = cluster_id, controller_id
        self.brokers = {row.id: row for row in rows}
        # Links to bootstrap addresses stay, advertised or not: they remember whether the address answered.
        kept = {(row.host, row.port) for row in rows}.union(self._bootstrap)
        for address in self._links.keys() - kept:
            link = self._links[address]
            link.retire()
            if link.ended:
                del self._links[address]


class UpstreamPort(BrokerClient, Protocol):
    """Connections to the brokers of a cluster."""

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, as of the last `refresh`."""
        ...

    @property
    def brokers(self) -> Mapping[int, ListedBroker]:
        """The brokers of the last `refresh`, by id."""
        ...

    @property
    def off_loop(self) -> OffLoop:
        """The executor that converts large responses outside the event loop."""
        ...

    async def refresh(self) -> None:
        """Update `brokers`. Raises BrokerError."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
