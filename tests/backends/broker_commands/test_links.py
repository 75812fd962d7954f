import asyncio
import gc
import logging
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.broker_commands.batch import LIMIT, Batch
from backends.broker_commands.links import BrokerLinks, PendingChanges
from backends.broker_commands.requests import Header
from backends.client.channel import Channel
from common.backoff import RETRY_SOON_SECONDS
from common.clock import ManualClock, settle
from controller.messages.effects import (
    TOPIC_DELETED,
    BrokerJoined,
    BrokerLeft,
    ConfigsChanged,
    DropReplica,
    Publish,
)
from controller.messages.event import AnyEvent
from controller.messages.events import LogDirFailed
from controller.model.cluster import Deleted, Partition, ResourceType, Topic, TopicPartition
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrPartitionError, LeaderAndIsrResponse
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from tests.builders import InMemoryController, key, partition

FOO = partition("foo-0", [1, 2])
ANSWERS: dict[type, Any] = {
    LeaderAndIsrRequest: LeaderAndIsrResponse(),
    UpdateMetadataRequest: UpdateMetadataResponse(),
    StopReplicaRequest: StopReplicaResponse(),
}


class Brokers:
    """The other ends of the links, and the links."""

    def __init__(self) -> None:
        self.controller = InMemoryController(brokers=[1, 2, 3]).with_partitions(FOO)
        self.clock = ManualClock()
        self.events: list[AnyEvent] = []
        self.requests: list[tuple[int, Any]] = []
        self.answers = dict(ANSWERS)
        self.connects = 0
        self.down = False
        self.unreachable: set[int] = set()
        self.busy: asyncio.Event | None = None
        self.links = BrokerLinks(
            self.controller.state, self.submit, lambda: 1, connect=self.connect, clock=self.clock
        )

    async def submit(self, event: AnyEvent) -> Any:
        self.events.append(event)

    async def connect(self, _host: str, port: int) -> Channel:
        self.connects += 1
        if self.down or port - 9000 in self.unreachable:
            raise ConnectionRefusedError
        return FakeChannel(self, port - 9000)

    async def perform(self, *effects: Any) -> list[tuple[int, Any]]:
        """Have the effects performed; the requests that this led to, without those to joining brokers."""
        self.links.perform(effects)
        await settle()
        requests, self.requests = self.requests, []
        return requests


class FakeChannel:
    def __init__(self, brokers: Brokers, broker: int) -> None:
        self._brokers, self._broker = brokers, broker

    async def request(self, message: Any, _version: int) -> Any:
        if self._brokers.down or self._broker in self._brokers.unreachable:
            raise ConnectionResetError
        if self._brokers.busy is not None:
            await self._brokers.busy.wait()
        self._brokers.requests.append((self._broker, message))
        return self._brokers.answers[type(message)]

    def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
async def brokers() -> AsyncIterator[Brokers]:
    brokers = Brokers()
    await brokers.perform(BrokerJoined(1), BrokerJoined(2))
    yield brokers
    await brokers.links.close()


def kinds(requests: list[tuple[int, Any]], broker: int) -> list[type]:
    return [type(request) for number, request in requests if number == broker]


async def test_a_joining_broker_gets_the_whole_state_and_the_others_the_list_of_brokers(
    brokers: Brokers,
) -> None:
    requests = await brokers.perform(BrokerJoined(3))
    assert kinds(requests, 1) == [UpdateMetadataRequest]
    assert kinds(requests, 3)[:2] == [UpdateMetadataRequest, LeaderAndIsrRequest]


async def test_requests_carry_the_epoch_of_the_broker_they_go_to(brokers: Brokers) -> None:
    requests = await brokers.perform(Publish(FOO))
    assert {(number, request.broker_epoch) for number, request in requests} == {(1, 1), (2, 2)}


async def test_effects_that_wait_for_a_busy_broker_share_one_request(brokers: Brokers) -> None:
    brokers.busy = asyncio.Event()
    await brokers.perform(Publish(FOO))
    for epoch in range(1, 5):
        await brokers.perform(Publish(FOO._replace(leader_epoch=epoch)))
    assert not brokers.links.idle
    brokers.busy.set()
    requests = await brokers.perform()
    assert kinds(requests, 1) == [LeaderAndIsrRequest, UpdateMetadataRequest] * 2
    assert requests[-1][1].topic_states[0].partition_states[0].leader_epoch == 4
    assert brokers.links.idle


