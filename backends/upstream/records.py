"""The records of a gateway: what is the upstream's own is not kept, it is looked at anew after each start."""

from collections.abc import Awaitable, Iterable, Sequence

from controller.configs.keys import CLUSTER_WIDE
from controller.configs.values import CLUSTER_DEFAULT
from controller.model.cluster import Broker, Change, Config, Deleted, Partition, Record, ResourceType
from controller.ports import Store


class OwnRecords:
    """Implements `controller.ports.Store` on another one."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self) -> Iterable[Record]:
        """All that was kept."""
        return self._store.load()

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """Keep what is ours; an empty rest still waits for what was committed before it."""
        return self._store.commit([change for change in changes if _ours(change)])


def _ours(change: Change) -> bool:
    if isinstance(change, Deleted):
        if change.kind is Config and isinstance(change.key, tuple):
            return _our_config(*change.key)
        return change.kind not in {Broker, Partition}
    if isinstance(change, Config):
        return _our_config(change.resource, change.name, change.config)
    return not isinstance(change, Broker | Partition)


def _our_config(resource: ResourceType, name: str, config: str) -> bool:
    return resource is ResourceType.BROKER and name == CLUSTER_DEFAULT and config in CLUSTER_WIDE
