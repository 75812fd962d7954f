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
from controller.model.configs import MIN_ISR, TIERED
from controller.model.replicas import Replicas, StoredReplica, TopicPartition
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResult
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest

TOPICS = 500
"""Topics per request for configs."""


class DescribedBroker(NamedTuple):
    """A registered broker, and its log directories; they are empty if it does not report them.

    Their sizes are -1 before Kafka 3.3 (KIP-827).
    """

    broker: ListedBroker
    dirs: Sequence[DescribeLogDirsResult]

    @property
    def disk_bytes(self) -> int | None:
        """The size of its disks; None if that of one is not known."""
        known = self.dirs and all(each.total_bytes > 0 for each in self.dirs)
        return sum(each.total_bytes for each in self.dirs) if known else None


class DescribedPartition(NamedTuple):
    """A partition.

    `replicas` does not contain those that are being added; `bytes` is the size of the leader's replica, None
    if it is not known.

    `target` has the replicas after the ongoing reassignment; it is None if there is none. `sizes` and
    `log_dirs` have what the broker of each replica reports for it, None where it is not known; they are None
    if nothing is.
    """

    key: TopicPartition
    replicas: Replicas
    isr: Replicas
    leader: int
    bytes: int | None
    min_isr: int
    target: Replicas | None
    sizes: tuple[int | None, ...] | None
    log_dirs: tuple[str | None, ...] | None
    tiered: bool
    meanwhile: Replicas
    """Other brokers that hold a replica until the ongoing reassignment has ended."""
    failed: Replicas
    """Replicas on live brokers whose log directory has failed."""


class Description(NamedTuple):
    """A cluster at one moment. `gaps` has a line for each part that could not be read."""

    cluster_id: str
    brokers: Sequence[DescribedBroker]
    partitions: Sequence[DescribedPartition]
    gaps: Sequence[str]


@dataclass
class _LogDirs:
    """Sizes of replicas and disks, as brokers report them."""

    replicas: dict[TopicPartition, list[StoredReplica]] = field(default_factory=dict)
    dirs: dict[int, Sequence[DescribeLogDirsResult]] = field(default_factory=dict)
    """The directories of each broker, without their replicas."""
    gaps: list[str] = field(default_factory=list)

    def of(self, key: TopicPartition) -> dict[int, StoredReplica]:
        """Return the known replicas of a partition by broker."""
        return {each.broker: each for each in self.replicas.pop(key, ())}


def _size(stored: Mapping[int, StoredReplica], partition: UpstreamPartition) -> int | None:
    """Return the size at the leader, or the largest of the replicas in sync; None if none is known."""
    if partition.leader in stored:
        return stored[partition.leader].bytes
    return max((stored[broker].bytes for broker in partition.isr if broker in stored), default=None)


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
    configs = await _configs(client, [topic.name for topic in topics], gaps)
    moves = await _moves(client) | moves
    live = {broker.id for broker in brokers if not broker.fenced}
    partitions = [
        _partition(
            TopicPartition(topic.name, number),
            row,
            log_dirs,
            configs.get(topic.name, DEFAULTS),
            moves,
            tuple(broker for broker in topic.offline.get(number, ()) if broker in live),
        )
        for topic in sorted(topics, key=lambda each: each.name)
        for number, row in sorted(topic.partitions.items())
    ]
    described = [DescribedBroker(broker, log_dirs.dirs.get(broker.id, ())) for broker in brokers]
    return Description(client.cluster_id, described, partitions, gaps)


def _partition(
    key: TopicPartition,
    row: UpstreamPartition,
    log_dirs: _LogDirs,
    configs: "_Configs",
    moves: Mapping[TopicPartition, UpstreamMove],
    failed: Replicas,
) -> DescribedPartition:
    stored, move, current, isr, target = log_dirs.of(key), moves.get(key), row.replicas, row.isr, None
    meanwhile: Replicas = ()
    if move is not None:
        current = tuple(broker for broker in row.replicas if broker not in move.adding) or row.replicas
        isr, target = tuple(broker for broker in row.isr if broker in current), move.target
        named = {*current, *target}
        meanwhile = tuple(broker for broker in row.replicas if broker not in named)
    own = [stored.get(broker) for broker in current]
    return DescribedPartition(
        key,
        current,
        isr,
        row.leader,
        _size(stored, row),
        configs.min_isr,
        target,
        tuple(each and each.bytes for each in own) if any(own) else None,
        tuple(each and each.log_dir for each in own) if any(own) else None,
        configs.tiered,
        meanwhile,
        failed,
    )


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
    for row in rows:
        _add_replicas(row, broker, found.replicas)
    found.dirs[broker] = [row._replace(topics=()) for row in rows]


def _add_replicas(
    row: DescribeLogDirsResult, broker: int, replicas: dict[TopicPartition, list[StoredReplica]]
) -> None:
    for topic in row.topics:
        for part in topic.partitions:
            if not part.is_future_key:
                stored = StoredReplica(broker, part.partition_size, row.log_dir)
                replicas.setdefault(TopicPartition(topic.name, part.partition_index), []).append(stored)


class _Configs(NamedTuple):
    """The configs of a topic that a description has."""

    min_isr: int
    tiered: bool


DEFAULTS = _Configs(1, False)


async def _configs(client: UpstreamPort, topics: Sequence[str], gaps: list[str]) -> dict[str, _Configs]:
    """Return the configs of the topics. One that cannot be read is left out."""
    found: dict[str, _Configs] = {}
    refused = 0
    for first in range(0, len(topics), TOPICS):
        names = topics[first : first + TOPICS]
        resources = [DescribeConfigsResource(ResourceType.TOPIC, name, (MIN_ISR, TIERED)) for name in names]
        try:
            response = await client.ask(DescribeConfigsRequest(resources))
        except BrokerError as error:
            gaps.append(f"configs of topics: {error}")
            break
        for result in response.results:
            values = {config.name: config.value for config in result.configs}
            min_isr = values.get(MIN_ISR)
            if result.error_code == ErrorCode.NONE and min_isr is not None:
                found[result.resource_name] = _Configs(int(min_isr), values.get(TIERED) == "true")
            else:
                refused += 1
    if refused:
        gaps.append(f"{MIN_ISR} of {refused} topics; allow DescribeConfigs on them")
    return found