async def test_a_replica_that_is_dropped_and_added_again_is_stopped_before_leader_and_isr(
    brokers: Brokers,
) -> None:
    drop = DropReplica("foo", 0, (1, 2), -2)
    requests = await brokers.perform(Publish(FOO), drop, Publish(FOO))
    told = [UpdateMetadataRequest, StopReplicaRequest]
    assert kinds(requests, 1) == [*told, LeaderAndIsrRequest, UpdateMetadataRequest]


async def test_a_request_that_fails_is_sent_again_after_a_pause(brokers: Brokers) -> None:
    brokers.down = True
    await brokers.perform(Publish(FOO))
    await brokers.clock.advance(RETRY_SOON_SECONDS * 3)
    assert brokers.requests == []
    brokers.down = False
    await brokers.clock.advance(RETRY_SOON_SECONDS)
    assert kinds(brokers.requests, 1) == [LeaderAndIsrRequest, UpdateMetadataRequest]


async def test_nothing_more_is_sent_to_a_broker_that_left(brokers: Brokers) -> None:
    brokers.down = True
    await brokers.perform(Publish(FOO), BrokerLeft(1))
    brokers.down = False
    await brokers.clock.advance(1)
    assert kinds(brokers.requests, 1) == []
    assert kinds(brokers.requests, 2) == [LeaderAndIsrRequest, UpdateMetadataRequest, UpdateMetadataRequest]


async def test_a_broker_that_joins_again_gets_a_new_connection(brokers: Brokers) -> None:
    before = brokers.connects
    requests = await brokers.perform(BrokerJoined(1))
    assert brokers.connects == before + 1
    assert len(kinds(requests, 1)) == 5


async def test_an_effect_that_is_no_command_is_an_error(brokers: Brokers) -> None:
    with pytest.raises(AssertionError):
        await brokers.perform(ConfigsChanged(ResourceType.TOPIC, "foo"))


async def test_a_failed_log_directory_is_submitted_as_an_event(brokers: Brokers) -> None:
    rows = [LeaderAndIsrPartitionError("foo", 0, 56), LeaderAndIsrPartitionError("foo", 1, 0)]
    brokers.answers[LeaderAndIsrRequest] = LeaderAndIsrResponse(partition_errors=rows)
    await brokers.perform(Publish(partition("foo-0", [2])))
    assert brokers.events == [LogDirFailed(2, [key("foo-0")])]


@pytest.mark.parametrize(
    ("answer", "level", "text"),
    [
        (
            LeaderAndIsrResponse(partition_errors=[LeaderAndIsrPartitionError("foo", 0, 11)]),
            logging.DEBUG,
            "broker 2 already has the state of foo-0",
        ),
        (
            LeaderAndIsrResponse(partition_errors=[LeaderAndIsrPartitionError("foo", 0, 3)]),
            logging.WARNING,
            "broker 2 refused foo-0: error 3",
        ),
        (
            LeaderAndIsrResponse(error_code=77),
            logging.WARNING,
            "broker 2 refused a LeaderAndIsrRequest: error 77",
        ),
    ],
)
async def test_refused_requests_are_logged_and_not_retried(
    brokers: Brokers, caplog: pytest.LogCaptureFixture, answer: Any, level: int, text: str
) -> None:
    caplog.set_level(logging.DEBUG, "backends")
    brokers.answers[LeaderAndIsrRequest] = answer
    await brokers.perform(Publish(partition("foo-0", [2])))
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(level, text)]
    assert brokers.links.idle


