"""Znodes that brokers and tools write too: blocks of producer ids, and SCRAM credentials.

Brokers below inter-broker protocol 3.0 allocate blocks of producer ids themselves, from the same znode
(KIP-730; Kafka: ZkProducerIdManager, ProducerIdBlockZNode). Brokers read SCRAM credentials in
`/config/users/NAME` (KIP-84, KIP-554; Kafka: ZkAdminManager); the same znode holds the user's quotas, which
are not changed.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from backends.zookeeper.session.tree import ConflictError, Create, Operation, Set, Tree, ZookeeperError
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import INT_MAX, ZnodeError, decode_object, encode
from backends.zookeeper.znodes.formats import decode_config, encode_config, encode_config_change
from common.error_codes import ErrorCode
from protocol.codec.errors import ApiError

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


async def alter_scram_user(tree: Tree, store: ZkStore, user: str, changes: Mapping[str, str | None]) -> None:
    """Store the user's credentials by mechanism, None to delete one, and notify the brokers.

    Raises ApiError when a credential to delete does not exist, ZookeeperError, ZnodeError when the znode is
    invalid.
    """
    entity = f"users/{sanitized(user)}"
    path = paths.config(entity)
    for _ in range(ATTEMPTS):
        znode = await tree.get(path)
        values = {} if znode is None else decode_config(znode.data)
        missing = [name for name, value in changes.items() if value is None and name not in values]
        if missing:
            raise ApiError(
                ErrorCode.RESOURCE_NOT_FOUND, f"The user has no credential for {', '.join(missing)}."
            )
        merged = {name: value for name, value in {**values, **changes}.items() if value is not None}
        data = encode_config(merged)
        write: Operation = Create(path, data) if znode is None else Set(path, data, znode.version)
        notification = Create(paths.CONFIG_CHANGE_PREFIX, encode_config_change(entity), sequence=True)
        try:
            await store.write([write, notification])
        except ConflictError:
            continue
        return
    raise ZookeeperError(f"{path} was changed by others in {ATTEMPTS} attempts to write it")


def sanitized(user: str) -> str:
    """Return the user's name as Kafka writes it in a path (Kafka: Sanitizer.sanitize)."""
    return quote(user, safe=".-_").replace("~", "%7E")
