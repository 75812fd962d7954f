from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backends.broker_commands.batch import LIMIT, Batch
from backends.broker_commands.pending import PendingChanges
from backends.broker_commands.requests import Header
from controller.messages.effects import TOPIC_DELETED, DropReplica, Publish
from controller.model.cluster import Deleted, Partition, Topic, TopicPartition
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from tests.builders import InMemoryController, key, partition

BROKER = 1


def pending(*effects: Publish | DropReplica) -> PendingChanges:
    """Pending changes of broker 1 after these effects, each in a batch of its own."""
    changes = PendingChanges(BROKER)
    for effect in effects:
        changes.add(batch_of(effect))
    return changes


def batch_of(*effects: Publish | DropReplica) -> Batch:
    batch = Batch()
    for effect in effects:
        if isinstance(effect, Publish):
            batch.publish(effect)
        else:
            batch.drop(effect)
    return batch


def taken(changes: PendingChanges) -> list[list[Publish | DropReplica]]:
    """The content of all batches, until nothing is pending."""
    batches: list[list[Publish | DropReplica]] = []
    while changes:
        batch = changes.take()
        batches.append([*batch.published(), *batch.drops()])
    return batches


def state(epoch: int, replicas: Sequence[int] = (1, 2), **fields: Any) -> Publish:
    return Publish(partition("foo-0", replicas, leader_epoch=epoch), **fields)


def drop(epoch: int, *brokers: int) -> DropReplica:
    return DropReplica("foo", 0, brokers, epoch)


def test_the_newest_state_of_a_partition_replaces_the_older_ones() -> None:
    changes = pending(state(1, new=(1,)), state(2), state(3, lead=False))
    assert taken(changes) == [[state(3, new=(1,))]]


def test_a_drop_follows_the_state_without_the_replica() -> None:
    changes = pending(drop(5, 1), state(6, (2, 3)))
    assert taken(changes) == [[state(6, (2, 3)), drop(5, 1)]]


def test_a_drop_of_other_brokers_is_ignored() -> None:
    assert not pending(drop(5, 2, 3))


def test_a_drop_is_forgotten_when_the_broker_is_a_replica_again() -> None:
    assert taken(pending(drop(5, 1), state(6))) == [[state(6)]]


def test_the_drop_of_a_deleted_topic_replaces_everything_before_it() -> None:
    changes = pending(state(5), drop(5, 1), drop(TOPIC_DELETED, 2, 3))
    assert taken(changes) == [[drop(TOPIC_DELETED, 2, 3, 1)]]


def test_a_deleted_topic_is_dropped_before_its_successor_is_led() -> None:
    changes = pending(drop(TOPIC_DELETED, 1), state(0), drop(TOPIC_DELETED, 2), state(0, (1, 3)))
    assert taken(changes) == [[drop(TOPIC_DELETED, 2, 1)], [state(0, (1, 3))]]


def test_a_drop_precedes_a_topic_whose_leader_epochs_start_again() -> None:
    assert taken(pending(drop(5, 1), state(0))) == [[drop(5, 1)], [state(0)]]


CREATED = Publish(partition("foo-0", (1, 2), leader_epoch=0), new=(1, 2))


def test_a_deleted_topic_that_the_broker_never_knew_is_forgotten() -> None:
    assert not pending(CREATED, drop(TOPIC_DELETED, 1, 2))
    assert not pending(CREATED, state(1), drop(1, 1), drop(TOPIC_DELETED, 2))
    both = PendingChanges(BROKER)
    both.add(batch_of(CREATED, drop(TOPIC_DELETED, 1, 2)))
    assert not both
    assert both.needless == [drop(TOPIC_DELETED, 1, 2)]  # nothing is left there, as if it had confirmed
    assert pending(CREATED, drop(TOPIC_DELETED, 2)).needless == []


def test_the_successor_of_a_deleted_topic_leaves_only_the_drop_of_the_first() -> None:
    changes = pending(drop(TOPIC_DELETED, 1), CREATED, drop(TOPIC_DELETED, 2))
    assert taken(changes) == [[drop(TOPIC_DELETED, 2, 1)]]


def test_a_topic_whose_creation_was_sent_or_may_have_been_sent_is_dropped() -> None:
    sent, maybe, later = pending(CREATED), PendingChanges(BROKER), pending(CREATED)
    taken(sent)
    maybe.add(batch_of(CREATED), maybe_known=True)
    later.may_be_known()
    for changes in (sent, maybe, later):
        changes.add(batch_of(drop(TOPIC_DELETED, 1, 2)))
        assert taken(changes) == [[drop(TOPIC_DELETED, 1, 2)]]


