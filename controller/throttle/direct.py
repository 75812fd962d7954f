"""Leases of configs that the controller owns: the decision that starts or ends a step changes them.

The record of a lease contains the previous value, which is restored at the end of the lease.
"""

from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.effects import ConfigsChanged
from controller.model.configs import Config, Lease, ResourceType, list_items
from controller.state.decision import Decision
from controller.state.state import State
from controller.throttle.desired import broker_rate, lower_rates, throttle_rate, throttled_replicas
from controller.throttle.lease import EVERY_REPLICA, others_entries, set_by_others, union


def adjust_direct(d: Decision) -> None:
    """Set and restore throttle configs according to the steps in flight after this decision."""
    state = d.state
    touched, state.in_flight.changed_topics = state.in_flight.changed_topics, set()
    free = not state.throttles and not state.paced_rates and state.opening.throttle is None
    state.backlog.throttle(not free)
    if free and not state.leases:
        state.throttle, state.leased_rates = None, {}
        return
    rate, paced = throttle_rate(state), lower_rates(state)
    leased = [(key[0], key[1]) for key in state.leases]
    if rate != state.throttle or paced != state.leased_rates:
        state.throttle, state.leased_rates = rate, paced
        touched = {*state.in_flight.by_topic, *(name for kind, name in leased if kind is ResourceType.TOPIC)}
    for topic in sorted(touched):
        _throttle_topic(d, topic, not free)
    brokers = set() if free else state.backlog.usage.brokers()
    for broker in sorted(brokers | {int(name) for kind, name in leased if kind is ResourceType.BROKER}):
        _throttle_broker(d, broker, broker_rate(state, broker) if broker in brokers else None)


def throttled_by_others(state: State) -> list[int] | None:
    """Return the brokers with a rate that no lease owns, such as of --throttle; None with an upstream."""
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


def _throttle_topic(d: Decision, topic: str, throttled: bool) -> None:
    leaders, followers = throttled_replicas(d.state, topic) if throttled else ([], [])
    changed = _set_or_restore(d, ResourceType.TOPIC, topic, LEADER_REPLICAS, ",".join(leaders))
    changed |= _set_or_restore(d, ResourceType.TOPIC, topic, FOLLOWER_REPLICAS, ",".join(followers))
    if changed and topic in d.state.topics:
        d.effects.append(ConfigsChanged(ResourceType.TOPIC, topic))


def _throttle_broker(d: Decision, broker: int, rate: int | None) -> None:
    changed = [_set_or_restore(d, ResourceType.BROKER, str(broker), key, str(rate or "")) for key in RATES]
    if any(changed):
        d.effects.append(ConfigsChanged(ResourceType.BROKER, str(broker)))


def _set_or_restore(d: Decision, resource: ResourceType, name: str, config: str, desired: str) -> bool:
    """Set the config to the desired value; if that is empty, restore the previous one.

    Returns whether it changed.
    """
    state = d.state
    key = (resource, name, config)
    lease = state.leases.get(key)
    value = state.config(resource, name, config)
    # A rate of all brokers that is set during the lease neither ends nor freezes it.
    common = state.config(ResourceType.BROKER, CLUSTER_DEFAULT, config) if lease is None else None
    if lease is not None and value != lease.ours:
        lease = _adjust_lease(d, lease, value)
    if not desired:
        state.note_unlisted(key, 0)
        if lease is not None:
            _restore(d, lease)
        return lease is not None
    found = value if lease is None else lease.found
    if config in RATES and (found or common):
        return False
    ours = desired if config in RATES else union(found, desired)
    if config not in RATES:
        state.note_unlisted(key, 0 if ours in {desired, EVERY_REPLICA} else _missing(ours, desired))
    if lease is not None and lease.ours == ours:
        return False
    d.put(Lease(*key, ours, found))
    d.put(Config(*key, ours))
    return True


def _missing(value: str, desired: str) -> int:
    return len(set(list_items(desired)).difference(list_items(value)))


def _adjust_lease(d: Decision, lease: Lease, value: str | None) -> Lease | None:
    """Adjust the lease to a value of someone else: a lease of a rate ends, of a list it keeps its entries."""
    if value is None or (lease.config in RATES and set_by_others(value, lease)):
        d.delete(Lease, lease.key)
        return None
    changed = lease._replace(ours=value, found=",".join(others_entries(value, lease)) or None)
    d.put(changed)
    return changed


def _restore(d: Decision, lease: Lease) -> None:
    d.delete(Lease, lease.key)
    if lease.found is not None:
        d.put(Config(*lease.key, lease.found))
    else:
        d.delete(Config, lease.key)
