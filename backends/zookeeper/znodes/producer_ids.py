"""Blocks of producer ids that no two brokers share (KIP-730; Kafka: ZkProducerIdManager, ProducerIdBlockZNode).

Brokers below inter-broker protocol 3.0 take them from the same znode by themselves.
"""

from typing import NamedTuple

from backends.zookeeper.session.tree import ConflictError, Set, Tree, ZookeeperError
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import INT_MAX, ZnodeError, decode_object, encode

SIZE = 1_000
TRIES = 20
LAST = 2**63 - 1


class Block(NamedTuple):
    """`size` ids from `start` on."""

    start: int
    size: int = SIZE


async def allocate(tree: Tree, store: ZkStore, broker: int) -> Block:
    """The next block, for the broker. Raises ZookeeperError; ZnodeError when the znode makes no sense."""
    for _ in range(TRIES):
        znode = await tree.get(paths.PRODUCER_IDS)
        if znode is None:
            raise ZookeeperError(f"{paths.PRODUCER_IDS} is missing")
        block = Block(_after(znode.data))
        data = encode({
            "version": 1,
            "broker": broker,
            "block_start": str(block.start),
            "block_end": str(block.start + block.size - 1),
        })  # fmt: skip
        try:
            await store.write([Set(paths.PRODUCER_IDS, data, znode.version)])
        except ConflictError:
            continue
        return block
    raise ZookeeperError(f"{paths.PRODUCER_IDS} changes faster than it can be written")


def _after(data: bytes | None) -> int:
    """The first id that is in no block yet. Kafka makes the znode without data."""
    if not data:
        return 0
    text = decode_object(data).get("block_end")
    if not isinstance(text, str) or not text.isdecimal() or int(text) > LAST - INT_MAX:
        raise ZnodeError(f"{paths.PRODUCER_IDS}: block_end is not a number")
    return int(text) + 1
