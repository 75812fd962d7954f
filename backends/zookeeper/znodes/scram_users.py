"""SCRAM credentials in `/config/users/NAME`, where brokers read them (KIP-84, KIP-554; Kafka: ZkAdminManager).

The same znode holds the user's quotas, which are not changed.
"""

from collections.abc import Mapping
from urllib.parse import quote

from backends.zookeeper.session.tree import ConflictError, Create, Operation, Set, Tree, ZookeeperError
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import decode_config, encode_config, encode_config_change
from common.error_codes import ErrorCode
from protocol.errors import ApiError

ATTEMPTS = 20


async def alter(tree: Tree, store: ZkStore, user: str, changes: Mapping[str, str | None]) -> None:
    """Store the user's credentials by mechanism, None to delete one, and notify the brokers.

    Raises ApiError when a credential to delete does not exist, ZookeeperError, ZnodeError when the znode is invalid.
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
