"""What users log in with by SCRAM, in `/config/users/NAME`, where brokers read it (KIP-84, KIP-554; Kafka: ZkAdminManager).

The same znode holds the user's quotas, which stay as they are.
"""

from collections.abc import Mapping
from urllib.parse import quote

from backends.zookeeper.session.tree import ConflictError, Create, Operation, Set, Tree, ZookeeperError
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import decode_config, encode_config, encode_config_change
from common.error_codes import ErrorCode
from protocol.errors import ApiError

TRIES = 20


async def alter(tree: Tree, store: ZkStore, user: str, changes: Mapping[str, str | None]) -> None:
    """Store these credentials by mechanism, None to remove one, and have the brokers told.

    Raises ApiError when there is none to be removed, ZookeeperError, ZnodeError when the znode makes no sense.
    """
    entity = f"users/{sanitized(user)}"
    path = paths.config(entity)
    for _ in range(TRIES):
        znode = await tree.get(path)
        values = {} if znode is None else decode_config(znode.data)
        missing = [name for name, value in changes.items() if value is None and name not in values]
        if missing:
            raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, f"The user has nothing for {', '.join(missing)}.")
        merged = {name: value for name, value in {**values, **changes}.items() if value is not None}
        data = encode_config(merged)
        write: Operation = Create(path, data) if znode is None else Set(path, data, znode.version)
        told = Create(f"{paths.CONFIG_CHANGES}/config_change_", encode_config_change(entity), sequence=True)
        try:
            await store.write([write, told])
        except ConflictError:
            continue
        return
    raise ZookeeperError(f"{path} changes faster than it can be written")


def sanitized(user: str) -> str:
    """The name as a znode's (Kafka: Sanitizer.sanitize)."""
    return quote(user, safe=".-_").replace("~", "%7E")
