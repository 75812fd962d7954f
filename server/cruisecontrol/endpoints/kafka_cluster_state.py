"""`GET /kafka_cluster_state`: the replicas of each broker, and the partitions that are not well."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field
from starlette.responses import Response

from common.error_codes import ErrorCode
from common.tasks import in_slices
from controller.cluster.health import effective_min_isr
from controller.model.cluster import Partition, TopicPartition
from controller.model.replicas import without
from controller.state.state import State
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from server.api.shared.inventory import BrokerNumbers, Inventory, known_brokers
from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.answers import encode
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.documents import JsonList, document
from server.cruisecontrol.shared.parameters import Parameters
from server.cruisecontrol.shared.patterns import chosen_topics

DEAD = "broker_dead"
"""Cruise Control's word in place of the directories of a broker that does not run."""
LATE = "timed_out"
"""Cruise Control's word for a broker that does not answer."""
ANSWER_SECONDS = 5.0
"""How long a broker may take to tell its directories."""


class ClusterStateParameters(Parameters, kw_only=True):
    """Which partitions are listed."""

    topic: Annotated[str, Meta(description="Only partitions of topics that match this expression.")] = ""
    verbose: Annotated[bool, Meta(description="List the partitions that are well, too.")] = False


class ClusterSummary(Struct):
    """The cluster in numbers."""

    brokers: int = field(name="Brokers")
    topics: int = field(name="Topics")
    replicas: int = field(name="Replicas")
    leaders: int = field(name="Leaders")
    factor: float = field(name="AvgReplicationFactor")
    mean_replicas: float = field(name="AvgReplicasPerBroker")
    mean_leaders: float = field(name="AvgLeadersPerBroker")
    most_replicas: int = field(name="MaxReplicasPerBroker")
    most_leaders: int = field(name="MaxLeadersPerBroker")
    deviation_of_replicas: float = field(name="StdReplicasPerBroker")
    deviation_of_leaders: float = field(name="StdLeadersPerBroker")


class ClusterBrokers(Struct):
    """Numbers by broker."""

    leaders: dict[int, int] = field(name="LeaderCountByBrokerId")
    replicas: dict[int, int] = field(name="ReplicaCountByBrokerId")
    out_of_sync: dict[int, int] = field(name="OutOfSyncCountByBrokerId")
    offline: dict[int, int] = field(name="OfflineReplicaCountByBrokerId")
    is_controller: dict[int, bool] = field(name="IsController")
    online_dirs: dict[int, list[str]] = field(name="OnlineLogDirsByBrokerId")
    offline_dirs: dict[int, list[str]] = field(name="OfflineLogDirsByBrokerId")
    summary: ClusterSummary = field(name="Summary")
    broker_sets: dict[int, str] = field(name="BrokerSetByBrokerId", default_factory=dict)
    """Empty: reassignd has no sets of brokers."""


class PartitionInfo(Struct, rename="kebab"):
    """A partition."""

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    out_of_sync: tuple[int, ...]
    offline: tuple[int, ...]
    min_isr: int
    remote_storage_enabled: bool


async def kafka_cluster_state(call: CruiseControlCall, given: ClusterStateParameters) -> Response:
    """Return the replicas of each broker, and the partitions that are not well."""
    topics = await chosen_topics(call, given.topic)
    inventory = await call.room.services.inventories.recent()
    directories = await _directories(call)
    brokers = _brokers(call.state, inventory, directories)
    chosen = _Partitions(call.state, topics)
    unwell = [key async for key in in_slices(_unwell(call.state)) if key.topic in topics]
    unwell.sort()
    lists = [
        JsonList("offline", chosen.rows(unwell, lambda each: each.leader < 0)),
        JsonList("with-offline-replicas", chosen.rows(unwell, lambda each: bool(each.offline))),
        JsonList("urp", chosen.rows(unwell, lambda each: bool(each.out_of_sync))),
        JsonList("under-min-isr", chosen.rows(unwell, lambda each: len(each.in_sync) < each.min_isr)),
    ]
    if given.verbose:
        lists.append(JsonList("other", chosen.others(frozenset(unwell))))
    head = b'{"KafkaBrokerState":' + encode(brokers) + b',"KafkaPartitionState":{'
    return document(head, lists, b'},"version":1}')


