"""Reads the topic configs that steps and the health guard depend on (DescribeConfigs, KIP-133)."""

import logging
from collections.abc import Mapping, Sequence
from itertools import islice

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError
from common.clock import Clock
from common.error_codes import ErrorCode, error_name
from common.wording import counted, some
from controller.cluster.config_keys import TOPIC_KEYS
from controller.gateway.events import TopicConfigsSeen
from controller.model.configs import MIN_ISR, TIERED, UNCLEAN_ELECTION, ConfigSource, ResourceType
from controller.ports import SubmitEvent
from controller.schedule.periods import no_zones
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource

log = logging.getLogger(__name__)

CONFIGS = (MIN_ISR, UNCLEAN_ELECTION, TIERED)
OFTEN_SECONDS = 1.0
"""Pause between two searches for topics that have become relevant."""
SELDOM_SECONDS = 60.0
"""Age after which the configs of a topic are read again."""
TOPICS = 500
"""Topics per request. The next request reads the others."""
NAMED = 3
"""Refused topics that a log line names."""


class TopicConfigs:
    """Submits the configs of relevant topics: with reassignments, under-replicated or offline partitions."""

    def __init__(self, client: BrokerClient, state: State, submit: SubmitEvent, clock: Clock) -> None:
        self._client, self._state, self._submit, self._clock = client, state, submit, clock
        self._read_at: dict[str, float] = {}
        """Time of the last read of each relevant topic's configs."""
        self._failure = ""
        """Why the last read failed; it is tried again each second, and logged once."""
        self._refused: set[str] = set()
        """Topics whose configs were refused at the last read; each was logged once."""

    async def run(self) -> None:
        """Read the configs that are due, every OFTEN_SECONDS, until cancelled."""
        while True:
            await self.read()
            await self._clock.sleep(OFTEN_SECONDS)

    async def read(self) -> None:
        """Read the configs that are due, of at most TOPICS topics.

        After a failure the next call reads them.
        """
        state, now = self._state, self._clock.now()
        troubled = {
            key.topic for keys in (state.cluster.under_replicated, state.cluster.offline) for key in keys
        }
        relevant = state.orders.reassigning.keys() | troubled
        self._read_at = {topic: read_at for topic, read_at in self._read_at.items() if topic in relevant}
        due = (topic for topic in relevant if now - self._read_at.get(topic, float("-inf")) >= SELDOM_SECONDS)
        topics = list(islice(due, TOPICS))
        if topics:
            try:
                await self._read(topics)
            except BrokerError as error:
                if str(error) != self._failure:
                    log.info("the configs of %s cannot be read: %s", counted(len(topics), "topic"), error)
                self._failure = str(error)
            else:
                self._failure = ""
                self._read_at |= dict.fromkeys(topics, now)

    async def _read(self, topics: Sequence[str]) -> None:
        resources = [DescribeConfigsResource(ResourceType.TOPIC, topic, CONFIGS) for topic in topics]
        response = await self._client.ask(DescribeConfigsRequest(resources))
        configs_by_topic, refused = {}, {}
        for result in response.results:
            if result.error_code == ErrorCode.NONE:
                values = {c.name: c.value for c in result.configs if c.config_source != ConfigSource.DEFAULT}
                configs = {config: values.get(config) for config in CONFIGS}
                wrong = [
                    c
                    for c, value in configs.items()
                    if value is not None and TOPIC_KEYS[c].check(value, no_zones)
                ]
                if wrong:
                    refused[result.resource_name] = f"{wrong[0]} has a value that makes no sense"
                else:
                    configs_by_topic[result.resource_name] = configs
            elif result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                refused[result.resource_name] = result.error_message or error_name(result.error_code)
        self._log(topics, refused)
        if configs_by_topic:
            await self._submit(TopicConfigsSeen(configs_by_topic))

    def _log(self, topics: Sequence[str], refused: Mapping[str, str]) -> None:
        """Log which of the topics that were read are refused, until they can be read."""
        new = sorted(refused.keys() - self._refused)
        # A topic that is not relevant for a while stays known: its next problem must not log it again.
        others = {topic for topic in self._refused if topic in self._state.cluster.topics}.difference(topics)
        self._refused = others | refused.keys()
        if new:
            named = f"{counted(len(new), 'topic')} ({some(new, NAMED)})"
            log.warning("the configs of %s cannot be read: %s", named, refused[new[0]])
