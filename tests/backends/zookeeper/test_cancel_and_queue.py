"""The cancel znode and the queue znode in an embedded cluster (KIP-236)."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import Create
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.messages.job_events import AlterRow, AlterTopic, Queue
from controller.model.cluster import ResourceType
from controller.model.configs import FOLLOWER_REPLICAS, LEADER_REPLICAS
from tests.backends.zookeeper.harness import ZookeeperHarness
from tests.backends.zookeeper.orders_by_znode import document, end, held, one_at_a_time, write
from tests.backends.zookeeper.trees import write_json

THREE = {"foo-0": [1, 2, 3], "foo-1": [2, 3, 1], "foo-2": [3, 1, 2]}


@pytest.fixture
async def harness() -> AsyncIterator[ZookeeperHarness]:
    harness = await ZookeeperHarness().start()
    await harness.having(THREE)
    yield harness
    await harness.stop()


# ---- /admin/cancel_reassignment_in_progress ----------------------------------------------------------------


async def test_a_cancel_rolls_back_all_that_is_pending(harness: ZookeeperHarness) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 5, 1], foo_1=[5, 3, 1]))
    await write(harness, paths.CANCEL)
    await end(harness)
    assert [harness[name].replicas for name in ("foo-0", "foo-1")] == [(1, 2, 3), (2, 3, 1)]
    assert harness.hosts("foo-0") == {1, 2, 3}
    assert paths.CANCEL not in harness.tree.nodes
    assert held(harness) is None


async def test_a_cancel_that_stops_keeps_the_arrived_replicas(harness: ZookeeperHarness) -> None:
    await harness.configure(**{"reassignment.cancel.mode": "stop"})
    await write(harness, paths.REASSIGN, document(foo_0=[4, 5, 1]))
    harness.cluster.slow_broker(5, 0)
    await harness.until(lambda: 4 in harness["foo-0"].isr)
    await write(harness, paths.CANCEL)
    harness.cluster.slow_broker(5, 1)
    await end(harness)
    assert (set(harness["foo-0"].replicas), held(harness)) == ({1, 2, 3, 4}, None)
    assert paths.CANCEL not in harness.tree.nodes


async def test_completed_and_client_reassignments_are_not_rolled_back(harness: ZookeeperHarness) -> None:
    await one_at_a_time(harness)
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    await harness.alter({"foo-2": [6, 1, 2]})
    await harness.until(lambda: set(held(harness) or ()) == {"foo-1"})
    await write(harness, paths.CANCEL)
    await end(harness)
    assert [harness.hosts(name) for name in THREE] == [{2, 3, 4}, {1, 2, 3}, {1, 2, 6}]


async def test_a_plan_written_together_with_its_cancel_is_not_started(harness: ZookeeperHarness) -> None:
    await write_json(harness.tree, paths.CANCEL, b"")
    await write(harness, paths.REASSIGN, document(foo_0=[4, 5, 6]))
    await end(harness)
    assert held(harness) is None
    assert harness["foo-0"].replicas == (1, 2, 3)
    assert paths.CANCEL not in harness.tree.nodes


async def test_a_cancel_that_would_lose_data_is_skipped(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 5, 6], foo_1=[5, 3, 1]))
    await harness.until(lambda: 4 in harness["foo-0"].isr and harness["foo-0"].moving)
    for broker in (1, 2, 3):
        await harness.stop_broker(broker, controlled=False)
    assert set(harness["foo-0"].isr) <= {4, 5, 6}
    await write(harness, paths.CANCEL)
    assert "foo-0 is not rolled back" in caplog.text
    assert paths.CANCEL not in harness.tree.nodes
    assert "foo-0" in (held(harness) or ())


async def test_cancelled_partitions_are_removed_from_lists_of_throttled_replicas(
    harness: ZookeeperHarness,
) -> None:
    lists = {LEADER_REPLICAS: "0:1,0:2,1:2", FOLLOWER_REPLICAS: "0:4"}
    await harness.having({"bar-0": [1, 2], "bar-1": [2, 1]}, **lists)
    await write(harness, paths.REASSIGN, document(bar_0=[4, 2]))
    await write(harness, paths.CANCEL)
    assert harness.state.settings.config(ResourceType.TOPIC, "bar", LEADER_REPLICAS) == "1:2"
    assert harness.state.settings.config(ResourceType.TOPIC, "bar", FOLLOWER_REPLICAS) is None


async def test_a_cancel_without_a_plan_is_deleted(harness: ZookeeperHarness) -> None:
    await write(harness, paths.CANCEL, b"whatever")
    assert paths.CANCEL not in harness.tree.nodes
    await harness.alter({"foo-0": [4, 2, 3]})
    await end(harness)
    assert harness.hosts("foo-0") == {2, 3, 4}


async def test_a_new_controller_handles_a_cancel_before_a_plan(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    """An entry without an original is skipped, and started when the cancel znode is deleted."""
    rows = document(foo_0=[3, 2, 1], foo_1=[4, 3, 1], customers_0=[1])
    rows["partitions"][0]["original_replicas"] = [1, 2, 3]
    await write_json(harness.tree, paths.CANCEL, b"")
    harness.tree.write([Create(paths.REASSIGN)], session=9)
    await write_json(harness.tree, paths.REASSIGN, rows)
    next_controller = await harness.survivor(len(harness.tree.log))
    await settle(200)
    assert "foo-1 is not rolled back: original_replicas is missing" in caplog.text
    assert paths.CANCEL not in next_controller.tree.nodes
    assert held(next_controller) == {"foo-1": (4, 3, 1)}
    assert next_controller["foo-0"].replicas == (1, 2, 3)
    await end(next_controller)
    await next_controller.stop()


async def test_a_cancel_withdraws_the_queued_plan(harness: ZookeeperHarness) -> None:
    await one_at_a_time(harness)
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await write(harness, paths.QUEUE, document(foo_0=[5, 2, 3], foo_1=[5, 3, 1]))
    await write(harness, paths.CANCEL)
    await end(harness)
    assert (held(harness), held(harness, paths.QUEUE)) == (None, None)
    assert [harness[name].replicas for name in THREE] == [tuple(each) for each in THREE.values()]


async def test_a_cancel_withdraws_a_queued_plan_that_was_not_accepted_yet(harness: ZookeeperHarness) -> None:
    await one_at_a_time(harness)
    await harness.alter({"foo-0": [4, 2, 3]})
    await harness.do(Queue([AlterTopic("foo", [AlterRow(1, (5, 3, 1))])]))
    await write(harness, paths.QUEUE, document(foo_2=[5, 1, 2]))
    await write(harness, paths.CANCEL)
    await end(harness)
    assert held(harness, paths.QUEUE) is None
    assert [harness.hosts(name) for name in THREE] == [{2, 3, 4}, {1, 3, 5}, {1, 2, 3}]


# ---- /admin/reassign_partitions_queue ----------------------------------------------------------------------


async def test_entries_of_the_queue_move_into_the_plan_as_they_start(harness: ZookeeperHarness) -> None:
    await one_at_a_time(harness)
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await write(harness, paths.QUEUE, document(foo_1=[5, 3, 1]))
    assert held(harness) == {"foo-0": (4, 2, 3)}
    assert held(harness, paths.QUEUE) == {"foo-1": (5, 3, 1)}
    await harness.until(lambda: held(harness) == {"foo-1": (5, 3, 1)})
    assert held(harness, paths.QUEUE) is None
    await end(harness)
    assert held(harness) is None


async def test_a_conflicting_reassignment_is_rolled_back_first(harness: ZookeeperHarness) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 5, 6]))
    await write(harness, paths.QUEUE, document(foo_0=[5, 2, 3]))
    await end(harness)
    assert harness["foo-0"].replicas == (5, 2, 3)
    assert (held(harness), held(harness, paths.QUEUE)) == (None, None)
    endings = [each.ending.name for rows in harness.state.orders.finished.values() for each in rows.values()]
    assert endings == ["ROLLED_BACK", "DONE"]


async def test_a_queue_that_overwrites_a_pending_one_is_ignored(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await one_at_a_time(harness)
    await harness.alter({"foo-0": [4, 2, 3]})
    await write(harness, paths.QUEUE, document(foo_1=[5, 3, 1]))
    await write(harness, paths.QUEUE, document(foo_2=[5, 1, 2]))
    assert "was overwritten while its plan was carried out: ignored" in caplog.text
    await end(harness)
    assert [harness.hosts(name) for name in THREE] == [{2, 3, 4}, {1, 3, 5}, {1, 2, 3}]


async def test_a_queue_waits_for_another_queued_plan(harness: ZookeeperHarness) -> None:
    await one_at_a_time(harness)
    await harness.alter({"foo-0": [4, 2, 3]})
    await harness.do(Queue([AlterTopic("foo", [AlterRow(1, (5, 3, 1))])]))
    await write(harness, paths.QUEUE, document(foo_2=[5, 1, 2]))
    assert held(harness, paths.QUEUE) == {"foo-2": (5, 1, 2)}
    assert harness.state.orders.reassignments.keys() == {("foo", 0), ("foo", 1)}
    await end(harness)
    assert harness.hosts("foo-2") == {1, 2, 5}
    assert held(harness, paths.QUEUE) is None
