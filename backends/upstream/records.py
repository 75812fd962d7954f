"""The durable records of a gateway.

Brokers and partitions of the upstream are not stored: polls return them after each start. Topics are stored with their
ids, so a topic that was deleted and made again meanwhile is noticed.
"""

from collections.abc import Awaitable, Iterable, Sequence

from controller.configs.keys import CLUSTER_WIDE
from controller.configs.values import CLUSTER_DEFAULT
from controller.model.cluster import Broker, Change, Config, Deleted, Partition, Record, ResourceType
from controller.ports import Store


class OwnRecords:
    """A `controller.ports.Store` that stores only reassignd's own records in another store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self) -> Iterable[Record]:
        """Return the stored records."""
        return self._store.load()

    def prepare(self, changes: Sequence[Change]) -> None:
        """See `Store.prepare`. Nothing is written before the commit."""

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """Store reassignd's own changes; without any, wait for earlier commits only."""
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
