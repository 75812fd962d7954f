"""Brokers and log directories that get no new replicas of an upstream (KIP-1066, Kafka 4.3).

Where Kafka places partitions, reassignd sets `cordoned.log.dirs` on the brokers of
`reassignment.excluded.brokers` (to `*`) and for the directories of `reassignment.excluded.dirs`, as a lease:
`controller.gateway.throttle` records it before it is set, keeps values of others, and removes what it has
set. Kafka may then refuse to put a replica there, by a reassignment too. So an order that leads back there
ends the exclusion before its rows are sent. An upstream that does not cordon ends it too: nothing is excluded
that can get replicas.
"""

from collections.abc import Collection, Mapping

from controller.model.cluster import ResourceType
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    EXCLUDED_BROKERS,
    EXCLUDED_DIRS,
    Config,
    ConfigName,
    fitting,
    list_items,
)
from controller.model.disks import BrokerDir
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import Decision, State

EVERY_DIRECTORY = "*"

_DIRS: ConfigName = (ResourceType.BROKER, CLUSTER_DEFAULT, EXCLUDED_DIRS)


def wanted_cordons(state: State) -> Mapping[int, str]:
    """Return the value that `cordoned.log.dirs` is to have, by broker of an upstream."""
    if not state.mode.is_gateway:
        return {}
    dirs = {broker: ",".join(paths) for broker, paths in state.settings.excluded_dirs.items()}
    return dirs | dict.fromkeys(state.settings.excluded_brokers, EVERY_DIRECTORY)


def cordoned_dirs(state: State, broker: int) -> str:
    """Return the directories of our own broker that get no new replicas, as in `cordoned.log.dirs`."""
    value = state.settings.config(ResourceType.BROKER, str(broker), CORDONED_LOG_DIRS)
    return ",".join([*list_items(value), *state.settings.excluded_dirs.get(broker, ())])


def exclude_dirs(d: Decision, dirs: Collection[BrokerDir]) -> None:
    """Put no new replicas into these directories, as far as the list of all of them has room."""
    listed = list_items(d.state.settings.config(*_DIRS))
    # Kafka's `log.dirs` is a list too: no path there has a comma.
    added = [str(each) for each in dirs if list_items(str(each)) == [str(each)] and str(each) not in listed]
    if added:
        d.put(Config(*_DIRS, ",".join(fitting([*listed, *added]))))


def allow_dirs_again(d: Decision, dirs: Collection[BrokerDir]) -> None:
    """End the exclusion of these directories, for instance since replicas are to return."""
    excluded, allowed = d.state.settings.excluded_dirs, {*dirs}
    if not any(path in excluded.get(broker, ()) for broker, path in allowed):
        return
    left = [
        str(each)
        for broker, paths in excluded.items()
        for each in (BrokerDir(broker, path) for path in paths)
        if each not in allowed
    ]
    _put_list(d, _DIRS, left)


def allow_again(d: Decision, brokers: Collection[int]) -> None:
    """End the exclusion of these brokers of an upstream, for instance since replicas are to return."""
    if not d.state.mode.is_gateway:
        return
    excluded = d.state.settings.excluded_brokers
    if excluded.isdisjoint(brokers):
        return
    left = [str(broker) for broker in sorted(excluded.difference(brokers))]
    _put_list(d, (ResourceType.BROKER, CLUSTER_DEFAULT, EXCLUDED_BROKERS), left)


def _put_list(d: Decision, key: ConfigName, items: Collection[str]) -> None:
    """Set a list that has a value. An empty one is left where it replaces that of the server's settings."""
    if items or key[2] in d.state.settings.static_configs:
        d.put(Config(*key, ",".join(items)))
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
