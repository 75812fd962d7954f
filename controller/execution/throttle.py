"""The throttle that the steps in flight need (configs of KIP-73; lifetime of KIP-236).

The brokers that take part get a rate, and the topics get the lists of replicas that the rate applies to. Only
replicas that are being added are slowed. A partition with a lagging original is not slowed at its leader, so
that the original catches up (KIP-352).
"""

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from controller.execution.cordons import wanted_cordons
from controller.messages.effects import ConfigsChanged
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    MAX_VALUE_BYTES,
    RATES,
    THROTTLED_REPLICAS,
    Config,
    Resource,
    ResourceType,
    ThrottleLease,
    fitting,
    list_items,
)
from controller.state.settings import CLUSTER_DEFAULT, Leased
from controller.state.state import Decision, State


class Throttle(NamedTuple):
    """The brokers that need the rate, and `partition:broker` entries by topic of leaders and of followers."""

    rate: int | None
    brokers: Collection[int]
    leaders: Mapping[str, Sequence[str]]
    followers: Mapping[str, Sequence[str]]
    paced: Mapping[int, int] = {}
    """Lower rates of single brokers."""
    cordons: Mapping[int, str] = {}
    """Values of `cordoned.log.dirs` by broker, with a throttle or without."""
    disks: Mapping[int, int] = {}
    """Rates of moves between the log directories of brokers."""

    def resources(self) -> set[Resource]:
        """Return the topics and brokers that need a value."""
        topics = {(ResourceType.TOPIC, topic) for topic in (*self.leaders, *self.followers)}
        return topics | {
            (ResourceType.BROKER, str(broker)) for broker in {*self.brokers, *self.cordons, *self.disks}
        }

    def configs(self, resource: Resource) -> dict[str, str]:
        """Return the desired value of each leased config of the resource; empty if none is needed."""
        kind, name = resource
        if kind is ResourceType.BROKER:
            rate = self.paced.get(int(name), self.rate) if int(name) in self.brokers else None
            cordon = self.cordons.get(int(name), "")
            rates = dict.fromkeys(RATES, "" if rate is None else str(rate))
            return {**rates, LOG_DIRS_RATE: str(self.disks.get(int(name), "")), CORDONED_LOG_DIRS: cordon}
        sides = {LEADER_REPLICAS: self.leaders, FOLLOWER_REPLICAS: self.followers}
        return {config: ",".join(side.get(name, ())) for config, side in sides.items()}


NO_THROTTLE = Throttle(None, (), {}, {})


def desired_throttle(state: State) -> Throttle:
    """Return the throttle for steps and moves in flight on an upstream, and the cordons.

    Every broker of an entry gets the rate, because it can become the leader.
    """
    rate, paced, cordons = throttle_rate(state), lower_rates(state), wanted_cordons(state)
    disks = state.disks.throttles()
    if rate is None and not paced:
        return NO_THROTTLE._replace(cordons=cordons, disks=disks)
    lists = {topic: throttled_replicas(state, topic) for topic in state.in_flight.by_topic}
    lists = {topic: pair for topic, pair in lists.items() if rate is not None or any(pair)}
    leaders, followers = ({topic: pair[side] for topic, pair in lists.items()} for side in (0, 1))
    entries = (entry for side in (leaders, followers) for listed in side.values() for entry in listed)
    brokers = {int(entry.partition(":")[2]) for entry in entries}
    return Throttle(rate, brokers, leaders, followers, paced, cordons, disks)


def lower_rates(state: State) -> dict[int, int]:
    """Return by broker the rates of pace that are below the common one."""
    rate = throttle_rate(state)
    return {
        broker: paced for broker, paced in state.throttle.paced_rates.items() if rate is None or paced < rate
    }


def broker_rate(state: State, broker: int) -> int | None:
    """Return the throttle of the broker in bytes per second; None for none."""
    rate, paced = throttle_rate(state), state.throttle.paced_rates.get(broker)
    return min((each for each in (rate, paced) if each is not None), default=None)


def throttle_rate(state: State) -> int | None:
    """Return the lowest rate of the cluster, the open jobs and the schedule in bytes per second.

    The result is None if there is no throttle.
    """
    rates = list(state.throttle.rates.values())
    if state.settings.opening.throttle is not None:
        rates.append(state.settings.opening.throttle)
    return min(rates, default=None)


def throttle_source(state: State) -> str:
    """Return which of the rates is the lowest, and so the one in force.

    It is that of the cluster, a job or the schedule.
    """
    rates = [
        (rate, f"job {job}" if job else "the cluster") for job, rate in sorted(state.throttle.rates.items())
    ]
    if state.settings.opening.throttle is not None:
        rates.append((state.settings.opening.throttle, "the schedule"))
    return min(rates, key=itemgetter(0), default=(0, ""))[1]


