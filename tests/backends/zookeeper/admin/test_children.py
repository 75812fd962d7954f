"""The children of KIP-236's earlier draft in an embedded cluster."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.admin.children import child_path, decode_child
from backends.zookeeper.admin.watcher import PlanFormat
from backends.zookeeper.session.tree import Create, Delete, Znode, ensure
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from common.clock import settle
from controller.model.cluster import TopicPartition
from tests.backends.zookeeper.harness import ZookeeperHarness
from tests.backends.zookeeper.orders_by_znode import document, end, held, write
from tests.backends.zookeeper.trees import write_json

FOO_0 = child_path(TopicPartition("foo", 0))
FOO_1 = child_path(TopicPartition("foo", 1))


@pytest.fixture
async def harness() -> AsyncIterator[ZookeeperHarness]:
    harness = ZookeeperHarness(form=PlanFormat(children=True))
    await ensure(harness.tree, paths.REASSIGNMENTS)
    await harness.start()
    await harness.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 1]})
    yield harness
    await harness.stop()


def children(harness: ZookeeperHarness) -> dict[str, bytes | None]:
    above = f"{paths.REASSIGNMENTS}/"
    nodes = harness.tree.nodes.items()
    return {path.removeprefix(above): node.data for path, node in nodes if path.startswith(above)}


def node(harness: ZookeeperHarness, path: str) -> Znode:
    return harness.tree.nodes[path]


async def test_a_reassignment_has_a_child_until_it_ends(harness: ZookeeperHarness) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await harness.alter({"foo-1": [5, 3, 1]})
    await settle(200)
    assert children(harness) == {"foo": None, "foo/0": b"[4,2,3]", "foo/1": b"[5,3,1]"}
    await end(harness)
    assert children(harness) == {}


async def test_a_child_orders_a_reassignment_that_the_plan_contains(harness: ZookeeperHarness) -> None:
    await ensure(harness.tree, f"{paths.REASSIGNMENTS}/foo")
    await write(harness, FOO_0, [4, 2, 3])
    assert held(harness) == {"foo-0": (4, 2, 3)}
    await end(harness)
    assert harness.hosts("foo-0") == {2, 3, 4}
    assert (children(harness), held(harness)) == ({}, None)


async def test_a_changed_child_changes_the_target_of_the_reassignment(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    before = node(harness, FOO_0)
    await write(harness, FOO_0, [5, 2, 3])
    after = node(harness, FOO_0)
    assert (after.czxid, after.mzxid > before.mzxid) == (before.czxid, True)
    assert held(harness) == {"foo-0": (5, 2, 3)}
    await end(harness)
    assert harness.hosts("foo-0") == {2, 3, 5}


async def test_an_alter_request_changes_the_child(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    before = node(harness, FOO_0)
    await harness.alter({"foo-0": [6, 2, 3]})
    await settle(200)
    after = node(harness, FOO_0)
    assert (after.data, after.czxid, after.mzxid > before.mzxid) == (b"[6,2,3]", before.czxid, True)


async def test_a_child_with_the_original_replicas_cancels(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    await write(harness, FOO_0, [1, 2, 3])
    await end(harness)
    assert harness["foo-0"].replicas == (1, 2, 3)
    assert children(harness) == {}


async def test_a_child_that_is_deleted_too_early_is_created_again(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    await harness.tree.multi([Delete(FOO_0)])
    await settle(200)
    assert node(harness, FOO_0).data == b"[4,2,3]"
    assert f"{FOO_0} was deleted during its reassignment; it is created again" in caplog.text


@pytest.mark.parametrize("value", [b"{garbage", b"", {"replicas": [4]}, ["4"], [99], []])
async def test_an_invalid_child_is_logged_and_deleted(
    harness: ZookeeperHarness, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure(harness.tree, f"{paths.REASSIGNMENTS}/foo")
    await write(harness, FOO_0, value)
    assert FOO_0 not in harness.tree.nodes
    assert FOO_0 in caplog.text
    await harness.alter({"foo-1": [4, 3, 1]})
    await end(harness)
    assert harness.hosts("foo-1") == {1, 3, 4}


async def test_a_child_that_is_no_partition_number_is_left_unchanged(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure(harness.tree, f"{paths.REASSIGNMENTS}/foo/zero")
    await settle(200)
    assert "zero is not a partition" in caplog.text
    await harness.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    assert node(harness, FOO_0).data == b"[4,2,3]"


async def test_the_next_controller_continues_the_children(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    harness.tree.write([Create(FOO_1)], session=9)
    await write_json(harness.tree, FOO_1, [5, 3, 1])
    czxid = node(harness, FOO_0).czxid
    next_controller = await harness.survivor(len(harness.tree.log))
    await settle(200)
    assert node(next_controller, FOO_0).czxid == czxid
    assert held(next_controller) == {"foo-1": (5, 3, 1)}
    await end(next_controller)
    assert (children(next_controller), held(next_controller)) == ({}, None)
    assert next_controller.hosts("foo-1") == {1, 3, 5}
    await next_controller.stop()


async def test_children_are_not_accepted_while_the_cancel_znode_exists(harness: ZookeeperHarness) -> None:
    await ensure(harness.tree, f"{paths.REASSIGNMENTS}/foo")
    harness.tree.write([Create(paths.CANCEL)], session=9)
    await write(harness, FOO_0, [4, 2, 3])
    await end(harness)
    assert paths.CANCEL not in harness.tree.nodes
    assert harness.hosts("foo-0") == {2, 3, 4}


@pytest.mark.parametrize("data", [None, b"\xff", b"[" * 100_000, b"[1,true]", b"[-1]", b"1"])
def test_a_child_without_a_list_of_ids_is_invalid(data: bytes | None) -> None:
    with pytest.raises(ZnodeError):
        decode_child(data)
