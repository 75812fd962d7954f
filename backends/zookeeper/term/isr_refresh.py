"""Reads ISRs from ZooKeeper before a decision that depends on them (Kafka: PartitionStateMachine).

Below inter-broker protocol 2.7, leaders store their ISRs themselves and then notify the controller. A notification may be a
minute late, and is lost when the leader crashes. With an outdated ISR, an election could fail although an eligible replica
exists.
"""

from collections.abc import Iterator

from backends.zookeeper.store.store import ZkStore
from controller.messages.event import AnyEvent
from controller.messages.events import (
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ElectLeaders,
    LogDirFailed,
    RebalanceLeaders,
)
from controller.messages.zookeeper_events import PartitionsStored
from controller.model.cluster import Partition, TopicPartition
from controller.state.state import State

BATCH = 500
"""Znodes that are read with pipelined requests."""


def affected_partitions(state: State, event: AnyEvent) -> Iterator[TopicPartition]:
    """Yield the partitions whose ISRs affect the decision on this event."""
    match event:
        case ControlledShutdown(broker) | BrokerStopped(broker):
            yield from _hosted(state, broker)
        case BrokerStarted(registration) if registration.id in state.live:
            # The broker has restarted before its session ended. The controller stops it first, which elects new leaders.
            yield from _hosted(state, registration.id)
        case LogDirFailed(_, keys):
            yield from keys
        case ElectLeaders(_, keys) if keys is not None:
            yield from keys
        case ElectLeaders() | RebalanceLeaders():
            yield from (each.key for each in state.all_partitions() if each.leader != each.replicas[0])


async def refresh_isrs(store: ZkStore, state: State, event: AnyEvent) -> PartitionsStored | None:
    """Read the affected ISRs. Return the event to submit first, None if nothing has changed. Raises ZookeeperError."""
    keys = list(affected_partitions(state, event))
    changed: list[Partition] = []
    for start in range(0, len(keys), BATCH):
        changed += await store.read_partitions(keys[start : start + BATCH])
    return PartitionsStored(changed) if changed else None


def _hosted(state: State, broker: int) -> Iterator[TopicPartition]:
    return (each.key for each in state.all_partitions() if broker in each.replicas)