async def test_confirmed_drops_are_reported_and_refused_ones_are_logged(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    confirmed: list[tuple[int, list[DropReplica]]] = []
    brokers.links.on_dropped = lambda broker, drops: confirmed.append((broker, list(drops)))
    rows = [StopReplicaPartitionError("foo", 0, 0), StopReplicaPartitionError("foo", 1, 56)]
    brokers.answers[StopReplicaRequest] = StopReplicaResponse(partition_errors=rows)
    drops = [DropReplica("foo", number, (2,), 7) for number in range(2)]
    await brokers.perform(*drops)
    assert confirmed == [(2, drops[:1])]
    assert "broker 2 refused to delete its replica of foo-1: error 56" in caplog.text


def traced_memory() -> int:
    """Return the bytes in use.

    A collection also empties the free lists of tuples, which would count as in use.
    """
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.whole
async def test_pending_changes_for_an_unreachable_broker_are_bounded_and_end_in_the_final_state(
    brokers: Brokers,
) -> None:
    """100,000 changes of the same 1,000 partitions, while broker 1 is registered and cannot be reached."""
    brokers.unreachable.add(1)
    partitions = [partition(f"foo-{number}", [1, 2, 3]) for number in range(1000)]

    async def change(rounds: range) -> None:
        for epoch in rounds:
            for made in partitions:
                brokers.links.perform([Publish(made._replace(leader_epoch=epoch))])
            await brokers.perform()

    tracemalloc.start()
    try:
        await change(range(1, 10))
        before = traced_memory()
        await change(range(10, 101))
        after = traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 100_000  # 91,000 changes: about a byte each
    brokers.unreachable.clear()
    await brokers.clock.advance(RETRY_SOON_SECONDS)
    rows = [
        (row.partition_index, row.leader_epoch)
        for number, request in brokers.requests
        if number == 1 and isinstance(request, LeaderAndIsrRequest)
        for topic in request.topic_states
        for row in topic.partition_states
    ]
    assert dict(rows) == dict.fromkeys(range(1000), 100)
    assert len(rows) <= 1250  # at most one batch was in flight, then each partition once
    assert brokers.links.idle


def named(brokers: Brokers, broker: int, topic: str) -> int:
    """Return how many rows of StopReplica requests to the broker name a topic that begins like this."""
    return sum(
        each.topic_name.startswith(topic)
        for number, request in brokers.requests
        if number == broker and isinstance(request, StopReplicaRequest)
        for each in request.topic_states
    )


async def create_and_delete(brokers: Brokers, count: int) -> None:
    for number in range(count):
        topic = f"short-{number}"
        brokers.links.perform([Publish(partition(f"{topic}-0", [1, 2, 3]), new=(1, 2, 3))])
        await asyncio.sleep(0)
        brokers.links.perform([DropReplica(topic, 0, (1, 2, 3), TOPIC_DELETED)])
        await asyncio.sleep(0)
    await settle()


@pytest.mark.parametrize("joined_before", [True, False])
async def test_deleted_topics_that_an_unreachable_broker_never_knew_are_forgotten(
    brokers: Brokers, joined_before: bool
) -> None:
    broker = 1 if joined_before else 3
    brokers.unreachable.add(broker)
    if not joined_before:
        await brokers.perform(BrokerJoined(broker))
    await create_and_delete(brokers, 500)
    brokers.unreachable.clear()
    await brokers.clock.advance(RETRY_SOON_SECONDS)
    await settle()
    # One batch was in flight, and a few were queued.
    assert named(brokers, broker, "short") < 20
    assert named(brokers, 2, "short") == 500
    assert brokers.links.idle


async def test_topics_created_while_the_state_is_sent_are_dropped(brokers: Brokers) -> None:
    brokers.busy = asyncio.Event()
    await brokers.perform(BrokerJoined(3))
    await create_and_delete(brokers, 50)
    brokers.busy.set()
    await settle(500)
    assert named(brokers, 3, "short") == 50


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
        now = state.cluster.partition(*key(name))
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
    partitions = list(changes.controller.state.cluster.all_partitions())
    assert {k: epoch for k, (epoch, _) in broker.logs.items()} == {
        p.key: p.leader_epoch for p in partitions if BROKER in p.replicas
    }
    assert broker.metadata == {p.key: (p.leader_epoch, p.replicas) for p in partitions}
    for recreated in deleted & logs_before.keys() & broker.logs.keys():
        assert broker.logs[recreated][1] != logs_before[recreated][1]
