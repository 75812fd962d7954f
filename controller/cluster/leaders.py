"""Leader elections: preferred and unclean on request (KIP-183, KIP-460), and preferred automatically."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from common.error_codes import ErrorCode
from controller.cluster.brokers import update
from controller.messages.events import ElectionType, ElectLeaders, RebalanceLeaders
from controller.model.cluster import NO_LEADER, Partition, TopicPartition
from controller.model.election import with_leader
from controller.model.errors import DONE, Outcome
from controller.model.replicas import display_name
from controller.state.state import Decision

PARTITIONS_PER_SLICE = 1_000

T = TypeVar("T")


def elect_leaders(d: Decision, event: ElectLeaders) -> Iterator[None]:
    """Elect leaders where needed. For all partitions, the reply omits those that need no election."""
    rows: list[tuple[TopicPartition, Outcome]] = []
    keys = event.partitions
    for key in _in_slices(keys if keys is not None else [p.key for p in d.state.cluster.all_partitions()]):
        if key is None:
            yield
            continue
        partition = d.state.cluster.partition(*key)
        if partition is None:
            rows.append(
                (
                    key,
                    _refuse(
                        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        f"No such partition as {display_name(key.topic)}-{key.partition}",
                    ),
                )
            )
            continue
        outcome = _ELECTIONS[event.election](d, partition)
        if keys is not None or outcome.error is not ErrorCode.ELECTION_NOT_NEEDED:
            rows.append((key, outcome))
    d.answer(event, rows)


def rebalance_leaders(d: Decision, event: RebalanceLeaders) -> Iterator[None]:
    """Elect preferred leaders automatically (Kafka: KafkaController.checkAndTriggerAutoLeaderRebalance).

    Partitions with a reassignment are skipped: their steps move leadership within limit L.
    """
    preferred: Counter[int] = Counter()
    elsewhere: dict[int, list[TopicPartition]] = {}
    for partition in _in_slices(d.state.cluster.all_partitions()):
        if partition is None:
            yield
        elif partition.key not in d.state.orders.reassignments:
            first = partition.replicas[0]
            preferred[first] += 1
            if partition.leader != first:
                elsewhere.setdefault(first, []).append(partition.key)
    elected = 0
    for broker, keys in elsewhere.items():
        if 100 * len(keys) <= event.percentage * preferred[broker]:
            continue
        for key in _in_slices(keys):
            partition = None if key is None else d.state.cluster.partition(*key)
            if partition is None:
                yield
            else:
                elected += _preferred(d, partition).ok
    d.answer(event, elected)


def _in_slices(items: Iterable[T]) -> Iterator[T | None]:
    """Yield the items, with a None where the slice ends."""
    for seen, item in enumerate(items, 1):
        yield item
        if seen % PARTITIONS_PER_SLICE == 0:
            yield None


def _preferred(d: Decision, partition: Partition) -> Outcome:
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        return _refuse(ErrorCode.ELECTION_NOT_NEEDED, "The preferred leader leads already")
    able = preferred in d.state.cluster.live and preferred not in d.state.cluster.shutting_down
    if not able or preferred not in partition.isr:
        return _refuse(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, f"The preferred leader {preferred} is not in the ISR"
        )
    update(d, partition, with_leader(partition, preferred, partition.isr))
    return DONE


def _unclean(d: Decision, partition: Partition) -> Outcome:
    if partition.leader != NO_LEADER:
        return _refuse(ErrorCode.ELECTION_NOT_NEEDED, "The partition has a leader")
    leader = next((r for r in partition.replicas if r in d.state.cluster.live), None)
    if leader is None:
        return _refuse(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "No replica of the partition is alive")
    update(d, partition, with_leader(partition, leader, (leader,)))
    return DONE


def _refuse(error: ErrorCode, message: str) -> Outcome:
    return Outcome(error, message + ".")


_ELECTIONS = {ElectionType.PREFERRED: _preferred, ElectionType.UNCLEAN: _unclean}
