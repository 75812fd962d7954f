"""The order to delete a dropped replica outlives our crash and the broker's, and never meets a replica."""

from collections.abc import AsyncIterator, Callable

import pytest

from backends.zookeeper.store.drops import Drops
from backends.zookeeper.store.record_chunks import RecordChunks, chunk_parent
from backends.zookeeper.store.records import Dropped
from backends.zookeeper.store.znode_cache import StoredTopic, ZnodeCache
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.messages.effects import DropReplica
from protocol.messages.stop_replica_request import StopReplicaRequest
from tests.backends.zookeeper.trees import put, read
from tests.backends.zookeeper.world import NEW, OLD, Zookeeper
from tests.builders import key, partition

PORT_OF_1 = 9092


@pytest.fixture(params=[OLD, NEW])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[Zookeeper]:
    world = await Zookeeper(version=request.param).start()
    await world.having({"foo-0": [1, 2]})
    yield world
    await world.stop()


def notes(world: Zookeeper) -> set[tuple[str, int, int]]:
    """Topic, partition and broker of each note in ZooKeeper."""
    above = chunk_parent(Dropped)
    chunks = [read(world.tree, path) for path in world.tree.nodes if path.startswith(f"{above}/")]
    return {(topic, number, broker) for chunk in chunks for topic, number, broker, _ in chunk["records"]}


def told(world: Zookeeper, broker: int) -> int:
    """How many requests to delete replicas the broker has answered."""
    return len(world.sent(StopReplicaRequest, [broker]))


async def dropped_in_vain(world: Zookeeper) -> Callable[[], None]:
    """Broker 1, which cannot be reached, is no replica any more; what makes it reachable again."""
    broker = world.network.listening.pop(PORT_OF_1)
    await world.alter({"foo-0": [2]})
    await settle(200)
    assert (world["foo-0"].replicas, told(world, 1), notes(world)) == ((2,), 0, {("foo", 0, 1)})
    return lambda: world.network.listening.update({PORT_OF_1: broker})


async def test_a_note_stays_until_the_broker_confirms_the_drop(world: Zookeeper) -> None:
    reconnect = await dropped_in_vain(world)
    reconnect()
    await world.advance(1)
    assert (told(world, 1), notes(world)) == (1, set())


async def test_the_next_controller_repeats_the_drop(world: Zookeeper) -> None:
    await dropped_in_vain(world)
    next_life = await world.survivor(world.commits)
    await settle(200)
    assert (told(next_life, 1), notes(next_life)) == (1, set())
    await next_life.stop()


async def test_a_drop_is_repeated_when_the_broker_returns(world: Zookeeper) -> None:
    reconnect = await dropped_in_vain(world)
    reconnect()
    await world.stop_broker(1, controlled=False)
    await world.cluster.start_broker(1)
    await world.advance(1)
    assert (told(world, 1), notes(world)) == (1, set())


async def test_a_replica_dropped_while_its_broker_was_down_is_deleted_when_it_returns(
    world: Zookeeper,
) -> None:
    await world.stop_broker(1, controlled=False)
    await world.alter({"foo-0": [2]})
    await world.until_idle()
    await settle(200)
    assert notes(world) == {("foo", 0, 1)}
    await world.cluster.start_broker(1)
    await world.advance(1)
    assert (told(world, 1), notes(world)) == (1, set())


async def test_a_dropped_replica_that_is_added_again_is_not_deleted(world: Zookeeper) -> None:
    reconnect = await dropped_in_vain(world)
    await world.alter({"foo-0": [2, 1]})
    assert notes(world) == set()
    reconnect()
    await world.until_idle()
    assert (told(world, 1), world.hosts("foo-0")) == (0, {1, 2})


async def test_a_dropped_replica_that_another_controller_added_is_not_deleted(world: Zookeeper) -> None:
    await dropped_in_vain(world)
    topic = read(world.tree, paths.topic("foo"))
    await put(world.tree, paths.topic("foo"), topic | {"partitions": {"0": [2, 1]}})
    next_life = await world.survivor(len(world.tree.log))
    await settle(200)
    assert (told(next_life, 1), next_life["foo-0"].replicas) == (0, (2, 1))
    await next_life.stop()


async def test_a_replica_of_a_partition_without_a_leader_is_not_deleted(world: Zookeeper) -> None:
    reconnect = await dropped_in_vain(world)
    reconnect()
    for broker in (1, 2):
        await world.stop_broker(broker, controlled=False)
    await world.cluster.start_broker(1)
    await world.advance(1)
    assert (told(world, 1), notes(world)) == (0, {("foo", 0, 1)})
    await world.cluster.start_broker(2)
    await world.advance(1)
    assert (told(world, 1), notes(world)) == (1, set())


async def test_deleting_a_topic_removes_its_notes(world: Zookeeper) -> None:
    await dropped_in_vain(world)
    await world.delete("foo")
    await settle(200)
    assert notes(world) == set()


async def test_a_drop_is_repeated_after_a_crash_at_any_write() -> None:
    world = await Zookeeper(version=OLD).start()
    await world.having({"foo-0": [1, 2], "foo-1": [2, 1]})
    first = world.commits
    await world.alter({"foo-0": [3, 4], "foo-1": [4, 2]})
    await world.until_idle()
    dropped = 0
    for commits in range(first, world.commits + 1):
        next_life = Zookeeper(world.tree.survived(commits), version=OLD)
        pending = notes(next_life)
        dropped += len(pending)
        await next_life.start()
        await settle(200)
        sent = [request for broker in (1, 2) for request in next_life.sent(StopReplicaRequest, [broker])]
        rows = [row for request in sent for topic in request.topic_states for row in topic.partition_states]
        assert len(rows) >= len(pending)
        await next_life.until_idle()
        await settle(200)
        assert notes(next_life) == set()
        await next_life.stop()
    assert dropped >= 3
    await world.stop()


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