def _unwell(state: State) -> set[TopicPartition]:
    """Return the partitions that can lack a leader, a replica or members of the ISR."""
    return state.cluster.offline | state.cluster.under_replicated | state.cluster.failed.keys()


class _Partitions(NamedTuple):
    """The partitions of the topics that are chosen."""

    state: State
    topics: Collection[str]

    def rows(
        self, keys: Iterable[TopicPartition], selects: Callable[[PartitionInfo], bool]
    ) -> Iterator[PartitionInfo | None]:
        """Yield these partitions; None for one that is not selected."""
        for key in keys:
            partition = self.state.cluster.partition(*key)
            row = None if partition is None else self._row(partition)
            yield row if row is not None and selects(row) else None

    def others(self, unwell: frozenset[TopicPartition]) -> Iterator[PartitionInfo | None]:
        """Yield the other partitions; None in place of `unwell`."""
        for topic in sorted(self.topics):
            for partition in list(self.state.cluster.partitions.get(topic, ())):
                yield None if partition.key in unwell else self._row(partition)

    def _row(self, partition: Partition) -> PartitionInfo:
        state, current = self.state, partition.current
        failed = state.cluster.failed_replicas(partition) if state.cluster.failed else ()
        return PartitionInfo(
            partition.topic,
            partition.partition,
            partition.leader,
            current,
            partition.isr,
            () if partition.isr == current else without(current, partition.isr),
            tuple(each for each in current if each not in state.cluster.live or each in failed),
            effective_min_isr(state, partition),
            state.settings.is_tiered(partition.topic),
        )


def _brokers(
    state: State, inventory: Inventory, directories: Mapping[int, tuple[list[str], list[str]]]
) -> ClusterBrokers:
    known = known_brokers(state, inventory)
    numbers = {broker: inventory.brokers.get(broker, BrokerNumbers()) for broker in known}
    failed = Counter(broker for replicas in state.cluster.failed.values() for broker in replicas)
    # Metadata names the same broker as the controller: clients send it what only a controller answers.
    controller = min(state.cluster.live, default=-1)
    live = state.cluster.live
    dirs = {broker: directories.get(broker, ([DEAD], [DEAD])) for broker in known}
    return ClusterBrokers(
        {broker: each.leaders for broker, each in numbers.items()},
        {broker: each.replicas for broker, each in numbers.items()},
        {broker: each.lagging for broker, each in numbers.items()},
        {broker: failed[broker] if broker in live else each.replicas for broker, each in numbers.items()},
        {broker: broker == controller for broker in known},
        {broker: online for broker, (online, _) in dirs.items()},
        {broker: offline for broker, (_, offline) in dirs.items()},
        _summary(list(numbers.values()), list(inventory.topics.values())),
    )


def _summary(brokers: Sequence[BrokerNumbers], topics: Sequence[object]) -> ClusterSummary:
    replicas, leaders = [each.replicas for each in brokers], [each.leaders for each in brokers]
    held, led = sum(replicas), sum(leaders)
    return ClusterSummary(
        len(brokers),
        len(topics),
        held,
        led,
        held / led if led else 0.0,
        fmean(replicas) if replicas else 0.0,
        fmean(leaders) if leaders else 0.0,
        max(replicas, default=0),
        max(leaders, default=0),
        pstdev(replicas) if replicas else 0.0,
        pstdev(leaders) if leaders else 0.0,
    )


async def _directories(call: CruiseControlCall) -> dict[int, tuple[list[str], list[str]]]:
    """Return the directories of the live brokers: those that work, and those that have failed."""
    live = sorted(call.state.cluster.live)
    answers = await asyncio.gather(*(_directories_of(call, broker) for broker in live))
    return dict(zip(live, answers, strict=True))


async def _directories_of(call: CruiseControlCall, broker: int) -> tuple[list[str], list[str]]:
    answer = None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await call.room.services.sizes.describe(broker, DescribeLogDirsRequest([]))
    except TimeoutError:
        pass
    if answer is None:
        return [LATE], [LATE]
    rows = [(row.log_dir, row.error_code == ErrorCode.NONE) for row in answer.results if row.log_dir]
    return [path for path, works in rows if works], [path for path, works in rows if not works]


ENDPOINTS = (
    Endpoint(
        "GET",
        "kafka_cluster_state",
        "Tell the replicas of each broker, and the partitions that are not well.",
        ClusterStateParameters,
        kafka_cluster_state,
        role=ClientRole.VIEWER,
    ),
)
