"""The connections of an instance to the cluster, which outlive terms: for the log, and for the list of brokers."""

from collections.abc import Callable

from backends.audit_topic.entries import audit_topic, open_audit_topic
from backends.client.errors import AuthenticationError, BrokerError
from backends.client.handshake import Caller
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.topic import StateTopicError, open_topic, watch_configs
from backends.upstream.client import UpstreamClient
from common.address import Address
from common.clock import Clock
from common.off_loop import OffLoop
from reassignd.config.config import Settings
from reassignd.errors import CommandError
from reassignd.runtime.upstream_adapter import refuse_gateway

RETRY_SECONDS = 1.0
"""Between attempts to reach the upstream, and between two requests for its brokers."""


class InstanceConnection:
    """Clients of the upstream, and the log. Its requests do not need the lease."""

    def __init__(self, settings: Settings, caller: Caller, clock: Clock, off_loop: OffLoop) -> None:
        self._settings, self._clock = settings, clock
        servers = settings.upstream_bootstrap_servers
        self._clients = [UpstreamClient(servers, caller, off_loop=off_loop) for _ in range(4)]
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
            await self._clock.sleep(RETRY_SECONDS)

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
