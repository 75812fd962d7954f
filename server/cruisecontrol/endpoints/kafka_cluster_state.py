"""`GET /kafka_cluster_state`: the replicas of each broker, and the partitions that are not well."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from statistics import fmean, pstdev
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field
from starlette.responses import Response

from common.error_codes import ErrorCode
from common.tasks import in_slices, side_by_side
from controller.cluster.health import effective_min_isr
from controller.model.cluster import Partition
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
"""How long a broker may take to report its directories."""


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
    inventory = await call.context.services.inventories.recent()
    directories = await _directories(call)
    brokers = _brokers(call.state, inventory, directories, await _failed(call.state))
    chosen = _Partitions(call.state, await _unwell(call.state, topics))
    lists = [
        JsonList("offline", chosen.rows(lambda each: each.leader < 0)),
        JsonList("with-offline-replicas", chosen.rows(lambda each: bool(each.offline))),
        JsonList("urp", chosen.rows(lambda each: bool(each.out_of_sync))),
        JsonList("under-min-isr", chosen.rows(lambda each: len(each.in_sync) < each.min_isr)),
    ]
    if given.verbose:
        lists.append(JsonList("other", chosen.others(topics)))
    head = b'{"KafkaBrokerState":' + encode(brokers) + b',"KafkaPartitionState":{'
    return document(head, lists, b'},"version":1}')


async def _unwell(state: State, topics: Collection[str]) -> Mapping[str, Set[int]]:
    """Return the partitions of the topics that can lack a leader, a replica or members of the ISR, by topic.

    It can be half of a large cluster, so it is never sorted as a whole: that would hold up everything else.
    """
    cluster, found = state.cluster, defaultdict[str, set[int]](set)
    for keys in (cluster.offline, cluster.under_replicated, cluster.failed):
        async for topic, number in in_slices(list(keys)):
            if topic in topics:
                found[topic].add(number)
    return found


async def _failed(state: State) -> Counter[int]:
    """Return how many replicas of each broker are in failed directories."""
    failed = Counter[int]()
    async for replicas in in_slices(list(state.cluster.failed.values())):
        failed.update(replicas)
    return failed


class _Partitions(NamedTuple):
    """The partitions that are listed; `unwell` are those with a trouble, by topic."""

    state: State
    unwell: Mapping[str, Set[int]]

    def rows(self, selects: Callable[[PartitionInfo], bool]) -> Iterator[PartitionInfo | None]:
        """Yield the unwell partitions; None for one that is not selected."""
        for topic in sorted(self.unwell):
            for number in sorted(self.unwell[topic]):
                partition = self.state.cluster.partition(topic, number)
                row = None if partition is None else self._row(partition)
                yield row if row is not None and selects(row) else None

    def others(self, topics: Collection[str]) -> Iterator[PartitionInfo | None]:
        """Yield the other partitions of these topics; None in place of an unwell one."""
        for topic in sorted(topics):
            unwell = self.unwell.get(topic, frozenset())
            for partition in list(self.state.cluster.partitions.get(topic, ())):
                yield None if partition.partition in unwell else self._row(partition)

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
    state: State,
    inventory: Inventory,
    directories: Mapping[int, tuple[list[str], list[str]]],
    failed: Mapping[int, int],
) -> ClusterBrokers:
    known = known_brokers(state, inventory)
    numbers = {broker: inventory.brokers.get(broker, BrokerNumbers()) for broker in known}
    # Metadata names the same broker as the controller: clients send it what only a controller answers.
    controller = min(state.cluster.live, default=-1)
    live = state.cluster.live
    dirs = {broker: directories.get(broker, ([DEAD], [DEAD])) for broker in known}
    return ClusterBrokers(
        {broker: each.leaders for broker, each in numbers.items()},
        {broker: each.replicas for broker, each in numbers.items()},
        {broker: each.lagging for broker, each in numbers.items()},
        {
            broker: failed.get(broker, 0) if broker in live else each.replicas
            for broker, each in numbers.items()
        },
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
    answers = await side_by_side(_directories_of(call, broker) for broker in live)
    return dict(zip(live, answers, strict=True))


async def _directories_of(call: CruiseControlCall, broker: int) -> tuple[list[str], list[str]]:
    answer = None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await call.context.services.sizes.describe(broker, DescribeLogDirsRequest([]))
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
        "Show the replicas of each broker, and the partitions that are not well.",
        ClusterStateParameters,
        kafka_cluster_state,
        role=ClientRole.VIEWER,
    ),
)
