"""AlterPartition (56): a leader reports its ISR (Kafka: ReplicationControlManager.alterPartition)."""

from collections.abc import Iterator

from common.error_codes import ErrorCode
from controller.messages.effects import Publish
from controller.messages.events import AlterPartition, AlterPartitionReply, IsrChange
from controller.model.cluster import Partition
from controller.model.errors import DONE, Outcome
from controller.reassignment.phases import Trigger, fire
from controller.state.state import Decision, State

CHANGES_PER_SLICE = 200


def alter_partition(d: Decision, event: AlterPartition) -> Iterator[None]:
    """Apply each ISR with valid epochs. A step that it completes ends in the same decision."""
    broker = d.state.cluster.brokers.get(event.broker)
    if broker is None or event.broker not in d.state.cluster.live:
        d.answer(event, AlterPartitionReply(Outcome(ErrorCode.STALE_BROKER_EPOCH), ()))
        return
    if event.broker_epoch not in {-1, broker.epoch}:
        d.answer(event, AlterPartitionReply(Outcome(ErrorCode.STALE_BROKER_EPOCH), ()))
        return
    rows = []
    for seen, change in enumerate(event.changes, 1):
        rows.append(_alter(d, event.broker, change))
        if seen % CHANGES_PER_SLICE == 0:
            yield
    d.answer(event, AlterPartitionReply(DONE, rows))


def _alter(d: Decision, broker: int, change: IsrChange) -> Outcome:
    state = d.state
    partition = state.cluster.partition(change.topic, change.partition)
    error = _check(state, partition, broker, change)
    if partition is None or error is not ErrorCode.NONE:
        return Outcome(error)
    changed = partition._replace(isr=change.isr, partition_epoch=partition.partition_epoch + 1)
    d.put(changed)
    key = changed.key
    fire(d, changed, Trigger.PROGRESS)
    after = state.cluster.partitions[key.topic][key.partition]
    if after is changed:
        wanted = state.orders.reassignments.get(key)
        d.effects.append(Publish(changed, target=() if wanted is None else wanted.target, lead=False))
    return DONE if after.leader == broker else Outcome(ErrorCode.NEW_LEADER_ELECTED)


def _check(state: State, partition: Partition | None, broker: int, change: IsrChange) -> ErrorCode:
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if change.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if change.leader_epoch > partition.leader_epoch or change.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if partition.leader != broker:
        return ErrorCode.INVALID_REQUEST
    if change.partition_epoch != partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if broker not in change.isr or len(set(change.isr)) != len(change.isr):
        return ErrorCode.INVALID_REQUEST
    if any(r not in partition.replicas for r in change.isr):
        return ErrorCode.INVALID_REQUEST
    added = [r for r in change.isr if r not in partition.isr]
    if any(r not in state.cluster.live or r in state.cluster.shutting_down for r in added):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE
