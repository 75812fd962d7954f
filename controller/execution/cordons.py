"""Brokers that get no new partitions of an upstream (KIP-1066, Kafka 4.3).

Where Kafka places partitions, reassignd sets `cordoned.log.dirs` on the brokers of
`reassignment.excluded.brokers`, as a lease: `controller.gateway.throttle` records it before it is set, keeps
values of others, and removes what it has set. Kafka may then refuse to put a replica on such a broker, by a
reassignment too. So an order that leads back there ends the exclusion of the broker before its rows are sent.
An upstream that does not cordon a broker ends it too: nothing is excluded there that can get partitions.
"""

from collections.abc import Collection

from controller.model.cluster import ResourceType
from controller.model.configs import CORDONED_LOG_DIRS, EXCLUDED_BROKERS, Config, list_items
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import Decision, State

EVERY_DIRECTORY = "*"


def cordoned_brokers(state: State) -> frozenset[int]:
    """Return the brokers of an upstream on which `cordoned.log.dirs` is to be set."""
    if not state.mode.is_gateway:
        return frozenset()
    return state.settings.excluded_brokers


def allow_again(d: Decision, brokers: Collection[int]) -> None:
    """End the exclusion of these brokers of an upstream, for instance since replicas are to return."""
    if not d.state.mode.is_gateway:
        return
    excluded = d.state.settings.excluded_brokers
    if excluded.isdisjoint(brokers):
        return
    key = (ResourceType.BROKER, CLUSTER_DEFAULT, EXCLUDED_BROKERS)
    if left := sorted(excluded.difference(brokers)):
        d.put(Config(*key, ",".join(map(str, left))))
    else:
        d.delete(Config, key)


def is_cordoned(state: State, broker: int) -> bool:
    """Return whether all log directories of a broker are cordoned: it shows that, or its config says so."""
    disks = state.cluster.disks.get(broker, ())
    value = state.settings.config(ResourceType.BROKER, str(broker), CORDONED_LOG_DIRS)
    return (bool(disks) and all(disk.cordoned for disk in disks)) or are_cordoned(
        value, [disk.path for disk in disks]
    )


def are_cordoned(value: str | None, dirs: Collection[str]) -> bool:
    """Return whether this value of `cordoned.log.dirs` names all of these directories."""
    names = list_items(value)
    return EVERY_DIRECTORY in names or (bool(dirs) and set(dirs) <= set(names))
