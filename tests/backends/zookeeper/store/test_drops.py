"""Drops survive crashes of the controller and of the broker, and never delete a current replica."""

from collections.abc import AsyncIterator, Callable

import pytest

from backends.zookeeper.store.drops import Drops
from backends.zookeeper.store.records import Dropped, RecordChunks, chunk_parent
from backends.zookeeper.store.znode_cache import StoredTopic, ZnodeCache
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.messages.effects import DropReplica
from protocol.messages.stop_replica_request import StopReplicaRequest
from tests.backends.zookeeper.harness import NEW, OLD, ZookeeperHarness
from tests.backends.zookeeper.trees import read_json, write_json
from tests.builders import key, partition

PORT_OF_1 = 9092


@pytest.fixture(params=[OLD, NEW])
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[ZookeeperHarness]:
    harness = await ZookeeperHarness(version=request.param).start()
    await harness.having({"foo-0": [1, 2]})
    yield harness
    await harness.stop()


def notes(harness: ZookeeperHarness) -> set[tuple[str, int, int]]:
    """Return topic, partition and broker of each note in ZooKeeper."""
    above = chunk_parent(Dropped)
    chunks = [read_json(harness.tree, path) for path in harness.tree.nodes if path.startswith(f"{above}/")]
    return {(topic, number, broker) for chunk in chunks for topic, number, broker, _ in chunk["records"]}


def told(harness: ZookeeperHarness, broker: int) -> int:
    """Return the number of StopReplica requests that the broker has answered."""
    return len(harness.sent(StopReplicaRequest, [broker]))


async def dropped_in_vain(harness: ZookeeperHarness) -> Callable[[], None]:
    """Drop the replica of broker 1, which is unreachable. Return a function that makes it reachable."""
    broker = harness.network.listening.pop(PORT_OF_1)
    await harness.alter({"foo-0": [2]})
    await settle(200)
    assert (harness["foo-0"].replicas, told(harness, 1), notes(harness)) == ((2,), 0, {("foo", 0, 1)})
    return lambda: harness.network.listening.update({PORT_OF_1: broker})


async def test_a_note_stays_until_the_broker_confirms_the_drop(harness: ZookeeperHarness) -> None:
    reconnect = await dropped_in_vain(harness)
    reconnect()
    await harness.advance(1)
    assert (told(harness, 1), notes(harness)) == (1, set())


async def test_the_next_controller_repeats_the_drop(harness: ZookeeperHarness) -> None:
    await dropped_in_vain(harness)
    next_controller = await harness.survivor(harness.commits)
    await settle(200)
    assert (told(next_controller, 1), notes(next_controller)) == (1, set())
    await next_controller.stop()


async def test_a_drop_is_repeated_when_the_broker_returns(harness: ZookeeperHarness) -> None:
    reconnect = await dropped_in_vain(harness)
    reconnect()
    await harness.stop_broker(1, controlled=False)
    await harness.cluster.start_broker(1)
    await harness.advance(1)
    assert (told(harness, 1), notes(harness)) == (1, set())


async def test_a_replica_dropped_while_its_broker_was_down_is_deleted_when_it_returns(
    harness: ZookeeperHarness,
) -> None:
    await harness.stop_broker(1, controlled=False)
    await harness.alter({"foo-0": [2]})
    await harness.until_idle()
    await settle(200)
    assert notes(harness) == {("foo", 0, 1)}
    await harness.cluster.start_broker(1)
    await harness.advance(1)
    assert (told(harness, 1), notes(harness)) == (1, set())


async def test_a_dropped_replica_that_is_added_again_is_not_deleted(harness: ZookeeperHarness) -> None:
    reconnect = await dropped_in_vain(harness)
    await harness.alter({"foo-0": [2, 1]})
    assert notes(harness) == set()
    reconnect()
    await harness.until_idle()
    assert (told(harness, 1), harness.hosts("foo-0")) == (0, {1, 2})


