"""The durable records of a gateway.

Brokers and partitions of the upstream are not stored: polls return them after each start. Topics are stored
with their ids, so a topic that was deleted and made again meanwhile is noticed. The file in which older
versions kept the throttle that they had set is read once, then removed.
"""

import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from pathlib import Path

from backends.sqlite.datadir import StoreError
from common.durable_file import remove_file
from controller.cluster.config_keys import CLUSTER_WIDE
from controller.gateway.events import LeasesImported
from controller.model.cluster import Broker, Change, Config, Deleted, Partition, Record, ResourceType
from controller.model.configs import RATES, THROTTLED_REPLICAS, ThrottleLease
from controller.ports import Store, SubmitEvent
from controller.state.settings import CLUSTER_DEFAULT


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


FILE = "throttles.json"

CONFIGS = {ResourceType.TOPIC: THROTTLED_REPLICAS, ResourceType.BROKER: RATES}


async def import_leases(directory: Path, submit: SubmitEvent) -> None:
    """Make the file's leases records, then remove it. Raises StoreError when it cannot be read or removed."""
    leases = read_leases(directory)
    if leases is not None:
        await submit(LeasesImported(leases))
        remove(directory)


def read_leases(directory: Path) -> list[ThrottleLease] | None:
    """The leases in the directory's file, or None without a file. Raises StoreError."""
    path = directory / FILE
    try:
        return _leases(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}). It says which throttles were set on the upstream: take off "
            "what is left of them with kafka-configs, then remove the file"
        ) from error


def remove(directory: Path) -> None:
    """Remove the file, whose leases are records now. Raises StoreError."""
    path = directory / FILE
    try:
        remove_file(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be removed ({error.strerror}): its throttles are kept elsewhere now. Remove it"
        ) from error


def _leases(tables: object) -> list[ThrottleLease]:
    """Check the file's structure: {topics: {topic: {config: [entry]}}, brokers: {id: {config: [rate]}}}.

    Raises ValueError.
    """
    leases = []
    for kind, field in ((ResourceType.TOPIC, "topics"), (ResourceType.BROKER, "brokers")):
        for name, configs in _table(_table(tables).get(field)).items():
            if kind is ResourceType.BROKER:
                int(name)
            for config, values in _table(configs).items():
                if (
                    config not in CONFIGS[kind]
                    or not isinstance(values, list)
                    or not all(isinstance(value, str) for value in values)
                ):
                    raise ValueError("it is not a list of throttles")
                leases.append(ThrottleLease(kind, name, config, ",".join(values), None))
    return leases


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("it is not a list of throttles")
    return value
