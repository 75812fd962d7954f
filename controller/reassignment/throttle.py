"""The throttle that lasts as long as a move (KIP-73's configs; KIP-236: "scope a throttle to the duration").

While steps are in flight, the brokers that take part get a rate, and the topics the lists of replicas that it applies
to. What we set is a lease: its record says what was found, which is put back at the end, and what someone else changed
meanwhile is theirs. Only replicas that are being added are slowed; a partition with a lagging original is not slowed at
its leader at all, so that the original catches up (KIP-352's second motive).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES, THROTTLE
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.effects import ConfigsChanged, Rethrottle
from controller.model.cluster import Config, Lease, ResourceType
from controller.state.decision import Decision
from controller.state.state import State


def adjust(d: Decision) -> None:
    """Make the leases fit the steps in flight after this decision."""
    state = d.state
    rate = throttle_rate(state)
    touched = state.in_flight.take_touched()
    if state.profile.has_upstream:
        # An upstream's configs are not ours to keep records of: whoever carries out effects writes them down.
        if rate != state.throttle or (rate is not None and touched):
            d.emit_first(Rethrottle())
        state.throttle = rate
        return
    if rate is None and not state.leases:
        state.throttle = None
        return
    leased = [(key[0], key[1]) for key in state.leases]
    if rate != state.throttle:
        state.throttle = rate
        touched = {*state.in_flight, *(name for kind, name in leased if kind is ResourceType.TOPIC)}
    for topic in sorted(touched):
        _throttle_topic(d, topic, rate is not None)
    brokers = state.backlog.usage.brokers() if rate is not None else set()
    for broker in sorted(brokers | {int(name) for kind, name in leased if kind is ResourceType.BROKER}):
        _throttle_broker(d, broker, rate if broker in brokers else None)


def throttle_rate(state: State) -> int | None:
    """Bytes a second: the least of the cluster's and of the jobs under way, or None."""
    rates = [job.throttle for number in state.open if (job := state.jobs.get(number)) and job.throttle]
    cluster = state.config(ResourceType.BROKER, CLUSTER_DEFAULT, THROTTLE)
    if cluster is not None:
        rates.append(int(cluster))
    return min(rates, default=None)


def throttled_by_others(state: State) -> list[int] | None:
    """Brokers with a rate that is no lease of ours, such as that of the stock tool's --throttle; None where that is not known."""
    if state.profile.has_upstream:
        return None
    brokers = {
        int(name)
        for (resource, name), values in state.configs.items()
        if resource is ResourceType.BROKER and name != CLUSTER_DEFAULT
        for rate in RATES
        if rate in values and (resource, name, rate) not in state.leases
    }
    return sorted(brokers)


class Throttle(NamedTuple):
    """What the steps in flight call for: the brokers that get the rate, and the replicas of topics that it applies to."""

    rate: int | None
    brokers: Collection[int]
    leaders: Mapping[str, Sequence[str]]
    followers: Mapping[str, Sequence[str]]


def wanted_throttle(state: State) -> Throttle:
    """The throttle as it should be now; empty when there is none."""
    rate = throttle_rate(state)
    if rate is None:
        return Throttle(None, (), {}, {})
    lists = {topic: throttled_replicas(state, topic) for topic in state.in_flight}
    leaders, followers = ({topic: pair[side] for topic, pair in lists.items()} for side in (0, 1))
    # Whoever may come to lead gets the rate too, and nobody gets it for moves of others.
    entries = (entry for lists in (leaders, followers) for named in lists.values() for entry in named)
    return Throttle(rate, {int(entry.partition(":")[2]) for entry in entries}, leaders, followers)


def throttled_replicas(state: State, topic: str) -> tuple[list[str], list[str]]:
    """`partition:broker` on the leaders' side and on the followers'; moves of others are theirs to throttle."""
    leaders: list[str] = []
    followers: list[str] = []
    for number in sorted(state.in_flight.get(topic, ())):
        partition = state.partitions[topic][number]
        if partition.key in state.external:
            continue
        followers += [f"{number}:{r}" for r in partition.adding]
        if partition.adding and not partition.under_replicated:
            leaders += [f"{number}:{r}" for r in partition.current]
    return leaders, followers


def _throttle_topic(d: Decision, topic: str, throttled: bool) -> None:
    leaders, followers = throttled_replicas(d.state, topic) if throttled else ([], [])
    changed = _lease(d, ResourceType.TOPIC, topic, LEADER_REPLICAS, ",".join(leaders))
    changed |= _lease(d, ResourceType.TOPIC, topic, FOLLOWER_REPLICAS, ",".join(followers))
    if changed and topic in d.state.topics:
        d.emit(ConfigsChanged(ResourceType.TOPIC, topic))


def _throttle_broker(d: Decision, broker: int, rate: int | None) -> None:
    changed = [_lease(d, ResourceType.BROKER, str(broker), key, str(rate or "")) for key in RATES]
    if any(changed):
        d.emit(ConfigsChanged(ResourceType.BROKER, str(broker)))


def _lease(d: Decision, resource: ResourceType, name: str, config: str, wanted: str) -> bool:
    """Set the config to what we want, or give it back when that is nothing; True when it changed."""
    state = d.state
    key = (resource, name, config)
    lease = state.leases.get(key)
    now = state.config(resource, name, config)
    if lease is not None and now != lease.ours:
        lease = _yield_to(d, lease, now)
    if not wanted:
        if lease is not None:
            _give_back(d, lease)
        return lease is not None
    found = now if lease is None else lease.found
    if config in RATES and (found is not None or state.config(ResourceType.BROKER, CLUSTER_DEFAULT, config)):
        return False
    ours = _union(found, wanted) if config not in RATES else wanted
    if lease is not None and lease.ours == ours:
        return False
    d.put(Lease(resource, name, config, ours, found))
    d.put(Config(resource, name, config, ours))
    return True


def _yield_to(d: Decision, lease: Lease, now: str | None) -> Lease | None:
    """Someone changed what we set. A rate is theirs then; of a list, what we had added is still ours to take off."""
    if lease.config in RATES or now is None:
        d.delete(Lease, lease.key)
        return None
    added = set(_items(lease.ours)) - set(_items(lease.found))
    theirs = ",".join(each for each in _items(now) if each not in added)
    changed = lease._replace(ours=now, found=theirs or None)
    d.put(changed)
    return changed


def _give_back(d: Decision, lease: Lease) -> None:
    d.delete(Lease, lease.key)
    if lease.found is not None:
        d.put(Config(lease.resource, lease.name, lease.config, lease.found))
    else:
        d.delete(Config, lease.key)


def _union(found: str | None, ours: str) -> str:
    """The list that was there, then what it lacks."""
    if not found:
        return ours
    if found == "*":
        return found
    there = _items(found)
    return ",".join(there + [each for each in _items(ours) if each not in there])


def _items(value: str | None) -> list[str]:
    return [each for each in (value or "").split(",") if each]
