"""Reads a whole cluster once: brokers, partitions, sizes and ongoing reassignments."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backends.client.errors import BrokerError
from backends.upstream.client import ListedBroker, UpstreamPort
from backends.upstream.topic_metadata import ask_every_broker, ongoing_moves
from common.error_codes import ErrorCode, error_name
from controller.gateway.events import UpstreamMove, UpstreamPartition
from controller.model.cluster import ResourceType
from controller.model.configs import MIN_ISR
from controller.model.replicas import Replicas, TopicPartition
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResult
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest

TOPICS = 500
"""Topics per request for configs."""


class DescribedBroker(NamedTuple):
    """A registered broker.

    `disk_bytes` is None if it does not report the size of its disks (KIP-827, Kafka 3.3).
    """

    broker: ListedBroker
    disk_bytes: int | None


class DescribedPartition(NamedTuple):
    """A partition.

    `replicas` does not contain those that are being added; `bytes` is the size of one replica, None if it is
    not known.

    `target` has the replicas after the ongoing reassignment; it is None if there is none.
    """

    key: TopicPartition
    replicas: Replicas
    isr: Replicas
    leader: int
    bytes: int | None
    min_isr: int
    target: Replicas | None


class Description(NamedTuple):
    """A cluster at one moment. `gaps` has a line for each part that could not be read."""

    cluster_id: str
    brokers: Sequence[DescribedBroker]
    partitions: Sequence[DescribedPartition]
    gaps: Sequence[str]


@dataclass
class _LogDirs:
    """Sizes of replicas and disks, as brokers report them."""

    replicas: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)
    disks: dict[int, int] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)

    def size(self, key: TopicPartition, partition: UpstreamPartition) -> int | None:
        """Return the size at the leader, or the largest of the replicas in sync; None if none is known."""
        sizes = self.replicas
        if (key, partition.leader) in sizes:
            return sizes[key, partition.leader]
        known = (sizes[key, broker] for broker in partition.isr if (key, broker) in sizes)
        return max(known, default=None)


async def describe(client: UpstreamPort) -> Description:
    """Read the cluster.

    Reassignments are read before and after the topics, so one that ended meanwhile is not missed.

    Sizes and configs that cannot be read become `gaps`. Raises BrokerError if the rest cannot be read.
    """
    await client.refresh()
    brokers = [broker for _, broker in sorted(client.brokers.items())]
    moves = await _moves(client)
    topics = await ask_every_broker(client)
    log_dirs = _LogDirs()
    await asyncio.gather(
        *(_read_log_dirs(client, broker.id, log_dirs) for broker in brokers if not broker.fenced)
    )
    gaps = log_dirs.gaps
    min_isr = await _min_isr(client, [topic.name for topic in topics], gaps)
    moves = await _moves(client) | moves
    partitions = [
        _partition(topic.name, number, row, log_dirs, min_isr.get(topic.name, 1), moves)
        for topic in sorted(topics, key=lambda each: each.name)
        for number, row in sorted(topic.partitions.items())
    ]
    described = [DescribedBroker(broker, log_dirs.disks.get(broker.id)) for broker in brokers]
    return Description(client.cluster_id, described, partitions, gaps)


def _partition(
    topic: str,
    number: int,
    row: UpstreamPartition,
    log_dirs: _LogDirs,
    min_isr: int,
    moves: Mapping[TopicPartition, UpstreamMove],
) -> DescribedPartition:
    key = TopicPartition(topic, number)
    size, move = log_dirs.size(key, row), moves.get(key)
    if move is None:
        return DescribedPartition(key, row.replicas, row.isr, row.leader, size, min_isr, None)
    current = tuple(broker for broker in row.replicas if broker not in move.adding) or row.replicas
    isr = tuple(broker for broker in row.isr if broker in current)
    return DescribedPartition(key, current, isr, row.leader, size, min_isr, move.target)


async def _moves(client: UpstreamPort) -> dict[TopicPartition, UpstreamMove]:
    return ongoing_moves(await client.ask(ListPartitionReassignmentsRequest(topics=None)))


async def _read_log_dirs(client: UpstreamPort, broker: int, found: _LogDirs) -> None:
    try:
        response = await client.ask(DescribeLogDirsRequest(None), broker)
    except BrokerError as error:
        found.gaps.append(f"sizes of broker {broker}: {error}")
        return
    rows = [row for row in response.results if row.error_code == ErrorCode.NONE]
    if response.error_code != ErrorCode.NONE or not rows:
        # Before version 3 an unauthorized principal gets an empty answer (KIP-784).
        why = error_name(response.error_code) if response.error_code else "it names no usable directory"
        found.gaps.append(f"sizes of broker {broker}: {why}; allow DescribeLogDirs (Describe on the cluster)")
        return
    if all(row.total_bytes > 0 for row in rows):
        found.disks[broker] = sum(row.total_bytes for row in rows)
    for row in rows:
        _add_replicas(row, broker, found.replicas)


def _add_replicas(
    row: DescribeLogDirsResult, broker: int, replicas: dict[tuple[TopicPartition, int], int]
) -> None:
    for topic in row.topics:
        for part in topic.partitions:
            if not part.is_future_key:
                replicas[TopicPartition(topic.name, part.partition_index), broker] = part.partition_size


async def _min_isr(client: UpstreamPort, topics: Sequence[str], gaps: list[str]) -> dict[str, int]:
    """Return min.insync.replicas of the topics. One that cannot be read is left out."""
    found: dict[str, int] = {}
    refused = 0
    for first in range(0, len(topics), TOPICS):
        names = topics[first : first + TOPICS]
        resources = [DescribeConfigsResource(ResourceType.TOPIC, name, (MIN_ISR,)) for name in names]
        try:
            response = await client.ask(DescribeConfigsRequest(resources))
        except BrokerError as error:
            gaps.append(f"configs of topics: {error}")
            break
        for result in response.results:
            values = [config.value for config in result.configs if config.name == MIN_ISR]
            if result.error_code == ErrorCode.NONE and values and values[0] is not None:
                found[result.resource_name] = int(values[0])
            else:
                refused += 1
    if refused:
        gaps.append(f"{MIN_ISR} of {refused} topics; allow DescribeConfigs on them")
    return found
