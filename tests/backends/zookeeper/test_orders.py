"""KIP-236 by znode: a plan, its cancellation, and the queue."""

from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from backends.clock import settle
from backends.zookeeper import paths
from controller.model import ResourceType
from tests.backends.zookeeper.trees import put, read
from tests.backends.zookeeper.world import Zookeeper
from tests.builders import key


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    world = await Zookeeper().start()
    await world.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 1]})
    yield world
    await world.stop()


async def order(world: Zookeeper, path: str, moves: Mapping[str, Sequence[int]]) -> None:
    rows = [
        {"topic": key(name).topic, "partition": key(name).partition, "replicas": to}
        for name, to in moves.items()
    ]
    await put(world.tree, path, {"version": 1, "partitions": rows})
    await settle(300)


async def cancel(world: Zookeeper) -> None:
    await put(world.tree, paths.CANCEL, b"")
    await settle(300)


def entries(
    world: Zookeeper, path: str = paths.REASSIGN
) -> dict[str, tuple[list[int], list[int] | None]] | None:
    """The plan by partition: replicas and original replicas; None when there is no znode."""
    plan = read(world.tree, path)
    return plan and {
        f"{row['topic']}-{row['partition']}": (row["replicas"], row.get("original_replicas"))
        for row in plan["partitions"]
    }


async def test_a_plan_gets_its_original_replicas_and_goes_with_its_last_move(world: Zookeeper) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    assert entries(world) == {"foo-0": ([4, 5, 6], [1, 2, 3]), "foo-1": ([4, 5, 6], [2, 3, 1])}
    await world.until_idle()
    await settle(300)
    assert world.hosts("foo-0") == {4, 5, 6}
    assert entries(world) is None


async def test_entries_that_cannot_be_are_named_and_removed(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [4, 5, 6], "foo-1": [], "bar-7": [1], "foo-9": [1]})
    assert entries(world) == {"foo-0": ([4, 5, 6], [1, 2, 3])}
    for name in ("foo-1", "bar-7", "foo-9"):
        assert f"{name} is not reassigned" in caplog.text
    assert world.replicas("foo-1") == (2, 3, 1)


async def test_a_plan_that_is_done_at_once_is_gone_at_once(world: Zookeeper) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [3, 2, 1]})
    assert entries(world) is None
    assert world.replicas("foo-0") == (3, 2, 1)


async def test_garbage_stays_until_someone_removes_it(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await put(world.tree, paths.REASSIGN, b"{garbage")
    await settle(200)
    assert world.tree.nodes[paths.REASSIGN].data == b"{garbage"
    assert f"{paths.REASSIGN} is passed over: it is not JSON" in caplog.text
    await order(world, paths.REASSIGN, {"foo-0": [3, 2, 1]})
    assert world.replicas("foo-0") == (3, 2, 1)


async def test_what_is_written_over_a_plan_is_ignored(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [4, 5, 6]})
    await order(world, paths.REASSIGN, {"foo-1": [4, 5, 6]})
    assert entries(world) == {"foo-0": ([4, 5, 6], [1, 2, 3])}
    assert world.wanted("foo-1") is None
    assert "was written over while it was carried out: ignored" in caplog.text


async def test_an_order_by_the_api_takes_its_partition_out_of_the_plan(world: Zookeeper) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    await world.alter({"foo-0": [5, 4, 1]})
    await settle(200)
    assert entries(world) == {"foo-1": ([4, 5, 6], [2, 3, 1])}


async def test_a_cancellation_restores_the_originals_and_leaves_no_znode(world: Zookeeper) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [3, 4, 2], "foo-1": [4, 5, 6]})
    await world.advance(0.3)
    await cancel(world)
    assert (world.replicas("foo-0"), world.replicas("foo-1")) == ((1, 2, 3), (2, 3, 1))
    assert (entries(world), paths.CANCEL in world.tree.nodes) == (None, False)


async def test_a_cancellation_takes_the_cancelled_off_the_throttles(world: Zookeeper) -> None:
    await world.having(
        {"bar-0": [1, 2], "bar-1": [2, 1]}, leader_replication_throttled_replicas="0:1,0:2,1:2"
    )
    await order(world, paths.REASSIGN, {"bar-0": [3, 4]})
    await cancel(world)
    assert world.state.config(ResourceType.TOPIC, "bar", "leader.replication.throttled.replicas") == "1:2"


async def test_without_its_original_an_entry_is_not_cancelled_and_stays(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await world.alter({"foo-0": [4, 5, 6]})
    world.tree.nodes[paths.CANCEL] = world.tree.nodes[paths.TOPICS]
    await order(world, paths.REASSIGN, {"foo-0": [4, 5, 6]})
    del world.tree.nodes[paths.CANCEL]
    await cancel(world)
    assert "foo-0 is not cancelled: it has no original_replicas" in caplog.text
    assert entries(world) == {"foo-0": ([4, 5, 6], None)}


async def test_what_would_lose_data_is_not_cancelled_and_stays(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await world.having({"bar-0": [1]})
    await order(world, paths.REASSIGN, {"bar-0": [2, 3]})
    await world.stop_broker(3, controlled=False)
    await world.until(lambda: 2 in world["bar-0"].isr)
    await world.stop_broker(1, controlled=True)
    await cancel(world)
    assert entries(world) == {"bar-0": ([2, 3], [1])}
    assert "bar-0 is not reassigned: Unable to revert" in caplog.text


async def test_a_cancellation_with_nothing_pending_just_goes(world: Zookeeper) -> None:
    await cancel(world)
    assert paths.CANCEL not in world.tree.nodes


async def test_a_queued_plan_joins_the_plan_as_it_starts(world: Zookeeper) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [4, 5, 6]})
    await order(world, paths.QUEUE, {"foo-0": [1, 2, 4], "foo-1": [3, 2, 5]})
    assert entries(world, paths.QUEUE) is None
    assert entries(world) == {"foo-1": ([3, 2, 5], [2, 3, 1]), "foo-0": ([1, 2, 4], [1, 2, 3])}
    await world.until_idle()
    await settle(300)
    assert (world.replicas("foo-0"), world.replicas("foo-1")) == ((1, 2, 4), (3, 2, 5))
    assert entries(world) is None


async def test_who_takes_over_goes_on_with_the_plan(world: Zookeeper) -> None:
    await order(world, paths.REASSIGN, {"foo-0": [4, 5, 6]})
    again = await world.survivor(world.commits)
    await settle(300)
    assert entries(again) == {"foo-0": ([4, 5, 6], [1, 2, 3])}
    await again.until_idle()
    await settle(300)
    assert entries(again) is None
    await again.stop()