def throttled_replicas(state: State, topic: str) -> tuple[list[str], list[str]]:
    """Return the `partition:broker` entries for leaders and for followers, without external reassignments.

    Without a common rate, these are the replicas on brokers that pace throttles.
    """
    leaders: list[str] = []
    followers: list[str] = []
    slowed = None if throttle_rate(state) is not None else state.throttle.paced_rates
    for number in sorted(state.in_flight.by_topic.get(topic, ())):
        partition = state.cluster.partition(topic, number)
        if partition is None or partition.key in state.gateway.external:
            continue
        followers += [f"{number}:{r}" for r in partition.adding if slowed is None or r in slowed]
        if partition.adding and not partition.under_replicated:
            leaders += [f"{number}:{r}" for r in partition.current if slowed is None or r in slowed]
    return leaders, followers


EVERY_REPLICA = "*"


def owned_by(lease: ThrottleLease | None) -> list[str]:
    """Return the entries or rates that the lease owns; none without a lease."""
    return [] if lease is None else lease.owned


def set_by_others(value: str | None, lease: ThrottleLease | None) -> bool:
    """Whether someone else has set the rate, or a part of the list."""
    return bool(others_entries(value, lease))


def others_entries(value: str | None, lease: ThrottleLease | None) -> list[str]:
    """Return the entries of the list that someone else has set."""
    owned = set(owned_by(lease))
    return [entry for entry in list_items(value) if entry not in owned]


def union(value: str | None, desired: str) -> str:
    """Return the list with the missing desired entries appended that fit. `*` already covers all replicas."""
    if value == EVERY_REPLICA:
        return value
    if not value and len(desired) <= MAX_VALUE_BYTES:
        return desired
    current = list_items(value)
    present = set(current)
    missing = [entry for entry in list_items(desired) if entry not in present]
    return ",".join(current + fitting(missing, _room(value)))


class ListChange(NamedTuple):
    """Entries to append to a list and to subtract from it, and those that the lease owns until then."""

    append: Sequence[str]
    subtract: Sequence[str]
    owned: Sequence[str]
    omitted: int = 0
    """Desired entries that do not fit into the list."""


def change_list(
    value: str | None, lease: ThrottleLease | None, desired: str, subtracted: Collection[str]
) -> ListChange:
    """Compute the changes from the value to the desired entries.

    Desired entries that someone else has set are not owned, so they remain when the lease ends. Owned entries
    that are no longer desired are subtracted even if the value does not contain them: the value may have been
    read before they were appended. An entry is no longer owned when its subtraction was acknowledged
    (`subtracted`) and the value does not contain it. Entries are appended before others are subtracted, so
    those that do not fit yet are appended when the value is read again.
    """
    current, wanted = set(list_items(value)), list_items(desired)
    missing = [] if EVERY_REPLICA in current else [entry for entry in wanted if entry not in current]
    append = fitting(missing, _room(value))
    kept, gone = set(wanted), set(subtracted)
    owned = [entry for entry in owned_by(lease) if entry in kept or entry in current or entry not in gone]
    subtract = fitting(entry for entry in owned if entry not in kept)
    owned = list(dict.fromkeys([*owned, *append]))
    return ListChange(append, subtract, owned, len(missing) - len(append))


def _room(value: str | None) -> int:
    """Return the bytes that a list appended to this one may have."""
    return MAX_VALUE_BYTES - len(value) - 1 if value else MAX_VALUE_BYTES


def adjust_throttle(d: Decision) -> None:
    """Set and restore throttle configs according to the steps in flight after this decision."""
    state = d.state
    _throttle_disks(d)
    touched = state.in_flight.take_changed()
    free = (
        not state.throttle.rates
        and not state.throttle.paced_rates
        and state.settings.opening.throttle is None
    )
    state.backlog.throttle(not free)
    if free and not state.throttle.leases:
        state.throttle.set_leased(Leased())
        return
    rate, paced = throttle_rate(state), lower_rates(state)
    leased = [(key[0], key[1]) for key in state.throttle.leases]
    if (wanted := Leased(rate, paced)) != state.throttle.leased:
        state.throttle.set_leased(wanted)
        touched = {*state.in_flight.by_topic, *(name for kind, name in leased if kind is ResourceType.TOPIC)}
    for topic in sorted(touched):
        _throttle_topic(d, topic, not free)
    brokers = set() if free else state.backlog.usage.brokers()
    for broker in sorted(brokers | {int(name) for kind, name in leased if kind is ResourceType.BROKER}):
        _throttle_broker(d, broker, broker_rate(state, broker) if broker in brokers else None)


def throttled_by_others(state: State) -> list[int] | None:
    """Return the brokers with a rate that no lease owns, such as of --throttle; None with an upstream."""
    if state.mode.is_gateway:
        return None
    brokers = {
        int(name)
        for (resource, name), values in state.settings.configs.items()
        if resource is ResourceType.BROKER and name != CLUSTER_DEFAULT
        for rate in RATES
        if rate in values and (resource, name, rate) not in state.throttle.leases
    }
    return sorted(brokers)


