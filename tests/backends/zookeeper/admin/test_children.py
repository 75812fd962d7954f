"""The children of KIP-236's earlier draft, in step with what is being reassigned."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.admin.children import child_path, decode_child
from backends.zookeeper.admin.watcher import PlanFormat
from backends.zookeeper.session.tree import Create, Delete, Znode, ensure
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from common.clock import settle
from controller.model.cluster import TopicPartition
from tests.backends.zookeeper.orders_by_znode import document, end, held, write
from tests.backends.zookeeper.trees import put
from tests.backends.zookeeper.world import Zookeeper

FOO_0 = child_path(TopicPartition("foo", 0))
FOO_1 = child_path(TopicPartition("foo", 1))


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    world = Zookeeper(form=PlanFormat(children=True))
    await ensure(world.tree, paths.REASSIGNMENTS)
    await world.start()
    await world.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 1]})
    yield world
    await world.stop()


def children(world: Zookeeper) -> dict[str, bytes | None]:
    above = f"{paths.REASSIGNMENTS}/"
    nodes = world.tree.nodes.items()
    return {path.removeprefix(above): node.data for path, node in nodes if path.startswith(above)}


def node(world: Zookeeper, path: str) -> Znode:
    return world.tree.nodes[path]


async def test_each_partition_that_moves_has_a_child_until_it_is_there(world: Zookeeper) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await world.alter({"foo-1": [5, 3, 1]})
    await settle(200)
    assert children(world) == {"foo": None, "foo/0": b"[4,2,3]", "foo/1": b"[5,3,1]"}
    await end(world)
    assert children(world) == {}


async def test_a_child_orders_a_reassignment_which_the_document_shows(world: Zookeeper) -> None:
    await ensure(world.tree, f"{paths.REASSIGNMENTS}/foo")
    await write(world, FOO_0, [4, 2, 3])
    assert held(world) == {"foo-0": (4, 2, 3)}
    await end(world)
    assert world.hosts("foo-0") == {2, 3, 4}
    assert (children(world), held(world)) == ({}, None)


async def test_a_changed_child_retargets_and_is_the_same_reassignment(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    before = node(world, FOO_0)
    await write(world, FOO_0, [5, 2, 3])
    after = node(world, FOO_0)
    assert (after.czxid, after.mzxid > before.mzxid) == (before.czxid, True)
    assert held(world) == {"foo-0": (5, 2, 3)}
    await end(world)
    assert world.hosts("foo-0") == {2, 3, 5}


async def test_another_target_by_45_shows_as_a_change(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    before = node(world, FOO_0)
    await world.alter({"foo-0": [6, 2, 3]})
    await settle(200)
    after = node(world, FOO_0)
    assert (after.data, after.czxid, after.mzxid > before.mzxid) == (b"[6,2,3]", before.czxid, True)


async def test_a_child_set_to_the_old_replicas_is_a_cancel(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    await write(world, FOO_0, [1, 2, 3])
    await end(world)
    assert world["foo-0"].replicas == (1, 2, 3)
    assert children(world) == {}


async def test_a_child_that_is_removed_too_early_is_written_again(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    await world.tree.multi([Delete(FOO_0)])
    await settle(200)
    assert node(world, FOO_0).data == b"[4,2,3]"
    assert f"{FOO_0} was deleted during its reassignment; it is created again" in caplog.text


@pytest.mark.parametrize("value", [b"{garbage", b"", {"replicas": [4]}, ["4"], [99], []])
async def test_a_child_that_makes_no_sense_goes_with_a_line_in_the_log(
    world: Zookeeper, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure(world.tree, f"{paths.REASSIGNMENTS}/foo")
    await write(world, FOO_0, value)
    assert FOO_0 not in world.tree.nodes
    assert FOO_0 in caplog.text
    await world.alter({"foo-1": [4, 3, 1]})
    await end(world)
    assert world.hosts("foo-1") == {1, 3, 4}


async def test_what_is_no_partition_is_left(world: Zookeeper, caplog: pytest.LogCaptureFixture) -> None:
    await ensure(world.tree, f"{paths.REASSIGNMENTS}/foo/zero")
    await settle(200)
    assert "zero is not a partition" in caplog.text
    await world.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    assert node(world, FOO_0).data == b"[4,2,3]"


async def test_the_next_controller_goes_on_with_the_children(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    await settle(200)
    world.tree.write([Create(FOO_1)], session=9)
    await put(world.tree, FOO_1, [5, 3, 1])
    czxid = node(world, FOO_0).czxid
    next_life = await world.survivor(len(world.tree.log))
    await settle(200)
    assert node(next_life, FOO_0).czxid == czxid
    assert held(next_life) == {"foo-1": (5, 3, 1)}
    await end(next_life)
    assert (children(next_life), held(next_life)) == ({}, None)
    assert next_life.hosts("foo-1") == {1, 3, 5}
    await next_life.stop()


async def test_nothing_is_ordered_while_the_cancel_znode_is_there(world: Zookeeper) -> None:
    await ensure(world.tree, f"{paths.REASSIGNMENTS}/foo")
    world.tree.write([Create(paths.CANCEL)], session=9)
    await write(world, FOO_0, [4, 2, 3])
    await end(world)
    assert paths.CANCEL not in world.tree.nodes
    assert world.hosts("foo-0") == {2, 3, 4}


@pytest.mark.parametrize("data", [None, b"\xff", b"[" * 100_000, b"[1,true]", b"[-1]", b"1"])
def test_what_is_not_a_list_of_ids_is_refused(data: bytes | None) -> None:
    with pytest.raises(ZnodeError):
        decode_child(data)
