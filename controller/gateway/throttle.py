"""Leases of configs of an upstream: the backend reads the configs, the controller decides on changes.

On a `ReadThrottle` effect the backend reads the configs of `throttles_to_read` and submits them as
`ThrottleRead`. The decision records what will be set (`ThrottleLease`) and emits one `AlterThrottle`. The
backend executes it and reads the configs again; the next `ThrottleRead` confirms the changes. A lease ends
when the upstream has acknowledged the removal and no longer shows the value. Thus a crash at any point leaves
no throttle behind: the records say what to remove.
"""

from collections.abc import Iterator, Sequence

from controller.execution.cordons import EVERY_DIRECTORY, allow_again, allow_dirs_again, wanted_cordons
from controller.execution.throttle import (
    change_list,
    desired_throttle,
    lower_rates,
    lowest_of_others,
    others_entries,
    owned_by,
    set_by_others,
    throttle_rate,
)
from controller.gateway.events import (
    BrokerRatesSeen,
    CordonRefused,
    DirsRemoved,
    LeasesImported,
    ThrottleRead,
)
from controller.messages.effects import AlterThrottle, ReadThrottle
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    THROTTLED_REPLICAS,
    ConfigChange,
    ConfigName,
    ConfigOp,
    Resource,
    ResourceType,
    ThrottleLease,
    list_items,
)
from controller.model.disks import BrokerDir
from controller.state.settings import Leased
from controller.state.state import Decision, State

RESOURCES_PER_SLICE = 500


def request_throttle(d: Decision) -> None:
    """Request a read if a rate, the steps in flight or the cordons have changed."""
    state = d.state
    rate, paced, cordons = throttle_rate(state), lower_rates(state), wanted_cordons(state)
    touched = state.in_flight.take_changed()
    state.backlog.throttle(rate is not None or bool(paced))
    wanted, leased = Leased(rate, paced, cordons, state.disks.throttles()), state.throttle.leased
    if wanted != leased or (touched and (rate is not None or paced)):
        # First, so that the rows of the new steps wait for their throttle.
        d.effects.insert(0, ReadThrottle())
    if cordons != leased.cordons:
        state.gateway.ask_cordons(
            broker
            for broker, value in cordons.items()
            if not {*list_items(value)} <= {*list_items(leased.cordons.get(broker))}
        )
    state.throttle.set_leased(wanted)


def throttles_to_read(state: State, *, every: bool = False) -> list[Resource]:
    """Return the topics and brokers whose throttle is not confirmed; if `every`, all with a throttle."""
    desired, confirmed = desired_throttle(state), state.gateway.confirmed_throttles
    resources = desired.resources() | {key[:2] for key in state.throttle.leases} | confirmed.keys()
    return sorted(
        resource for resource in resources if every or confirmed.get(resource) != desired.configs(resource)
    )


def throttle_read(d: Decision, event: ThrottleRead) -> Iterator[None]:
    """Compare the configs with the desired throttle; record the leases and emit the changes."""
    desired = desired_throttle(d.state)
    changes: dict[Resource, Sequence[ConfigChange]] = {}
    for count, (resource, values) in enumerate(event.values.items(), 1):
        wanted = desired.configs(resource)
        acknowledged = event.acknowledged.get(resource, ())
        needed = [
            change
            for config, value in wanted.items()
            for change in _reconcile(d, (*resource, config), values.get(config), value, acknowledged)
        ]
        if needed:
            changes[resource] = needed
        if needed or not any(wanted.values()):
            d.state.gateway.confirm_throttle(resource, None)
        else:
            d.state.gateway.confirm_throttle(resource, wanted)
        if count % RESOURCES_PER_SLICE == 0:
            yield
    if changes:
        d.effects.append(AlterThrottle(changes))


def leases_imported(d: Decision, event: LeasesImported) -> None:
    """Add the leases to the existing ones."""
    for lease in event.leases:
        _own(d, lease.key, [*owned_by(d.state.throttle.leases.get(lease.key)), *lease.owned])
    d.effects.append(ReadThrottle())


