"""Tests that every `Tree` must pass: the one in memory, and the client of a real ZooKeeper."""

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


async def a_znode_can_be_replaced_in_one_multi(tree: Tree) -> None:
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


async def several_znodes_are_read_together(tree: Tree) -> None:
    await tree.multi([Create("/a", b"1"), Create("/b", b"2")])
    found = await tree.get_all(["/b", "/nothing", "/a", "/a/nothing"])
    assert [each and each.data for each in found] == [b"2", None, b"1", None]
    assert await tree.get_all([]) == []


async def ensure_keeps_existing_znodes(tree: Tree) -> None:
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


async def a_znode_with_children_is_not_deleted(tree: Tree) -> None:
    await ensure(tree, "/a/b")
    with pytest.raises(ConflictError):
        await tree.multi([Delete("/a")])


async def watches_fire_once(tree: Tree) -> None:
    fired: list[str] = []
    assert await tree.get("/a", lambda: fired.append("made")) is None
    await tree.multi([Create("/a")])
    await until(fired, ["made"])
    await tree.get("/a", lambda: fired.append("changed"))
    await tree.children("/a", lambda: fired.append("child"))
    await tree.multi([Set("/a", b"1", 0)])
    await until(fired, ["made", "changed"])
    await tree.multi([Set("/a", b"2", 1), Create("/a/b")])
    await until(fired, ["made", "changed", "child"])
    await tree.get("/a/b", lambda: fired.append("gone"))
    await tree.multi([Delete("/a/b")])
    await until(fired, ["made", "changed", "child", "gone"])


async def children_of_a_missing_znode_are_watched(tree: Tree) -> None:
    fired: list[str] = []
    assert await tree.children("/a", lambda: fired.append("made")) is None
    await tree.multi([Create("/a")])
    await until(fired, ["made"])


async def until(fired: list[str], expected: list[str]) -> None:
    async with asyncio.timeout(30):
        while fired != expected:
            await asyncio.sleep(0.005)


BEHAVIOUR: list[Behaviour] = [
    versions_grow,
    null_data_is_not_empty_data,
    all_or_nothing,
    a_znode_can_be_replaced_in_one_multi,
    children_are_named,
    several_znodes_are_read_together,
    ensure_keeps_existing_znodes,
    sequences_grow,
    a_znode_with_children_is_not_deleted,
    watches_fire_once,
    children_of_a_missing_znode_are_watched,
]
