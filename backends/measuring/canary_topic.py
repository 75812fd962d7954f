"""The topic of the canary: one partition for each broker, with replicas on the next two brokers.

Moving replicas share fetchers with those in sync: with three replicas, as most topics have, the canary sees more of them.
It is created when pace is switched on, unless it exists. Its records are of no use, so they are kept for minutes only.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from backends.client.errors import BrokerError
from backends.client.ports import BrokerClient
from common.error_codes import ErrorCode, error_name
from controller.messages.events import CreateTopics, NewTopic
from controller.model.cluster import Replicas
from controller.ports import SubmitEvent
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

SETTINGS = {
    "cleanup.policy": "delete",
    "min.insync.replicas": "1",
    "retention.bytes": "1048576",
    "retention.ms": "600000",
    "segment.bytes": "1048576",
}
"""Configs of the new topic. A segment of 1 MiB is the smallest that Kafka 4 permits."""
REPLICAS = 3
"""At most. If all brokers had a replica of all partitions, it would not show which one is slow."""
CREATE_MS = 30_000
REFUSED = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})

CreateCanary = Callable[[str, Sequence[int]], Awaitable[str]]
"""Creates the topic for these brokers. Returns why it could not be created, in one line; empty if it exists now."""


def assignments(brokers: Sequence[int]) -> Mapping[int, Replicas]:
    """Return the replicas of each partition: partition i is led by the broker at position i."""
    ring = sorted(brokers)
    count = min(REPLICAS, max(2, len(ring) - 1), len(ring))
    return {
        index: tuple(ring[(index + step) % len(ring)] for step in range(count)) for index in range(len(ring))
    }


def at_upstream(client: BrokerClient) -> CreateCanary:
    """Return how the topic is created in a running Kafka."""

    async def create(name: str, brokers: Sequence[int]) -> str:
        rows = [CreatableReplicaAssignment(index, each) for index, each in assignments(brokers).items()]
        configs = [CreatableTopicConfig(config, value) for config, value in SETTINGS.items()]
        request = CreateTopicsRequest([CreatableTopic(name, -1, -1, rows, configs)], CREATE_MS)
        try:
            (row,) = (await client.ask(request)).topics
        except BrokerError as error:
            return f"the canary topic {name} cannot be created: {error}"
        return problem(name, row.error_code, row.error_message)

    return create


def by_controller(submit: SubmitEvent, new_id: Callable[[], bytes]) -> CreateCanary:
    """Return how the topic is created where reassignd is the controller."""

    async def create(name: str, brokers: Sequence[int]) -> str:
        topic = NewTopic(name, new_id(), assignments=assignments(brokers), configs=SETTINGS)
        (row,) = await submit(CreateTopics([topic]))
        return problem(name, row.outcome.error, row.outcome.message)

    return create


def problem(name: str, code: int, message: str | None) -> str:
    """Return why the topic cannot be used, and what to do."""
    if code in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}:
        return ""
    if code in REFUSED:
        return f"the canary topic {name} is refused: grant CREATE and WRITE on it to the user of reassignd"
    return f"the canary topic {name} cannot be used: {message or error_name(code)}"