def _reconcile(
    d: Decision, key: ConfigName, value: str | None, desired: str, acknowledged: Sequence[ConfigChange]
) -> list[ConfigChange]:
    """Return the changes of one config, and record in its lease what they set."""
    acknowledged = [change for change in acknowledged if change.config == key[2]]
    others = others_entries(value, d.state.throttle.leases.get(key))
    if key[2] == CORDONED_LOG_DIRS and desired == EVERY_DIRECTORY and others:
        desired = ""  # In Kafka it stands alone.
    if not _is_list(key[2], desired, others):
        deleted = any(change.op is ConfigOp.DELETE for change in acknowledged)
        return _reconcile_value(d, key, value, desired, deleted=deleted)
    subtracted = [
        entry
        for change in acknowledged
        if change.op is ConfigOp.SUBTRACT
        for entry in list_items(change.value)
    ]
    return _reconcile_list(d, key, value, desired, subtracted)


def _is_list(config: str, desired: str, others: Sequence[str]) -> bool:
    """Whether entries of the config are added and removed: of cordons, where directories are named."""
    named = bool(others) or desired not in {"", EVERY_DIRECTORY}
    return config in THROTTLED_REPLICAS or (config == CORDONED_LOG_DIRS and named)


def _reconcile_value(
    d: Decision, key: ConfigName, value: str | None, desired: str, *, deleted: bool
) -> list[ConfigChange]:
    lease = d.state.throttle.leases.get(key)
    if set_by_others(value, lease) or (not desired and value is None and deleted):
        _disown(d, key)
        return []
    if not desired:
        return [] if lease is None else [ConfigChange(key[2], ConfigOp.DELETE, None)]
    if value == desired:
        _own(d, key, [desired])
        return []
    # Either value can be set until the new one is seen.
    _own(d, key, [*owned_by(lease), desired])
    return [ConfigChange(key[2], ConfigOp.SET, desired)]


def _reconcile_list(
    d: Decision, key: ConfigName, value: str | None, desired: str, subtracted: Sequence[str]
) -> list[ConfigChange]:
    append, subtract, owned, omitted = change_list(
        value, d.state.throttle.leases.get(key), desired, subtracted
    )
    # What is subtracted makes room for others.
    d.state.throttle.note_unlisted(key, 0 if subtract else omitted)
    if not owned:
        if value == "" and key in d.state.throttle.leases:
            # The list contained owned entries only. The lease ends when its removal is seen.
            _own(d, key, [])
            return [ConfigChange(key[2], ConfigOp.DELETE, None)]
        _disown(d, key)
        return []
    _own(d, key, owned)
    pairs = ((ConfigOp.APPEND, append), (ConfigOp.SUBTRACT, subtract))
    return [ConfigChange(key[2], op, ",".join(entries)) for op, entries in pairs if entries]


def _own(d: Decision, key: ConfigName, owned: Sequence[str]) -> None:
    lease = ThrottleLease(*key, ",".join(dict.fromkeys(owned)), None)
    if d.state.throttle.leases.get(key) != lease:
        d.put(lease)


def _disown(d: Decision, key: ConfigName) -> None:
    if key in d.state.throttle.leases:
        d.delete(ThrottleLease, key)


def cordon_refused(d: Decision, event: CordonRefused) -> None:
    """Do without this cordon of the broker until it is asked for again. Nothing was set."""
    d.state.gateway.refuse_cordon(event.broker, event.reason)
    refused = list_items(event.value)
    if EVERY_DIRECTORY in refused:
        allow_again(d, [event.broker])
    allow_dirs_again(d, [BrokerDir(event.broker, path) for path in refused])
    key = (ResourceType.BROKER, str(event.broker), CORDONED_LOG_DIRS)
    owned = [entry for entry in owned_by(d.state.throttle.leases.get(key)) if entry not in refused]
    if owned:
        _own(d, key, owned)
    else:
        _disown(d, key)


def dirs_removed(d: Decision, event: DirsRemoved) -> None:
    """End the cordons of directories that do not exist.

    A broker that has one ignores all of its dynamic configs (Kafka: KafkaConfig.validateCordonedLogDirs).
    """
    allow_dirs_again(d, event.dirs)


def broker_rates_seen(d: Decision, event: BrokerRatesSeen) -> None:
    """Remember the rates of others, instead of those that were seen before."""
    found = ((broker, lowest_of_others(d.state, broker, values)) for broker, values in event.rates.items())
    d.state.gateway.set_others_rates({broker: rate for broker, rate in found if rate is not None})
