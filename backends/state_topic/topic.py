"""Creation and checks of the state topic.

The topic is created by an instance that is about to claim a term, never by the broker's automatic creation.
An existing topic is used as it is: settings that lose records are refused, settings that risk them are warned
of.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError
from common.clock import Clock
from common.error_codes import ErrorCode, error_name
from controller.model.configs import MIN_ISR, UNCLEAN_ELECTION, ResourceType
from protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic

log = logging.getLogger(__name__)

REPLICATION_SETTING = "state.topic.replication.factor"

CLEANUP, COMPRESSION, LARGEST = "cleanup.policy", "compression.type", "max.message.bytes"
NEEDED_BATCH_BYTES = 1_000_000

WATCH_SECONDS = 60.0
"""Between two looks at the configs of the topic."""

ATTEMPTS, PAUSE_SECONDS = 300, 0.1
"""Looks for a topic that was just created, and the time between two of them."""

SETTINGS = {
    CLEANUP: "compact",
    COMPRESSION: "uncompressed",
    UNCLEAN_ELECTION: "false",
    "segment.bytes": str(64 * 2**20),
    "segment.ms": str(6 * 3_600_000),
    "min.cleanable.dirty.ratio": "0.2",
    "max.compaction.lag.ms": str(24 * 3_600_000),
    "delete.retention.ms": str(24 * 3_600_000),
}
"""Configs of a new topic besides min.insync.replicas. Only closed segments are compacted, so they are
small."""


class StateTopicError(Exception):
    """The state topic cannot be used. The message is one line that says what to change."""


class StateTopic(NamedTuple):
    """An existing topic."""

    id: bytes
    replication: int
    partitions: int


async def open_topic(client: BrokerClient, name: str, replication: int) -> StateTopic:
    """Return the topic, which is created if it does not exist. Raises StateTopicError and BrokerError."""
    if (topic := await find_topic(client, name)) is None:
        created = await create_topic(client, name, replication, SETTINGS)
        topic = await _wait_for(client, name)
        if topic is None:
            raise StateTopicError(
                f"the state topic {name} was created, but no broker knows it yet: try again"
            )
        if created:
            log.info("created the state topic %s with %d replicas", name, replication)
    if topic.partitions != 1:
        raise StateTopicError(
            f"the state topic {name} has {topic.partitions} partitions; it must have one: set state.topic to"
            " another name"
        )
    for warning in check_configs(name, topic.replication, await _configs(client, name)):
        log.warning("%s", warning)
    return topic


async def _wait_for(client: BrokerClient, name: str) -> StateTopic | None:
    """Return a topic that was just created: brokers learn of it one after the other."""
    for _ in range(ATTEMPTS):
        topic = await find_topic(client, name)
        if topic is not None and topic.partitions:
            return topic
        await asyncio.sleep(PAUSE_SECONDS)
    return None


async def find_topic(client: BrokerClient, name: str) -> StateTopic | None:
    """Return the topic, or None if it does not exist. Raises StateTopicError and BrokerError."""
    request = MetadataRequest((MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
    (row,) = (await client.ask(request)).topics
    if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    _check(row.error_code, None, f"Metadata of the state topic {name}", "DESCRIBE")
    replication = max((len(partition.replica_nodes) for partition in row.partitions), default=0)
    return StateTopic(row.topic_id, replication, len(row.partitions))


def check_configs(name: str, replication: int, configs: Mapping[str, str]) -> Sequence[str]:
    """Return the warnings about the configs.

    Raises StateTopicError for configs with which records would be lost.
    """
    if (policy := configs.get(CLEANUP)) != SETTINGS[CLEANUP]:
        raise StateTopicError(
            f"the state topic {name} has {CLEANUP}={policy}, which deletes records: set it to compact"
        )
    if (compression := configs.get(COMPRESSION)) not in ("producer", "uncompressed"):
        raise StateTopicError(
            f"the state topic {name} has {COMPRESSION}={compression}: set it to uncompressed"
        )
    if int(configs.get(LARGEST, NEEDED_BATCH_BYTES)) < NEEDED_BATCH_BYTES:
        raise StateTopicError(
            f"the state topic {name} has {LARGEST}={configs[LARGEST]}: set it to {NEEDED_BATCH_BYTES} or more"
        )
    warnings = []
    if replication < 2:
        warnings.append(f"the state topic {name} has one replica: if its broker is lost, all plans are lost")
    elif int(configs.get(MIN_ISR, 1)) < replication - 1:
        warnings.append(
            f"the state topic {name} has {MIN_ISR}={configs.get(MIN_ISR)}; {replication - 1} keeps its"
            " records when a broker is lost"
        )
    if compression == "producer":
        warnings.append(
            f"the state topic {name} has {COMPRESSION}=producer: a compressed batch of another program could"
            " not be read; set it to uncompressed"
        )
    if configs.get(UNCLEAN_ELECTION) == "true":
        warnings.append(
            f"the state topic {name} has {UNCLEAN_ELECTION}=true, which can lose records: set it to false"
        )
    return warnings


async def watch_configs(client: BrokerClient, name: str, clock: Clock) -> None:
    """Log a line when the configs of the topic become unsafe while instances run, until cancelled."""
    said: set[str] = set()
    while True:
        await clock.sleep(WATCH_SECONDS)
        try:
            topic = await find_topic(client, name)
            if topic is None:
                continue
            found = set(check_configs(name, topic.replication, await _configs(client, name)))
        except BrokerError:
            continue
        except StateTopicError as error:
            found = {str(error)}
        for line in sorted(found - said):
            log.error("%s", line)
        said = found


async def create_topic(
    client: BrokerClient, name: str, replication: int, settings: Mapping[str, str]
) -> bool:
    """Create a topic with one partition, or return False if it exists.

    Raises StateTopicError and BrokerError.
    """
    settings = {**settings, MIN_ISR: str(max(1, replication - 1))}
    configs = [CreatableTopicConfig(config, value) for config, value in settings.items()]
    response = await client.ask(
        CreateTopicsRequest([CreatableTopic(name, 1, replication, (), configs)], 30_000)
    )
    (row,) = response.topics
    if row.error_code == ErrorCode.INVALID_REPLICATION_FACTOR:
        raise StateTopicError(
            f"the state topic {name} cannot have {replication} replicas ({row.error_message}): start more"
            f" brokers, or set {REPLICATION_SETTING}"
        )
    if row.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return False  # Another instance has created it at the same time.
    _check(row.error_code, row.error_message, f"CreateTopics of the state topic {name}", "CREATE")
    return True


async def _configs(client: BrokerClient, name: str) -> Mapping[str, str]:
    wanted = (*SETTINGS, MIN_ISR, LARGEST)
    request = DescribeConfigsRequest([DescribeConfigsResource(ResourceType.TOPIC, name, wanted)])
    (row,) = (await client.ask(request)).results
    _check(
        row.error_code, row.error_message, f"DescribeConfigs of the state topic {name}", "DESCRIBE_CONFIGS"
    )
    return {config.name: config.value for config in row.configs if config.value is not None}


def _check(code: int, message: str | None, request: str, right: str) -> None:
    if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        raise StateTopicError(f"{request} is refused: grant {right} on the topic to the user of reassignd")
    if code != ErrorCode.NONE:
        raise StateTopicError(f"{request} failed: {message or error_name(code)}")
