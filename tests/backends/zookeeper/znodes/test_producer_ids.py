import pytest

from backends.zookeeper.session.tree import ZookeeperError, ensure
from backends.zookeeper.store.store import DeposedError
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.producer_ids import Block, allocate
from tests.backends.zookeeper.trees import elect, open_store, read_json, tree_with, write_json


async def test_blocks_are_consecutive_from_zero() -> None:
    tree = await tree_with()
    await ensure(tree, paths.PRODUCER_IDS)
    store = await open_store(tree)
    assert [await allocate(tree, store, broker) for broker in (1, 2)] == [Block(0), Block(1000)]
    assert read_json(tree, paths.PRODUCER_IDS) == {
        "version": 1, "broker": 2, "block_start": "1000", "block_end": "1999",
    }  # fmt: skip
    await store.close()


@pytest.mark.parametrize(
    "value", [b"{", {"block_end": 5}, {"block_end": "-1"}, {"block_end": str(2**63 - 1)}]
)
async def test_invalid_data_is_an_error(value: object) -> None:
    tree = await tree_with()
    await write_json(tree, paths.PRODUCER_IDS, value)
    store = await open_store(tree)
    with pytest.raises(ZnodeError):
        await allocate(tree, store, 1)
    await store.close()


async def test_a_deposed_controller_allocates_nothing() -> None:
    tree = await tree_with()
    store = await open_store(tree)
    with pytest.raises(ZookeeperError, match="is missing"):
        await allocate(tree, store, 1)
    await ensure(tree, paths.PRODUCER_IDS)
    await elect(tree)
    with pytest.raises(DeposedError):
        await allocate(tree, store, 1)
    await store.close()
