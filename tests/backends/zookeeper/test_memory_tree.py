"""The tree in memory behaves as ZooKeeper does; `tests/zookeeper/test_client.py` asks the same of the real one."""

import pytest

from backends.zookeeper.session.tree import Create, ZookeeperError
from tests.backends.zookeeper.behaviour import BEHAVIOUR, Behaviour
from tests.backends.zookeeper.memory_tree import MemoryTree


@pytest.mark.parametrize("behaves", BEHAVIOUR, ids=lambda each: each.__name__)
async def test_it_behaves_like_a_tree(behaves: Behaviour) -> None:
    tree = MemoryTree()
    await behaves(tree)


async def test_a_request_above_the_limit_is_refused() -> None:
    with pytest.raises(ZookeeperError, match="larger"):
        await MemoryTree().multi([Create("/a", bytes(1024 * 1024))])


async def test_what_a_crash_leaves_is_what_was_written_by_then() -> None:
    tree = MemoryTree()
    await tree.multi([Create("/a")])
    await tree.multi([Create("/b")])
    assert set(tree.survived(1).nodes) == {"/", "/a"}


async def test_ephemeral_znodes_go_with_their_session() -> None:
    tree = MemoryTree()
    other = tree.connect()
    await other.multi([Create("/a", ephemeral=True)])
    await tree.multi([Create("/b", ephemeral=True)])
    tree.expire(other.session_id)
    assert set(tree.nodes) == {"/", "/b"}
