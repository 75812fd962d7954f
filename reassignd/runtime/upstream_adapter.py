"""What the cluster adapters of the gateway share: the backend of the upstream, and the submission of orders."""

import uuid
from collections.abc import Callable, Collection, Mapping
from functools import partial

from backends.client.errors import BrokerError
from backends.client.handshake import Caller
from backends.upstream.backend import OnBrokers, UpstreamBackend, ignore_brokers
from backends.upstream.client import UpstreamClient
from backends.upstream.rows import UpstreamCounters
from controller.messages.event import Event, Reply
from controller.messages.events import AlterReassignments
from controller.messages.job_events import Queue, RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigSource
from controller.model.profile import GATEWAY
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from reassignd.config.config import Settings
from reassignd.errors import CommandError
from reassignd.runtime.adapter import UNTHROTTLED, Hooks
from server.dispatch.authorizer import AllowAll
from server.dispatch.router import Router
from server.gateway.own_configs import LocalConfigs
from server.gateway.services import GatewayServices
from server.metrics.sources import Traffic, Znodes


class UpstreamAdapter:
    """Base class of the adapters; a subclass has the listeners. `permit` tells whether writes may be sent now."""

    brokers = None
    znodes = Znodes()

    def __init__(
        self,
        settings: Settings,
        state: State,
        hooks: Hooks,
        caller: Caller,
        *,
        on_brokers: OnBrokers = ignore_brokers,
        permit: Callable[[], bool] = lambda: True,
        counters: UpstreamCounters | None = None,
    ) -> None:
        state.profile = GATEWAY
        self._settings, self._state, self._hooks = settings, state, hooks
        self.authorizer = AllowAll()
        servers = settings.upstream_bootstrap_servers
        self.upstream = counters or UpstreamCounters()
        self._client = UpstreamClient(
            servers, caller, off_loop=hooks.off_loop, counters=self.upstream, permit=permit
        )
        self.backend = UpstreamBackend(
            self._client,
            state,
            hooks.submit,
            on_brokers=on_brokers,
            on_failure=partial(hooks.report_failure, "the connection to the upstream"),
            counters=self.upstream,
        )
        # Connections of their own: on shared ones the canary's requests would wait for the answers of polls.
        self.backend.measure_pace(UpstreamClient(servers, caller, permit=permit))
        self.sizes = self.backend.sizes

    @property
    def upstream_cluster_id(self) -> str:
        """See `ClusterAdapter.upstream_cluster_id`."""
        return self._client.cluster_id

    def bandwidth(self) -> int:
        """See `ClusterAdapter.bandwidth`."""
        return UNTHROTTLED

    def traffic(self) -> Mapping[int, Traffic]:
        """Nothing: the brokers have metrics of their own."""
        return {}

    def new_topic_id(self) -> bytes:
        """See `ClusterAdapter.new_topic_id`."""
        return uuid.uuid4().bytes

    def services(self, router: Router) -> GatewayServices:
        """Return the functions that answer the gateway's clients."""
        return GatewayServices(router.answer, router.refuse, LocalConfigs(self._state, self.submit))

    async def look(self, topics: Collection[str] | None = None) -> str:
        """See `ClusterAdapter.look`."""
        if topics is not None:
            await self.backend.refresh_topics(topics)
            return ""
        try:
            await self.backend.look()
        except BrokerError as error:
            return f"Kafka cannot be asked: {error}"
        return ""

    async def submit(self, event: Event[Reply]) -> Reply:
        """Submit the event; for an order, after the replicas of its topics were read from the upstream."""
        if isinstance(event, AlterReassignments | Queue):
            await self.backend.refresh_topics(topic for topic, _ in event.topics or ())
        elif isinstance(event, RollBackJob):
            await self.backend.refresh_topics(key.topic for key in self._state.finished.get(event.job, ()))
        return await self._hooks.submit(event)


async def refuse_gateway(client: UpstreamClient) -> None:
    """Raise CommandError if the upstream is a gateway of reassignd.

    A gateway lists unset keys of reassignd on the brokers' default, as defaults. Kafka lists only keys that were set there.
    """
    resource = DescribeConfigsResource(ResourceType.BROKER, CLUSTER_DEFAULT, None)
    response = await client.ask(DescribeConfigsRequest([resource]))
    sources = {config.config_source for row in response.results for config in row.configs}
    if ConfigSource.DEFAULT in sources:
        raise CommandError(
            "bootstrap server: that is a gateway of reassignd; give Kafka's own brokers as --bootstrap-server"
        )
