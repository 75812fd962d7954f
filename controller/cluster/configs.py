"""Describes and changes dynamic configs (KIP-226, KIP-339)."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.cluster.brokers import recover
from controller.cluster.config_keys import BROKER_KEYS, CLUSTER_WIDE, TOPIC_KEYS, ConfigKey, ConfigType
from controller.cluster.health import evaluate_health
from controller.messages.effects import ConfigsChanged
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import Config, ResourceType
from controller.model.configs import (
    HEALTH_GUARD,
    MAX_VALUE_BYTES,
    MIN_ISR,
    UNCLEAN_ELECTION,
    ConfigChange,
    ConfigOp,
    ConfigSource,
    list_items,
)
from controller.model.errors import DONE, Outcome
from controller.model.replicas import display_name
from controller.reassignment.phases import Trigger, fire_at
from controller.schedule.periods import Zones, no_zones
from controller.scheduling.limits import ALIASES
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import Decision, State

KEYS: dict[ResourceType, dict[str, ConfigKey]] = {
    ResourceType.TOPIC: TOPIC_KEYS,
    ResourceType.BROKER: BROKER_KEYS,
}
DECIDES_STEPS = {MIN_ISR, UNCLEAN_ELECTION}
ROWS_PER_SLICE = 2_000
RESOURCES_PER_SLICE = 20
LONGEST_ID = 10
"""Maximum number of digits of a broker id."""
MAX_KEY = 100
"""Maximum length of a config name for which similar names are searched."""


class ConfigValue(NamedTuple):
    """The value of a key for a resource.

    `synonyms` are all candidates as (name, value, source), the one in effect first.
    """

    key: ConfigKey
    value: str
    source: ConfigSource
    synonyms: Sequence[tuple[str, str, ConfigSource]]


def describe_configs(
    state: State, resource: ResourceType, name: str, *, unset: bool = False
) -> list[ConfigValue]:
    """Return all keys of the resource.

    For the cluster-wide default (""), only keys that are set, or all with `unset`.
    """
    default = resource is ResourceType.BROKER and name == CLUSTER_DEFAULT
    return [
        _describe(state, resource, name, key)
        for key in KEYS[resource].values()
        if unset or not default or state.settings.dynamic_config(resource, name, key.name) is not None
    ]


def check_resource(state: State, resource: ResourceType, name: str) -> Outcome:
    """Check that the topic or broker exists. "" is the cluster-wide default."""
    if resource is ResourceType.TOPIC:
        if name in state.cluster.topics:
            return DONE
        return Outcome(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{display_name(name)}' does not exist."
        )
    if name == CLUSTER_DEFAULT:
        return DONE
    # The length is checked first: int() raises ValueError for thousands of digits.
    if not name.isascii() or not name.isdecimal() or len(name) > LONGEST_ID:
        return Outcome(
            ErrorCode.INVALID_REQUEST,
            f"Broker {display_name(name)!r} is not a broker id; leave it empty for the default.",
        )
    if int(name) not in state.cluster.brokers and int(name) != state.cluster.controller_id:
        return Outcome(ErrorCode.INVALID_REQUEST, f"No broker {name} is registered.")
    return DONE


def check_changes(state: State, wanted: ResourceChanges) -> Outcome:
    """Check whether `AlterConfigs` would accept the changes."""
    return _plan(state, wanted)[0]


def alter_configs(d: Decision, event: AlterConfigs) -> Iterator[None]:
    """Change each resource independently and atomically. Reply: one outcome per resource."""
    outcomes = []
    for seen, resource in enumerate(event.resources, 1):
        outcome, values = _plan(d.state, resource)
        outcomes.append(outcome)
        if outcome is DONE and not event.validate_only:
            _write(d, resource, values)
            if d.state.mode.is_gateway and HEALTH_GUARD in values:
                evaluate_health(d)
            if DECIDES_STEPS & values.keys():
                for _ in retry(d):
                    yield
        if seen % RESOURCES_PER_SLICE == 0:
            yield
    d.answer(event, outcomes)


def check_topic_configs(configs: Mapping[str, str | None]) -> Outcome:
    """Check the configs of a new topic."""
    for name, value in configs.items():
        if value is None:
            return Outcome(
                ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {display_name(name)}"
            )
        outcome = _check_value(ResourceType.TOPIC, "", name, value, no_zones)
        if outcome is not DONE:
            return outcome
    return DONE


def _describe(state: State, resource: ResourceType, name: str, key: ConfigKey) -> ConfigValue:
    own = ConfigSource.DYNAMIC_TOPIC if resource is ResourceType.TOPIC else ConfigSource.DYNAMIC_BROKER
    levels = [
        (resource, name, own),
        (ResourceType.BROKER, CLUSTER_DEFAULT, ConfigSource.DYNAMIC_DEFAULT_BROKER),
    ]
    if name == CLUSTER_DEFAULT or (resource is ResourceType.BROKER and key.name in CLUSTER_WIDE):
        levels = levels[1:]
    values = [
        (state.settings.dynamic_config(kind, level, key.name), source) for kind, level, source in levels
    ]
    values.append((state.settings.static_configs.get(key.name), ConfigSource.STATIC_BROKER))
    synonyms = [(key.name, value, source) for value, source in values if value is not None]
    synonyms.append(
        (key.name, state.settings.config_defaults.get(key.name, key.default), ConfigSource.DEFAULT)
    )
    return ConfigValue(key, synonyms[0][1], synonyms[0][2], synonyms)


def _plan(state: State, wanted: ResourceChanges) -> tuple[Outcome, dict[str, str | None]]:
    """Return the outcome and, if it is accepted, the values to write; None deletes a value."""
    outcome = check_resource(state, wanted.resource, wanted.name)
    if outcome is not DONE:
        return outcome, {}
    values: dict[str, str | None] = {}
    if wanted.replace:
        values = dict.fromkeys(state.settings.configs.get((wanted.resource, wanted.name), ()))
    seen = set()
    for change in wanted.changes:
        name = ALIASES.get(change.config, change.config)
        if name in seen:
            return Outcome(
                ErrorCode.INVALID_REQUEST, f"The config {display_name(name)} is named more than once."
            ), {}
        seen.add(name)
        outcome, values[name] = _new_value(state, wanted, name, change)
        if outcome is not DONE:
            return outcome, {}
    return DONE, values


def _new_value(
    state: State, wanted: ResourceChanges, name: str, change: ConfigChange
) -> tuple[Outcome, str | None]:
    """Return the value of the config `name` after the change; None if the change deletes it."""
    if change.op is ConfigOp.DELETE:
        known = name in KEYS[wanted.resource]
        return (DONE if known else _unknown(wanted.resource, name)), None
    if change.value is None:
        return Outcome(
            ErrorCode.INVALID_REQUEST,
            f"Null value not supported for config {display_name(name)}; delete it instead.",
        ), None
    value = change.value
    if change.op is not ConfigOp.SET:
        key = KEYS[wanted.resource].get(name)
        if key is None:
            return _unknown(wanted.resource, name), None
        if key.type is not ConfigType.LIST:
            return Outcome(
                ErrorCode.INVALID_CONFIG, f"Can't {change.op.name} to key {name} because it is not a list."
            ), None
        before = state.settings.config(wanted.resource, wanted.name, name)
        value = _combine(key.default if before is None else before, change.op, value)
        if change.op is ConfigOp.SUBTRACT and name in CLUSTER_WIDE and value == key.default:
            # With ZooKeeper, kafka-configs changes no cluster-wide default while a key is set that brokers do
            # not know: an empty list must not stay.
            return DONE, None
    return _check_value(wanted.resource, wanted.name, name, value, state.settings.zones), value


def _combine(before: str, op: ConfigOp, value: str) -> str:
    items, changed = list_items(before), list_items(value)
    if op is ConfigOp.SUBTRACT:
        return ",".join(item for item in items if item not in changed)
    return ",".join(items + [item for item in changed if item not in items])


def _check_value(resource: ResourceType, owner: str, name: str, value: str, zones: Zones) -> Outcome:
    """Check that the value can be set on the topic or broker `owner`."""
    key = KEYS[resource].get(name)
    if key is None:
        return _unknown(resource, name)
    if len(value.encode(errors="replace")) > MAX_VALUE_BYTES:
        text = f"The value of {name} would be longer than {MAX_VALUE_BYTES} bytes."
        return Outcome(ErrorCode.INVALID_CONFIG, text)
    if name in CLUSTER_WIDE and resource is ResourceType.BROKER and owner != CLUSTER_DEFAULT:
        topics = ", or set it on topics" if name in TOPIC_KEYS else ""
        text = f"{name} is cluster-wide and cannot be set on broker {owner}: use --entity-default{topics}."
        return Outcome(ErrorCode.INVALID_CONFIG, text)
    valid = key.check(value, zones)
    if valid is None:
        return DONE
    return Outcome(
        ErrorCode.INVALID_CONFIG,
        f"Invalid value {display_name(value)} for configuration {name}: it must be {valid}.",
    )


def _unknown(resource: ResourceType, name: str) -> Outcome:
    hint = _hint(resource, name) if len(name) <= MAX_KEY else ""
    return Outcome(
        ErrorCode.INVALID_CONFIG, f"Unknown {resource.name.lower()} config name: {display_name(name)}.{hint}"
    )


@lru_cache(maxsize=1_000)
def _hint(resource: ResourceType, name: str) -> str:
    """Suggest the most similar key. The search takes a millisecond, so results are cached."""
    near = get_close_matches(name, KEYS[resource], 1)
    return f" Did you mean {near[0]}?" if near else ""


def _write(d: Decision, wanted: ResourceChanges, values: Mapping[str, str | None]) -> None:
    state = d.state
    for name, value in values.items():
        if value is not None:
            d.put(Config(wanted.resource, wanted.name, name, value))
        elif state.settings.config(wanted.resource, wanted.name, name) is not None:
            d.delete(Config, (wanted.resource, wanted.name, name))
    if wanted.resource is ResourceType.TOPIC:
        state.in_flight.configs_changed(wanted.name)
    d.effects.append(ConfigsChanged(wanted.resource, wanted.name))


def retry(d: Decision) -> Iterator[None]:
    """Retry elections and steps that min ISR or unclean election had prevented."""
    state = d.state
    for _ in recover(d, state.cluster.all_partitions() if state.cluster.offline else ()):
        yield
    for seen, key in enumerate(list(state.orders.reassignments)):
        if key in state.orders.reassignments:
            fire_at(d, key, Trigger.PROGRESS)
        if seen % ROWS_PER_SLICE == ROWS_PER_SLICE - 1:
            yield
