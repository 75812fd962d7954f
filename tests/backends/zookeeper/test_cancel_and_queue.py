"""The cancel znode and the queue znode, in a cluster that carries out what they lead to (KIP-236)."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import Create
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS
from controller.messages.job_events import AlterRow, AlterTopic, Queue
from controller.model.cluster import ResourceType
from tests.backends.zookeeper.orders_by_znode import document, end, held, one_at_a_time, write
from tests.backends.zookeeper.trees import put
from tests.backends.zookeeper.world import Zookeeper

THREE = {"foo-0": [1, 2, 3], "foo-1": [2, 3, 1], "foo-2": [3, 1, 2]}


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    world = await Zookeeper().start()
    await world.having(THREE)
    yield world
    await world.stop()


# ---- /admin/cancel_reassignment_in_progress ----------------------------------------------------------------------


async def test_a_cancel_rolls_back_all_that_is_pending(world: Zookeeper) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 5, 1], foo_1=[5, 3, 1]))
    await write(world, paths.CANCEL)
    await end(world)
    assert [world[name].replicas for name in ("foo-0", "foo-1")] == [(1, 2, 3), (2, 3, 1)]
    assert world.hosts("foo-0") == {1, 2, 3}
    assert paths.CANCEL not in world.tree.nodes
    assert held(world) is None


async def test_a_cancel_that_stops_keeps_what_has_arrived(world: Zookeeper) -> None:
    await world.configure(**{"reassignment.cancel.mode": "stop"})
    await write(world, paths.REASSIGN, document(foo_0=[4, 5, 1]))
    world.cluster.slow_broker(5, 0)
    await world.until(lambda: 4 in world["foo-0"].isr)
    await write(world, paths.CANCEL)
    world.cluster.slow_broker(5, 1)
    await end(world)
    assert (set(world["foo-0"].replicas), held(world)) == ({1, 2, 3, 4}, None)
    assert paths.CANCEL not in world.tree.nodes


async def test_what_has_ended_and_what_45_ordered_is_not_rolled_back(world: Zookeeper) -> None:
    await one_at_a_time(world)
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    await world.alter({"foo-2": [6, 1, 2]})
    await world.until(lambda: set(held(world) or ()) == {"foo-1"})
    await write(world, paths.CANCEL)
    await end(world)
    assert [world.hosts(name) for name in THREE] == [{2, 3, 4}, {1, 2, 3}, {1, 2, 6}]


async def test_a_document_written_with_its_cancel_is_not_begun(world: Zookeeper) -> None:
    await put(world.tree, paths.CANCEL, b"")
    await write(world, paths.REASSIGN, document(foo_0=[4, 5, 6]))
    await end(world)
    assert held(world) is None
    assert world["foo-0"].replicas == (1, 2, 3)
    assert paths.CANCEL not in world.tree.nodes


async def test_what_would_lose_its_data_is_passed_over_and_goes_on(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 5, 6], foo_1=[5, 3, 1]))
    await world.until(lambda: 4 in world["foo-0"].isr and world["foo-0"].moving)
    for broker in (1, 2, 3):
        await world.stop_broker(broker, controlled=False)
    assert set(world["foo-0"].isr) <= {4, 5, 6}
    await write(world, paths.CANCEL)
    assert "foo-0 is not rolled back" in caplog.text
    assert paths.CANCEL not in world.tree.nodes
    assert "foo-0" in (held(world) or ())


async def test_cancelled_partitions_leave_their_topics_lists_of_throttled_replicas(world: Zookeeper) -> None:
    lists = {LEADER_REPLICAS: "0:1,0:2,1:2", FOLLOWER_REPLICAS: "0:4"}
    await world.having({"bar-0": [1, 2], "bar-1": [2, 1]}, **lists)
    await write(world, paths.REASSIGN, document(bar_0=[4, 2]))
    await write(world, paths.CANCEL)
    assert world.state.config(ResourceType.TOPIC, "bar", LEADER_REPLICAS) == "1:2"
    assert world.state.config(ResourceType.TOPIC, "bar", FOLLOWER_REPLICAS) is None


async def test_a_cancel_of_nothing_is_cleared_away(world: Zookeeper) -> None:
    await write(world, paths.CANCEL, b"whatever")
    assert paths.CANCEL not in world.tree.nodes
    await world.alter({"foo-0": [4, 2, 3]})
    await end(world)
    assert world.hosts("foo-0") == {2, 3, 4}


async def test_at_take_over_a_cancel_comes_before_a_document(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    """What it does not know the original of, it passes over; that is begun when the cancel is gone."""
    rows = document(foo_0=[3, 2, 1], foo_1=[4, 3, 1], customers_0=[1])
    rows["partitions"][0]["original_replicas"] = [1, 2, 3]
    await put(world.tree, paths.CANCEL, b"")
    world.tree.write([Create(paths.REASSIGN)], session=9)
    await put(world.tree, paths.REASSIGN, rows)
    next_life = await world.survivor(len(world.tree.log))
    await settle(200)
    assert "foo-1 is not rolled back: original_replicas is missing" in caplog.text
    assert paths.CANCEL not in next_life.tree.nodes
    assert held(next_life) == {"foo-1": (4, 3, 1)}
    assert next_life["foo-0"].replicas == (1, 2, 3)
    await end(next_life)
    await next_life.stop()


# ---- /admin/reassign_partitions_queue ----------------------------------------------------------------------------


async def test_a_queued_plan_moves_into_the_document_as_it_begins(world: Zookeeper) -> None:
    await one_at_a_time(world)
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await write(world, paths.QUEUE, document(foo_1=[5, 3, 1]))
    assert held(world) == {"foo-0": (4, 2, 3)}
    assert held(world, paths.QUEUE) == {"foo-1": (5, 3, 1)}
    await world.until(lambda: held(world) == {"foo-1": (5, 3, 1)})
    assert held(world, paths.QUEUE) is None
    await end(world)
    assert held(world) is None


async def test_a_conflict_is_rolled_back_before_it_begins(world: Zookeeper) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 5, 6]))
    await write(world, paths.QUEUE, document(foo_0=[5, 2, 3]))
    await end(world)
    assert world["foo-0"].replicas == (5, 2, 3)
    assert (held(world), held(world, paths.QUEUE)) == (None, None)
    endings = [each.ending.name for rows in world.state.finished.values() for each in rows.values()]
    assert endings == ["ROLLED_BACK", "DONE"]


async def test_a_write_to_a_queue_that_is_not_empty_is_ignored(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await one_at_a_time(world)
    await world.alter({"foo-0": [4, 2, 3]})
    await write(world, paths.QUEUE, document(foo_1=[5, 3, 1]))
    await write(world, paths.QUEUE, document(foo_2=[5, 1, 2]))
    assert "was overwritten while its plan was carried out: ignored" in caplog.text
    await end(world)
    assert [world.hosts(name) for name in THREE] == [{2, 3, 4}, {1, 3, 5}, {1, 2, 3}]


async def test_a_queue_waits_for_what_is_queued_otherwise(world: Zookeeper) -> None:
    await one_at_a_time(world)
    await world.alter({"foo-0": [4, 2, 3]})
    await world.do(Queue([AlterTopic("foo", [AlterRow(1, (5, 3, 1))])]))
    await write(world, paths.QUEUE, document(foo_2=[5, 1, 2]))
    assert held(world, paths.QUEUE) == {"foo-2": (5, 1, 2)}
    assert world.state.reassignments.keys() == {("foo", 0), ("foo", 1)}
    await end(world)
    assert world.hosts("foo-2") == {1, 2, 5}
    assert held(world, paths.QUEUE) is None
