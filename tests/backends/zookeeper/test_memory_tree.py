"""The memory tree behaves as ZooKeeper.

`tests/zookeeper/test_client.py` runs the same tests with a real one.
"""

import pytest

from backends.zookeeper.session.tree import Create, ZookeeperError
from tests.backends.zookeeper.behaviour import BEHAVIOUR, Behaviour
from tests.backends.zookeeper.memory_tree import MemoryTree


@pytest.mark.parametrize("behaves", BEHAVIOUR, ids=lambda each: each.__name__)
async def test_the_memory_tree_behaves_like_zookeeper(behaves: Behaviour) -> None:
    tree = MemoryTree()
    await behaves(tree)


async def test_a_request_above_the_limit_is_rejected() -> None:
    with pytest.raises(ZookeeperError, match="larger"):
        await MemoryTree().multi([Create("/a", bytes(1024 * 1024))])


async def test_after_a_crash_only_earlier_writes_remain() -> None:
    tree = MemoryTree()
    await tree.multi([Create("/a")])
    await tree.multi([Create("/b")])
    assert set(tree.survived(1).nodes) == {"/", "/a"}


async def test_ephemeral_znodes_are_deleted_with_their_session() -> None:
    tree = MemoryTree()
    other = tree.connect()
    await other.multi([Create("/a", ephemeral=True)])
    await tree.multi([Create("/b", ephemeral=True)])
    tree.expire(other.session_id)
    assert set(tree.nodes) == {"/", "/b"}
