"""What steps and the health guard go by of topics' configs: DescribeConfigs (KIP-133), for topics that it matters for."""

import logging
from collections.abc import Sequence
from itertools import islice

from backends.client.asker import BrokerClient
from backends.client.errors import BrokerError
from common.clock import Clock
from common.error_codes import ErrorCode
from controller.configs.names import MIN_ISR, UNCLEAN_ELECTION
from controller.messages.upstream_events import TopicConfigsSeen
from controller.model.configs import ConfigSource, ResourceType
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource

log = logging.getLogger(__name__)

CONFIGS = (MIN_ISR, UNCLEAN_ELECTION)
OFTEN_SECONDS = 1.0
"""Between two looks for topics that matter now and did not before."""
SELDOM_SECONDS = 60.0
"""After which a topic is asked for again."""
TOPICS = 500
"""Topics asked for in one request; the others have their turn in the next one."""


class TopicConfigs:
    """Tells the core about topics with reassignments, and those with partitions in trouble. `submit` gives it events."""

    def __init__(self, client: BrokerClient, state: State, submit: SubmitEvent, clock: Clock) -> None:
        self._client, self._state, self._submit, self._clock = client, state, submit, clock
        self._asked: dict[str, float] = {}
        """When, by topic that matters."""

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await self._clock.sleep(OFTEN_SECONDS)

    async def look(self) -> None:
        """Ask for what is due, a bounded number; when that fails, the next look does."""
        state, now = self._state, self._clock.now()
        troubled = {key.topic for keys in (state.under_replicated, state.offline) for key in keys}
        matter = state.reassigning.keys() | troubled
        self._asked = {topic: at for topic, at in self._asked.items() if topic in matter}
        due = (topic for topic in matter if now - self._asked.get(topic, float("-inf")) >= SELDOM_SECONDS)
        topics = list(islice(due, TOPICS))
        if topics:
            try:
                await self._ask(topics)
            except BrokerError as error:
                log.info("the configs of %d topics cannot be read: %s", len(topics), error)
            else:
                self._asked |= dict.fromkeys(topics, now)

    async def _ask(self, topics: Sequence[str]) -> None:
        resources = [DescribeConfigsResource(ResourceType.TOPIC, topic, CONFIGS) for topic in topics]
        response = await self._client.ask(DescribeConfigsRequest(resources))
        seen = {}
        for result in response.results:
            if result.error_code == ErrorCode.NONE:
                set_ = {c.name: c.value for c in result.configs if c.config_source != ConfigSource.DEFAULT}
                seen[result.resource_name] = {config: set_.get(config) for config in CONFIGS}
            elif result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                log.warning(
                    "the configs of topic %s cannot be read: %s", result.resource_name, result.error_message
                )
        if seen:
            await self._submit(TopicConfigsSeen(seen))
