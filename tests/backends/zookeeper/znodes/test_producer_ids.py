import pytest

from backends.zookeeper.session.tree import ZookeeperError, ensure
from backends.zookeeper.store.store import DeposedError
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.producer_ids import Block, allocate
from tests.backends.zookeeper.trees import elected, made, put, read, store_on


async def test_blocks_follow_each_other_from_zero_on() -> None:
    tree = await made()
    await ensure(tree, paths.PRODUCER_IDS)
    store = await store_on(tree)
    assert [await allocate(tree, store, broker) for broker in (1, 2)] == [Block(0), Block(1000)]
    assert read(tree, paths.PRODUCER_IDS) == {
        "version": 1, "broker": 2, "block_start": "1000", "block_end": "1999",
    }  # fmt: skip
    await store.close()


@pytest.mark.parametrize(
    "value", [b"{", {"block_end": 5}, {"block_end": "-1"}, {"block_end": str(2**63 - 1)}]
)
async def test_garbage_gives_nobody_an_id(value: object) -> None:
    tree = await made()
    await put(tree, paths.PRODUCER_IDS, value)
    store = await store_on(tree)
    with pytest.raises(ZnodeError):
        await allocate(tree, store, 1)
    await store.close()


async def test_a_deposed_controller_gives_none() -> None:
    tree = await made()
    store = await store_on(tree)
    with pytest.raises(ZookeeperError, match="is missing"):
        await allocate(tree, store, 1)
    await ensure(tree, paths.PRODUCER_IDS)
    await elected(tree)
    with pytest.raises(DeposedError):
        await allocate(tree, store, 1)
    await store.close()
