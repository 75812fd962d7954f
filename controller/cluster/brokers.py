"""Start, stop and controlled shutdown of brokers.

Kafka: KafkaController.onBrokerStartup and onBrokerFailure.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from common.error_codes import ErrorCode
from controller.cluster.deletions import drop_lost_reassignments, retry_deletions
from controller.cluster.health import unlisted_brokers
from controller.messages.effects import BrokerJoined, BrokerLeft, Publish
from controller.messages.events import (
    BrokerRegistration,
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ControllerStarted,
    LogDirFailed,
    ShutdownReply,
)
from controller.model.cluster import (
    NO_LEADER,
    Broker,
    ControllerEpoch,
    Partition,
    Reassignment,
    ResourceType,
    TopicPartition,
)
from controller.model.election import after_loss, keep_or_elect, with_leader
from controller.model.errors import DONE, Outcome
from controller.reassignment.phases import Trigger, fire, fire_at
from controller.reassignment.planning import charge
from controller.state.state import Decision, State

PARTITIONS_PER_SLICE = 500


def controller_started(d: Decision, event: ControllerStarted) -> Iterator[None]:
    """Fence earlier controllers, register the brokers, and resume the reassignments of the records.

    The brokers join first: changes are published only to brokers that have joined.
    """
    state = d.state
    state.backlog.halt(event.halted)
    d.put(ControllerEpoch(state.cluster.controller_epoch + 1))
    d.answer(event, {broker.id: _register(d, broker) for broker in event.brokers})
    for broker in event.brokers:
        d.effects.append(BrokerJoined(broker.id))
    for _ in drop_lost_reassignments(d):
        yield
    for _ in recover(d, state.cluster.all_partitions()):
        yield
    state.cluster.set_unlisted(unlisted_brokers(state))
    # Their steps, or the topics themselves, may have ended under another controller.
    state.in_flight.look_again(
        name for resource, name, _ in state.throttle.leases if resource is ResourceType.TOPIC
    )
    ongoing = list(state.orders.reassignments.items())
    for begin in range(0, len(ongoing), PARTITIONS_PER_SLICE):
        _resume(d, ongoing[begin : begin + PARTITIONS_PER_SLICE])
        yield
    retry_deletions(state)


def _resume(d: Decision, reassignments: Sequence[tuple[TopicPartition, Reassignment]]) -> None:
    """Count the steps in flight and check whether they are complete; enqueue the other partitions."""
    state = d.state
    if not state.in_flight:
        state.backlog.enqueue_all([key for key, _ in reassignments])
        return
    idle: list[TopicPartition] = []
    moving = state.in_flight.by_topic
    for key, wanted in reassignments:
        # Of a million partitions few move: most topics have none.
        if key[0] not in moving or key not in state.in_flight:
            idle.append(key)
            continue
        partition = state.cluster.partition(*key)
        if partition is None:
            continue
        state.backlog.enqueue_all(idle)
        idle.clear()
        charge(state, partition, wanted)
        fire(d, partition, Trigger.PROGRESS)
    state.backlog.enqueue_all(idle)


def broker_started(d: Decision, event: BrokerStarted) -> Iterator[None]:
    """Register the broker, elect leaders for offline partitions, and enqueue the reassignments that wait."""
    state = d.state
    if event.broker.id in state.cluster.live:
        yield from broker_stopped(d, BrokerStopped(event.broker.id))
    d.answer(event, _register(d, event.broker))
    d.effects.append(BrokerJoined(event.broker.id))
    for _ in recover(d, state.cluster.all_partitions() if state.cluster.offline else ()):
        yield
    for seen, key in enumerate(list(state.orders.waiting)):
        fire_at(d, key, Trigger.PROGRESS)
        if seen % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield
    retry_deletions(state)


def broker_stopped(d: Decision, event: BrokerStopped) -> Iterator[None]:
    """Remove the broker from leadership and ISRs. Reassignments that need it wait."""
    state = d.state
    if event.broker not in state.cluster.live:
        return
    state.cluster.broker_stopped(event.broker)
    d.effects.append(BrokerLeft(event.broker))
    for _ in recover(d, state.cluster.all_partitions()):
        yield


def controlled_shutdown(d: Decision, event: ControlledShutdown) -> Iterator[None]:
    """Move leadership away from a broker that is about to stop.

    Partitions that only it can lead remain with it.
    """
    state = d.state
    broker = state.cluster.brokers.get(event.broker)
    if broker is None or event.broker not in state.cluster.live:
        d.answer(event, ShutdownReply(Outcome(ErrorCode.BROKER_NOT_AVAILABLE), ()))
        return
    if event.broker_epoch not in {-1, broker.epoch}:
        d.answer(event, ShutdownReply(Outcome(ErrorCode.STALE_BROKER_EPOCH), ()))
        return
    state.cluster.shut_down(event.broker)
    remaining = []
    for seen, partition in enumerate(state.cluster.all_partitions()):
        if event.broker in partition.isr and not _leave(d, partition, event.broker):
            remaining.append(partition.key)
        if seen % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield
    d.answer(event, ShutdownReply(DONE, remaining))


def log_dir_failed(d: Decision, event: LogDirFailed) -> None:
    """Remove the replicas of a failed log directory from leadership and ISRs. The broker stays alive."""
    cluster = d.state.cluster
    live = cluster.live - {event.broker}
    for key in event.partitions:
        partition = cluster.partition(*key)
        if partition is None:
            continue
        cluster.directory_failed(event.broker, key)
        if event.broker in partition.isr:
            unclean = d.state.settings.unclean_allowed(key.topic)
            update(d, partition, after_loss(partition, live, unclean=unclean))


def update(d: Decision, before: Partition, after: Partition) -> None:
    """Record a changed leader or ISR, publish it to the brokers, and advance the partition's reassignment."""
    if after is before:
        return
    wanted = d.state.orders.reassignments.get(after.key)
    d.put(after)
    d.effects.append(Publish(after, target=() if wanted is None else wanted.target))
    fire(d, after, Trigger.PROGRESS)