def _throttle_topic(d: Decision, topic: str, throttled: bool) -> None:
    leaders, followers = throttled_replicas(d.state, topic) if throttled else ([], [])
    changed = _set_or_restore(d, ResourceType.TOPIC, topic, LEADER_REPLICAS, ",".join(leaders))
    changed |= _set_or_restore(d, ResourceType.TOPIC, topic, FOLLOWER_REPLICAS, ",".join(followers))
    if changed and topic in d.state.cluster.topics:
        d.effects.append(ConfigsChanged(ResourceType.TOPIC, topic))


def _throttle_broker(d: Decision, broker: int, rate: int | None) -> None:
    changed = [_set_or_restore(d, ResourceType.BROKER, str(broker), key, str(rate or "")) for key in RATES]
    if any(changed):
        d.effects.append(ConfigsChanged(ResourceType.BROKER, str(broker)))


def _throttle_disks(d: Decision) -> None:
    """Set and restore the throttles of moves between log directories."""
    leases, rates = d.state.throttle.leases, d.state.disks.throttles()
    leased = {int(name) for _, name, config in leases if config == LOG_DIRS_RATE}
    for broker in sorted(rates.keys() | leased):
        rate = str(rates.get(broker, ""))
        if _set_or_restore(d, ResourceType.BROKER, str(broker), LOG_DIRS_RATE, rate):
            d.effects.append(ConfigsChanged(ResourceType.BROKER, str(broker)))


def _set_or_restore(d: Decision, resource: ResourceType, name: str, config: str, desired: str) -> bool:
    """Set the config to the desired value; if that is empty, restore the previous one.

    Returns whether it changed.
    """
    state = d.state
    key = (resource, name, config)
    lease = state.throttle.leases.get(key)
    value = state.settings.config(resource, name, config)
    is_list = config in THROTTLED_REPLICAS
    # A rate of all brokers that is set during the lease neither ends nor freezes it.
    common = state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, config) if lease is None else None
    if lease is not None and value != lease.ours:
        lease = _adjust_lease(d, lease, value)
    if not desired:
        state.throttle.note_unlisted(key, 0)
        if lease is not None:
            _restore(d, lease)
        return lease is not None
    found = value if lease is None else lease.found
    if not is_list and (found or common):
        return False
    ours = union(found, desired) if is_list else desired
    if is_list:
        state.throttle.note_unlisted(key, 0 if ours in {desired, EVERY_REPLICA} else _missing(ours, desired))
    if lease is not None and lease.ours == ours:
        return False
    d.put(ThrottleLease(*key, ours, found))
    d.put(Config(*key, ours))
    return True


def _missing(value: str, desired: str) -> int:
    return len(set(list_items(desired)).difference(list_items(value)))


def _adjust_lease(d: Decision, lease: ThrottleLease, value: str | None) -> ThrottleLease | None:
    """Adjust the lease to a value of someone else: a lease of a rate ends, of a list it keeps its entries."""
    if value is None or (lease.config not in THROTTLED_REPLICAS and set_by_others(value, lease)):
        d.delete(ThrottleLease, lease.key)
        return None
    changed = lease._replace(ours=value, found=",".join(others_entries(value, lease)) or None)
    d.put(changed)
    return changed


def _restore(d: Decision, lease: ThrottleLease) -> None:
    d.delete(ThrottleLease, lease.key)
    if lease.found is not None:
        d.put(Config(*lease.key, lease.found))
    else:
        d.delete(Config, lease.key)


def throttle_leases(state: State) -> int:
    """Return the number of leases of throttles. Those of cordons stay with the exclusion."""
    return sum(config != CORDONED_LOG_DIRS for _, _, config in state.throttle.leases)


def rates_of_others(state: State) -> dict[int, int]:
    """Return by broker the lowest rate of others in bytes per second."""
    found = ((broker, rate_of_others(state, broker)) for broker in state.cluster.brokers)
    return {broker: rate for broker, rate in found if rate is not None}


def rate_of_others(state: State, broker: int) -> int | None:
    """Return the lowest rate of others at the broker; None for none.

    With an upstream it is the rate that was seen last.
    """
    if state.mode.is_gateway:
        return state.gateway.others_rates.get(broker)
    values = {rate: _configured(state, str(broker), rate) for rate in RATES}
    return lowest_of_others(
        state, broker, {rate: value for rate, value in values.items() if value is not None}
    )


def _configured(state: State, broker: str, rate: str) -> str | None:
    own = state.settings.config(ResourceType.BROKER, broker, rate)
    return state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, rate) if own is None else own


def lowest_of_others(state: State, broker: int, values: Mapping[str, str]) -> int | None:
    """Return the lowest of these rates that no lease owns."""
    rates = (
        int(value)
        for config, value in values.items()
        if value.isdecimal()
        and set_by_others(value, state.throttle.leases.get((ResourceType.BROKER, str(broker), config)))
    )
    return min(rates, default=None)
