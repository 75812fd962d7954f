"""ISRs are read from ZooKeeper again before a decision that depends on them (Kafka: PartitionStateMachine).

Below inter-broker protocol 2.7 a leader stores its ISR by itself. The controller hears of it by a notification, which the leader may
hold back for a minute, and which is lost when the leader dies. A decision on what we know could then find no leader where
there is one.
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

AT_ONCE = 500
"""Znodes that are read in one go."""


def concerned(state: State, event: AnyEvent) -> Iterator[TopicPartition]:
    """The partitions whose ISRs the decision on this event depends on."""
    match event:
        case ControlledShutdown(broker) | BrokerStopped(broker):
            yield from _hosted(state, broker)
        case BrokerStarted(registration) if registration.id in state.live:
            # It restarted within its session: the decision takes it for stopped first.
            yield from _hosted(state, registration.id)
        case LogDirFailed(_, keys):
            yield from keys
        case ElectLeaders(_, keys) if keys is not None:
            yield from keys
        case ElectLeaders() | RebalanceLeaders():
            yield from (each.key for each in state.all_partitions() if each.leader != each.replicas[0])


async def refresh(store: ZkStore, state: State, event: AnyEvent) -> PartitionsStored | None:
    """Read what the event concerns; what the core must be told before the event, if there is news. Raises ZookeeperError."""
    keys = list(concerned(state, event))
    seen: list[Partition] = []
    for start in range(0, len(keys), AT_ONCE):
        seen += await store.read_partitions(keys[start : start + AT_ONCE])
    return PartitionsStored(seen) if seen else None


def _hosted(state: State, broker: int) -> Iterator[TopicPartition]:
    return (each.key for each in state.all_partitions() if broker in each.replicas)