def _register(d: Decision, broker: BrokerRegistration) -> int:
    state = d.state
    epoch = broker.epoch
    if epoch is None:
        epoch = 1 + max((known.epoch for known in state.cluster.brokers.values()), default=0)
    d.put(Broker(broker.id, broker.host, broker.port, broker.rack, epoch))
    state.cluster.broker_started(broker.id)
    return epoch


def recover(d: Decision, partitions: Iterable[Partition]) -> Iterator[None]:
    """Elect leaders and shrink ISRs of the partitions, by the brokers that are alive."""
    state = d.state
    unclean = {topic: state.settings.unclean_allowed(topic) for topic in state.cluster.topics}
    for seen, partition in enumerate(partitions):
        if partition.leader == NO_LEADER or not state.cluster.live.issuperset(partition.isr):
            update(d, partition, after_loss(partition, state.cluster.live, unclean=unclean[partition.topic]))
        if seen % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield


def _leave(d: Decision, partition: Partition, broker: int) -> bool:
    """Remove the broker from the ISR and from leadership. Return False if no other replica can lead."""
    state = d.state
    staying = state.cluster.live - state.cluster.shutting_down
    isr = tuple(r for r in partition.isr if r in staying)
    leader = keep_or_elect(partition, partition.replicas, isr, staying)
    if leader == NO_LEADER:
        return partition.leader != broker
    update(d, partition, with_leader(partition, leader, isr))
    return True


def holders(state: State) -> set[int] | None:
    """Return the brokers that hold replicas or are to get some; None while the cluster is not known."""
    if not state.cluster.brokers:
        return None
    ordered = (each.target for each in state.orders.reassignments.values())
    queued = (each.target for each in state.orders.pending.values())
    present = (partition.replicas for partition in state.cluster.all_partitions())
    return set().union(*set(chain(ordered, queued, present)))