def test_a_change_of_brokers_is_kept() -> None:
    changes = PendingChanges(BROKER)
    changes.add(Batch(brokers_changed=True))
    assert changes
    assert changes.take().brokers_changed
    assert not changes


def test_a_batch_has_a_bounded_number_of_partitions() -> None:
    states = [Publish(partition(f"foo-{index}", [1])) for index in range(LIMIT + 10)]
    drops = [DropReplica("bar", index, (1,), 5) for index in range(LIMIT)]
    assert [len(batch) for batch in taken(pending(*states, *drops))] == [LIMIT, LIMIT, 10]


class ModelBroker:
    """A broker that follows LeaderAndIsr, UpdateMetadata and StopReplica as Kafka's does."""

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, tuple[int, int]] = {}
        """Leader epoch, and the number of the log: each new one has another."""
        self.metadata: dict[TopicPartition, tuple[int, Sequence[int]]] = {}
        self.created = 0

    def handle(self, batch: Batch, controller: InMemoryController) -> None:
        request: Any
        for request in batch.requests(Header(BROKER, 7, 1), controller.state):
            for topic in request.topic_states:
                for row in topic.partition_states:
                    self._row(type(request), TopicPartition(topic.topic_name, row.partition_index), row)

    def _row(self, kind: type, key: TopicPartition, row: Any) -> None:
        epoch, number = self.logs.get(key, (-1, 0))
        if kind is LeaderAndIsrRequest and row.leader_epoch > epoch:
            self.created += not number
            self.logs[key] = (row.leader_epoch, number or self.created)
        elif kind is StopReplicaRequest and (row.leader_epoch == TOPIC_DELETED or row.leader_epoch >= epoch):
            self.logs.pop(key, None)
        elif kind is UpdateMetadataRequest and row.leader == TOPIC_DELETED:
            self.metadata.pop(key, None)
        elif kind is UpdateMetadataRequest:
            self.metadata[key] = (row.leader_epoch, row.replicas)


class Changes:
    """Makes changes as the controller does: state first, then the effects."""

    def __init__(self) -> None:
        self.controller = InMemoryController(brokers=[1, 2, 3])

    def change(self, name: str, replicas: Sequence[int] | None) -> list[Publish | DropReplica]:
        """Give the partition these replicas, creating its topic if necessary, or delete the topic."""
        state = self.controller.state
        now = state.partition(*key(name))
        if replicas is None:
            if now is None:
                return []
            state.apply([Deleted(Partition, now.key), Deleted(Topic, now.topic)])
            return [DropReplica(*now.key, now.replicas, TOPIC_DELETED)]
        after = partition(name, replicas, leader_epoch=0 if now is None else now.leader_epoch + 1)
        self.controller.with_partitions(after)
        before = () if now is None else now.replicas
        removed = tuple(broker for broker in before if broker not in replicas)
        publish = Publish(after, new=tuple(broker for broker in replicas if broker not in before))
        return [publish, DropReplica(*after.key, removed, after.leader_epoch)] if removed else [publish]


NAMES = ["foo-0", "bar-0"]
REPLICAS = st.none() | st.permutations([1, 2, 3]).flatmap(
    lambda brokers: st.integers(1, 3).map(lambda count: brokers[:count])
)


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), REPLICAS), max_size=6),
    st.lists(st.tuples(st.sampled_from(NAMES), REPLICAS), max_size=20),
)
def test_a_broker_gets_the_final_state_after_any_missed_changes(
    reached: list[tuple[str, Any]], missed: list[tuple[str, Any]]
) -> None:
    changes, broker = Changes(), ModelBroker()
    for name, replicas in reached:
        for effect in changes.change(name, replicas):
            broker.handle(batch_of(effect), changes.controller)
    logs_before = dict(broker.logs)
    waiting = PendingChanges(BROKER)
    deleted = set()
    for name, replicas in missed:
        if replicas is None:
            deleted.add(key(name))
        for effect in changes.change(name, replicas):
            waiting.add(batch_of(effect))
    while waiting:
        broker.handle(waiting.take(), changes.controller)
    partitions = list(changes.controller.state.all_partitions())
    assert {k: epoch for k, (epoch, _) in broker.logs.items()} == {
        p.key: p.leader_epoch for p in partitions if BROKER in p.replicas
    }
    assert broker.metadata == {p.key: (p.leader_epoch, p.replicas) for p in partitions}
    for recreated in deleted & logs_before.keys() & broker.logs.keys():
        assert broker.logs[recreated][1] != logs_before[recreated][1]
