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


async def test_a_note_lasts_until_the_broker_confirms(world: Zookeeper) -> None:
    reconnect = await dropped_in_vain(world)
    reconnect()
    await world.advance(1)
    assert (told(world, 1), notes(world)) == (1, set())


async def test_the_next_controller_tells_it(world: Zookeeper) -> None:
    await dropped_in_vain(world)
    next_life = await world.survivor(world.commits)
    await settle(200)
    assert (told(next_life, 1), notes(next_life)) == (1, set())
    await next_life.stop()


async def test_a_broker_that_returns_is_told_again(world: Zookeeper) -> None:
    reconnect = await dropped_in_vain(world)
    reconnect()
    await world.stop_broker(1, controlled=False)
    await world.cluster.start_broker(1)
    await world.advance(1)
    assert (told(world, 1), notes(world)) == (1, set())


async def test_a_replica_that_was_dropped_while_its_broker_was_down_goes_when_it_returns(
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


async def test_a_replica_again_is_not_deleted(world: Zookeeper) -> None:
    reconnect = await dropped_in_vain(world)
    await world.alter({"foo-0": [2, 1]})
    assert notes(world) == set()
    reconnect()
    await world.until_idle()
    assert (told(world, 1), world.hosts("foo-0")) == (0, {1, 2})


async def test_what_another_controller_has_made_a_replica_again_is_not_deleted(world: Zookeeper) -> None:
    await dropped_in_vain(world)
    topic = read(world.tree, paths.topic("foo"))
    await put(world.tree, paths.topic("foo"), topic | {"partitions": {"0": [2, 1]}})
    next_life = await world.survivor(len(world.tree.log))
    await settle(200)
    assert (told(next_life, 1), next_life["foo-0"].replicas) == (0, (2, 1))
    await next_life.stop()


async def test_a_copy_that_may_be_the_last_one_is_not_deleted(world: Zookeeper) -> None:
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


async def test_the_notes_of_a_topic_go_with_it(world: Zookeeper) -> None:
    await dropped_in_vain(world)
    await world.delete("foo")
    await settle(200)
    assert notes(world) == set()


async def test_wherever_we_die_what_was_dropped_is_told_to_go() -> None:
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


def test_a_note_that_is_newer_than_what_was_confirmed_stays() -> None:
    chunks, cache = RecordChunks(), ZnodeCache()
    chunks.put(Dropped("foo", 0, 1, 7))
    cache.topics["foo"] = StoredTopic(0, partitions=[partition("foo-0", [2, 3])])
    drops = Drops(chunks, cache)
    assert not drops.confirmed(1, [DropReplica("foo", 0, (1,), 6)])
    assert not drops.confirmed(4, [DropReplica("foo", 0, (4,), 7)])
    assert [each.brokers for each in drops.of({1, 4})] == [(1,)]
    assert drops.confirmed(1, [DropReplica("foo", 0, (1,), 7)])
    assert (list(drops.of({1})), list(chunks.drops())) == ([], [])


def test_what_is_known_of_no_topic_is_not_deleted() -> None:
    chunks = RecordChunks()
    chunks.put(Dropped("gone", 0, 1, 7))
    assert list(Drops(chunks, ZnodeCache()).of({1})) == []


def test_a_list_that_changes_twice_in_one_write_is_followed() -> None:
    chunks, cache = RecordChunks(), ZnodeCache()
    cache.topics["foo"] = StoredTopic(0, partitions=[partition("foo-0", [1, 2])])
    drops = Drops(chunks, cache)
    drops.note([partition("foo-0", [2, 3]), partition("foo-0", [1, 3])])
    assert [note.broker for note in chunks.drops()] == [2]
    assert key("foo-0") == next(chunks.drops()).partition_key
