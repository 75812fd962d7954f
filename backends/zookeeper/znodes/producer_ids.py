"""Allocation of producer id blocks (KIP-730; Kafka: ZkProducerIdManager, ProducerIdBlockZNode).

Brokers below inter-broker protocol 3.0 allocate blocks themselves, from the same znode.
"""

from typing import NamedTuple

from backends.zookeeper.session.tree import ConflictError, Set, Tree, ZookeeperError
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import INT_MAX, ZnodeError, decode_object, encode

BLOCK_SIZE = 1_000
ATTEMPTS = 20
MAX_ID = 2**63 - 1


class Block(NamedTuple):
    """The producer ids from `start` to `start + size - 1`."""

    start: int
    size: int = BLOCK_SIZE


async def allocate(tree: Tree, store: ZkStore, broker: int) -> Block:
    """Allocate the next block for the broker. Raises ZookeeperError; ZnodeError when the znode is invalid."""
    for _ in range(ATTEMPTS):
        znode = await tree.get(paths.PRODUCER_IDS)
        if znode is None:
            raise ZookeeperError(f"{paths.PRODUCER_IDS} is missing")
        block = Block(_next_id(znode.data))
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
    raise ZookeeperError(f"{paths.PRODUCER_IDS} was changed by others in {ATTEMPTS} attempts to write it")


def _next_id(data: bytes | None) -> int:
    """Return the first id after the last block. Kafka creates the znode without data."""
    if not data:
        return 0
    text = decode_object(data).get("block_end")
    if not isinstance(text, str) or not text.isdecimal() or int(text) > MAX_ID - INT_MAX:
        raise ZnodeError(f"{paths.PRODUCER_IDS}: block_end is not a number")
    return int(text) + 1
