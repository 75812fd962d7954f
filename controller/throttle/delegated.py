"""The lease where an upstream owns the configs: the backend reads what is set, the core decides what to change.

A `ReadThrottle` effect makes the backend read the configs of `throttles_to_read` and report them as `ThrottleRead`.
The decision on it records what is about to be set (`Lease`) and emits one `AlterThrottle`. The backend carries that
out and reads again: the next `ThrottleRead` confirms it. A lease ends when the upstream has acknowledged that the value
was removed and shows it no more, so nothing is left behind by a crash at any point.
"""

from collections.abc import Iterator, Sequence

from controller.configs.names import RATES
from controller.messages.effects import AlterThrottle, ReadThrottle
from controller.messages.upstream_events import LeasesImported, ThrottleRead
from controller.model.configs import (
    ConfigChange,
    ConfigName,
    ConfigOp,
    Lease,
    Resource,
    list_items,
)
from controller.state.decision import Decision
from controller.state.state import State
from controller.throttle.desired import desired_throttle, throttle_rate
from controller.throttle.lease import change_list, owned_by, set_by_others

RESOURCES_PER_SLICE = 500


def adjust_delegated(d: Decision) -> None:
    """Have the throttle read, and so changed, when the rate or the steps in flight have changed."""
    state = d.state
    rate = throttle_rate(state)
    touched = state.in_flight.take_changed_topics()
    if rate != state.throttle or (rate is not None and touched):
        # Before the rows of the steps: they wait until their throttle is set.
        d.emit_first(ReadThrottle())
    state.throttle = rate


def throttles_to_read(state: State, *, every: bool = False) -> list[Resource]:
    """Topics and brokers that may have another throttle than the desired one; with `every`, all that have any."""
    desired, confirmed = desired_throttle(state), state.confirmed_throttles
    resources = desired.resources() | {key[:2] for key in state.leases} | confirmed.keys()
    return sorted(each for each in resources if every or confirmed.get(each) != desired.configs(each))


def throttle_read(d: Decision, event: ThrottleRead) -> Iterator[None]:
    """Compare the configs that are set with the desired ones; record and emit the changes."""
    desired, confirmed = desired_throttle(d.state), d.state.confirmed_throttles
    changes: dict[Resource, Sequence[ConfigChange]] = {}
    for number, (resource, values) in enumerate(event.values.items(), 1):
        wanted = desired.configs(resource)
        acknowledged = event.acknowledged.get(resource, ())
        made = [
            change
            for config, value in wanted.items()
            for change in _reconcile(d, (*resource, config), values.get(config), value, acknowledged)
        ]
        if made:
            changes[resource] = made
        if made or not any(wanted.values()):
            confirmed.pop(resource, None)
        else:
            confirmed[resource] = wanted
        if number % RESOURCES_PER_SLICE == 0:
            yield
    if changes:
        d.emit(AlterThrottle(changes))


def leases_imported(d: Decision, event: LeasesImported) -> None:
    """Own what an older version wrote to a file of its own, beside what is owned already."""
    for lease in event.leases:
        _own(d, lease.key, [*owned_by(d.state.leases.get(lease.key)), *lease.owned])
    d.emit(ReadThrottle())


def _reconcile(
    d: Decision, key: ConfigName, value: str | None, desired: str, acknowledged: Sequence[ConfigChange]
) -> list[ConfigChange]:
    """The changes that bring one config to the desired value. The lease owns what they set before they are made."""
    done = [change for change in acknowledged if change.config == key[2]]
    if key[2] in RATES:
        deleted = any(change.op is ConfigOp.DELETE for change in done)
        return _reconcile_rate(d, key, value, desired, deleted=deleted)
    subtracted = [
        entry for change in done if change.op is ConfigOp.SUBTRACT for entry in list_items(change.value)
    ]
    return _reconcile_list(d, key, value, desired, subtracted)


def _reconcile_rate(
    d: Decision, key: ConfigName, value: str | None, desired: str, *, deleted: bool
) -> list[ConfigChange]:
    lease = d.state.leases.get(key)
    if set_by_others(value, lease) or (not desired and value is None and deleted):
        _disown(d, key)
        return []
    if not desired:
        return [] if lease is None else [ConfigChange(key[2], ConfigOp.DELETE, None)]
    if value == desired:
        _own(d, key, [desired])
        return []
    # Until the new rate is seen, the old one may still be set.
    _own(d, key, [*owned_by(lease), desired])
    return [ConfigChange(key[2], ConfigOp.SET, desired)]


def _reconcile_list(
    d: Decision, key: ConfigName, value: str | None, desired: str, subtracted: Sequence[str]
) -> list[ConfigChange]:
    append, subtract, owned = change_list(value, d.state.leases.get(key), desired, subtracted)
    if not owned:
        if value == "" and key in d.state.leases:
            # Nothing but our entries was in the list.
            _own(d, key, [])
            return [ConfigChange(key[2], ConfigOp.DELETE, None)]
        _disown(d, key)
        return []
    _own(d, key, owned)
    pairs = ((ConfigOp.APPEND, append), (ConfigOp.SUBTRACT, subtract))
    return [ConfigChange(key[2], op, ",".join(entries)) for op, entries in pairs if entries]


def _own(d: Decision, key: ConfigName, owned: Sequence[str]) -> None:
    lease = Lease(*key, ",".join(dict.fromkeys(owned)), None)
    if d.state.leases.get(key) != lease:
        d.put(lease)


def _disown(d: Decision, key: ConfigName) -> None:
    if key in d.state.leases:
        d.delete(Lease, key)