async def test_a_dropped_replica_that_another_controller_added_is_not_deleted(
    harness: ZookeeperHarness,
) -> None:
    await dropped_in_vain(harness)
    topic = read_json(harness.tree, paths.topic("foo"))
    await write_json(harness.tree, paths.topic("foo"), topic | {"partitions": {"0": [2, 1]}})
    next_controller = await harness.survivor(len(harness.tree.log))
    await settle(200)
    assert (told(next_controller, 1), next_controller["foo-0"].replicas) == (0, (2, 1))
    await next_controller.stop()


async def test_a_replica_of_a_partition_without_a_leader_is_not_deleted(harness: ZookeeperHarness) -> None:
    reconnect = await dropped_in_vain(harness)
    reconnect()
    for broker in (1, 2):
        await harness.stop_broker(broker, controlled=False)
    await harness.cluster.start_broker(1)
    await harness.advance(1)
    assert (told(harness, 1), notes(harness)) == (0, {("foo", 0, 1)})
    await harness.cluster.start_broker(2)
    await harness.advance(1)
    assert (told(harness, 1), notes(harness)) == (1, set())


async def test_deleting_a_topic_removes_its_notes(harness: ZookeeperHarness) -> None:
    await dropped_in_vain(harness)
    await harness.delete("foo")
    await settle(200)
    assert notes(harness) == set()


async def test_a_drop_is_repeated_after_a_crash_at_any_write() -> None:
    harness = await ZookeeperHarness(version=OLD).start()
    await harness.having({"foo-0": [1, 2], "foo-1": [2, 1]})
    first = harness.commits
    await harness.alter({"foo-0": [3, 4], "foo-1": [4, 2]})
    await harness.until_idle()
    dropped = 0
    for commits in range(first, harness.commits + 1):
        next_controller = ZookeeperHarness(harness.tree.survived(commits), version=OLD)
        pending = notes(next_controller)
        dropped += len(pending)
        await next_controller.start()
        await settle(200)
        sent = [
            request for broker in (1, 2) for request in next_controller.sent(StopReplicaRequest, [broker])
        ]
        rows = [row for request in sent for topic in request.topic_states for row in topic.partition_states]
        assert len(rows) >= len(pending)
        await next_controller.until_idle()
        await settle(200)
        assert notes(next_controller) == set()
        await next_controller.stop()
    assert dropped >= 3
    await harness.stop()


def test_a_note_newer_than_the_confirmed_drop_stays() -> None:
    chunks, cache = RecordChunks(), ZnodeCache()
    chunks.put(Dropped("foo", 0, 1, 7))
    cache.topics["foo"] = StoredTopic(0, partitions=[partition("foo-0", [2, 3])])
    drops = Drops(chunks, cache)
    assert not drops.confirmed(1, [DropReplica("foo", 0, (1,), 6)])
    assert not drops.confirmed(4, [DropReplica("foo", 0, (4,), 7)])
    assert [each.brokers for each in drops.of({1, 4})] == [(1,)]
    assert drops.confirmed(1, [DropReplica("foo", 0, (1,), 7)])
    assert (list(drops.of({1})), list(chunks.drops())) == ([], [])


def test_replicas_of_unknown_topics_are_not_deleted() -> None:
    chunks = RecordChunks()
    chunks.put(Dropped("gone", 0, 1, 7))
    assert list(Drops(chunks, ZnodeCache()).of({1})) == []


def test_two_changes_of_a_replica_list_in_one_write_are_both_noted() -> None:
    chunks, cache = RecordChunks(), ZnodeCache()
    cache.topics["foo"] = StoredTopic(0, partitions=[partition("foo-0", [1, 2])])
    drops = Drops(chunks, cache)
    drops.note([partition("foo-0", [2, 3]), partition("foo-0", [1, 3])])
    assert [note.broker for note in chunks.drops()] == [2]
    assert key("foo-0") == next(chunks.drops()).partition_key
