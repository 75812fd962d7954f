"""The connections of an instance to the cluster, which outlive terms, and the brokers' ports.

The connections are for the log, and for the list of brokers. The positions are in a row of the state topic.
Each instance uses a position after it has read it from the topic, also the active one, which assigns it. So a
port leads to the same broker at all instances.
"""

from collections.abc import Callable, Mapping

from backends.audit_topic.entries import audit_topic, open_audit_topic
from backends.client.errors import AuthenticationError, BrokerError
from backends.client.handshake import ClientSettings
from backends.state_topic.history import History
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.state_rows import PORTS_KEY, encode_ports, read_ports
from backends.state_topic.topic import StateTopicError, open_topic, watch_configs
from backends.upstream.client import UpstreamClient
from common.address import Address
from common.backoff import RETRY_LATER_SECONDS
from common.clock import Clock
from common.off_loop import OffLoop
from protocol.codec.errors import DecodeError
from protocol.record_batch import BatchRecord
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.runtime.gateway import refuse_gateway
from server.gateway.port_assignments import Claim, Holders, PortAssignmentError, PortPendingError, assign

Write = Callable[[BatchRecord], None]
"""Writes the row in the term of this instance."""


class TopicPorts:
    """Implements `server.gateway.port_assignments.Ports` for the rows of `history`."""

    def __init__(self, history: Callable[[], History]) -> None:
        self._history = history
        self._row: bytes | None = None
        self._positions: Mapping[int, int] = {}
        self._damage = ""
        """Why the row cannot be read; empty if it can."""
        self._written: Mapping[int, int] | None = None
        """The positions that this instance has written last in its term; the row may not have been read
        yet."""
        self._write: Write | None = None
        self._holders: Holders = tuple

    def begin_term(self, write: Write, holders: Holders) -> None:
        """Assign positions by `write` from now on, those of brokers that are gone and hold nothing again."""
        self._write, self._written, self._holders = write, None, holders

    def end_term(self) -> None:
        """Only read positions from now on."""
        self._write = None

    def changed(self) -> bool:
        """Read the row; tell whether it has changed since the last call."""
        row = self._history().rows.get(PORTS_KEY)
        if row == self._row:
            return False
        self._row = row
        try:
            self._positions, self._damage = read_ports(self._history().rows), ""
        except DecodeError as error:
            self._damage = str(error)
        return True

    async def position(self, claim: Claim) -> int:
        """See `Ports.position`.

        An active instance assigns a missing position; it is valid when it has been read.
        """
        self.changed()
        if self._damage:
            raise PortAssignmentError(self._damage)
        if self._positions.get(claim.broker, claim.limit + 1) <= claim.limit:
            return self._positions[claim.broker]
        if self._write is not None:
            known = self._positions if self._written is None else self._written
            if known.get(claim.broker, claim.limit + 1) > claim.limit:
                self._written = assign(known, claim, self._holders)
                self._write(encode_ports(self._written))
        raise PortPendingError


class InstanceConnection:
    """Clients of the upstream, and the log. Its requests do not need the lease."""

    def __init__(
        self, settings: Settings, client_settings: ClientSettings, clock: Clock, off_loop: OffLoop
    ) -> None:
        self._settings, self._clock = settings, clock
        servers = settings.upstream_bootstrap_servers
        self._clients = [UpstreamClient(servers, client_settings, off_loop=off_loop) for _ in range(4)]
        self.client, self._writes, self._reads, self._audit_reads = self._clients
        self.renew_log()

    def renew_log(self) -> None:
        """Use the topic that has the configured name now."""
        self.log = KafkaStateLog(self._settings.state_topic, self._writes, self._reads)

    def audit_log(self) -> KafkaStateLog:
        """Return the audit topic that has the configured name now."""
        return KafkaStateLog(audit_topic(self._settings.state_topic), self.client, self._audit_reads)

    @property
    def cluster_id(self) -> str:
        """The id of the upstream; empty before `open`."""
        return self.client.cluster_id

    @property
    def brokers(self) -> dict[int, Address]:
        """The address of each broker in the upstream."""
        return {broker.id: Address(broker.host, broker.port) for broker in self.client.brokers.values()}

    async def open(self, show_obstacle: Callable[[str], None]) -> None:
        """Return when the upstream answers and the topic exists. Raises CommandError if it cannot be used."""
        while True:
            try:
                await self.client.refresh()
                await refuse_gateway(self.client)
                await self.open_topic()
                return
            except (AuthenticationError, StateTopicError) as error:
                raise CommandError(str(error)) from error
            except BrokerError as error:
                show_obstacle(f"waiting for the upstream: {error}")
            await self._clock.sleep(RETRY_LATER_SECONDS)

    async def open_topic(self) -> None:
        """Check the topic; create it if it does not exist. Raises StateTopicError and BrokerError."""
        settings = self._settings
        await open_topic(self.client, settings.state_topic, settings.state_topic_replication_factor)

    async def watch_topic(self) -> None:
        """Log a line when the topic becomes unsafe, until cancelled."""
        await watch_configs(self.client, self._settings.state_topic, self._clock)

    async def open_audit_topic(self) -> None:
        """Create the audit topic if it does not exist. Raises StateTopicError and BrokerError."""
        settings = self._settings
        await open_audit_topic(
            self.client,
            settings.state_topic,
            settings.state_topic_replication_factor,
            settings.audit_retention_ms,
        )

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.close()
