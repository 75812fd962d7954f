"""What every tree of znodes must do, in memory or in ZooKeeper."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from backends.zookeeper.session.tree import ANY, Check, ConflictError, Create, Delete, Set, Tree, ensure

Behaviour = Callable[[Tree], Awaitable[None]]


async def versions_grow(tree: Tree) -> None:
    await tree.multi([Create("/a", b"1")])
    await tree.multi([Set("/a", b"2", 0), Set("/a", b"3", 1)])
    znode = await tree.get("/a")
    assert znode is not None
    assert (znode.data, znode.version) == (b"3", 2)
    assert znode.mzxid > znode.czxid


async def null_data_is_not_empty_data(tree: Tree) -> None:
    await tree.multi([Create("/a"), Create("/b", b"")])
    a, b = await tree.get("/a"), await tree.get("/b")
    assert a is not None
    assert b is not None
    assert (a.data, b.data) == (None, b"")


async def all_or_nothing(tree: Tree) -> None:
    await tree.multi([Create("/a", b"1")])
    for wrong in (
        Check("/a", 5),
        Set("/a", b"", 5),
        Delete("/a", 5),
        Create("/a"),
        Check("/c", 0),
        Create("/c/d"),
    ):
        with pytest.raises(ConflictError) as conflict:
            await tree.multi([Create("/b"), wrong, Create("/e")])
        assert conflict.value.operation == wrong
    assert await tree.get("/b") is None


async def a_znode_can_be_replaced_at_once(tree: Tree) -> None:
    await tree.multi([Create("/a", b"1")])
    await tree.multi([Delete("/a", ANY), Create("/a", b"2", ephemeral=True)])
    znode = await tree.get("/a")
    assert znode is not None
    assert (znode.data, znode.ephemeral_owner) == (b"2", tree.session_id)


async def children_are_named(tree: Tree) -> None:
    await ensure(tree, "/a/b/c", "/a/d")
    assert sorted(await tree.children("/a") or []) == ["b", "d"]
    assert await tree.children("/a/d") == []
    assert await tree.children("/nothing") is None
    assert await tree.get("/nothing") is None


async def many_are_read_together(tree: Tree) -> None:
    await tree.multi([Create("/a", b"1"), Create("/b", b"2")])
    found = await tree.get_all(["/b", "/nothing", "/a", "/a/nothing"])
    assert [each and each.data for each in found] == [b"2", None, b"1", None]
    assert await tree.get_all([]) == []


async def what_is_there_is_not_made_again(tree: Tree) -> None:
    await tree.multi([Create("/a", b"1")])
    await ensure(tree, "/a/b", "/a", "/c")
    assert [each and each.data for each in await tree.get_all(["/a", "/a/b", "/c"])] == [b"1", None, None]
    assert await tree.children("/c") == []


async def sequences_grow(tree: Tree) -> None:
    await tree.multi([Create("/a")])
    for _ in range(2):
        await tree.multi([Create("/a/n_", b"", sequence=True)])
    first, second = sorted(await tree.children("/a") or [])
    assert first < second
    assert first.startswith("n_")


async def a_parent_is_not_deleted(tree: Tree) -> None:
    await ensure(tree, "/a/b")
    with pytest.raises(ConflictError):
        await tree.multi([Delete("/a")])


async def watches_are_told_once(tree: Tree) -> None:
    told: list[str] = []
    assert await tree.get("/a", lambda: told.append("made")) is None
    await tree.multi([Create("/a")])
    await until(told, ["made"])
    await tree.get("/a", lambda: told.append("changed"))
    await tree.children("/a", lambda: told.append("child"))
    await tree.multi([Set("/a", b"1", 0)])
    await until(told, ["made", "changed"])
    await tree.multi([Set("/a", b"2", 1), Create("/a/b")])
    await until(told, ["made", "changed", "child"])
    await tree.get("/a/b", lambda: told.append("gone"))
    await tree.multi([Delete("/a/b")])
    await until(told, ["made", "changed", "child", "gone"])


async def children_of_a_znode_that_is_missing_are_watched(tree: Tree) -> None:
    told: list[str] = []
    assert await tree.children("/a", lambda: told.append("made")) is None
    await tree.multi([Create("/a")])
    await until(told, ["made"])


async def until(told: list[str], expected: list[str]) -> None:
    for _ in range(1_000):
        if told == expected:
            return
        await asyncio.sleep(0.005)
    assert told == expected


BEHAVIOUR: list[Behaviour] = [
    versions_grow,
    null_data_is_not_empty_data,
    all_or_nothing,
    a_znode_can_be_replaced_at_once,
    children_are_named,
    many_are_read_together,
    what_is_there_is_not_made_again,
    sequences_grow,
    a_parent_is_not_deleted,
    watches_are_told_once,
    children_of_a_znode_that_is_missing_are_watched,
]
