"""The settings in force: configs (KIP-226), and the schedule, the throttle and the pace that they demand.

Keys: `controller.cluster.config_keys`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.model.cluster import Config, ResourceType, ThrottleLease
from controller.model.configs import (
    CANCEL_MODE,
    EXCLUDED_BROKERS,
    EXCLUDED_DIRS,
    MIN_ISR,
    RATES,
    SCHEDULE,
    TIERED,
    UNCLEAN_ELECTION,
    ConfigName,
    list_items,
)
from controller.model.disks import paths_by_broker, read_dirs
from controller.pace.history import History
from controller.pace.pacer import Pacer
from controller.pace.readings import PaceSettings
from controller.schedule.openings import ANY_TIME, STALE, Opening, opening_at
from controller.schedule.periods import Schedule, Zones, read_schedule
from controller.state.orders import JobRates

CLUSTER_DEFAULT = ""
"""Name of the broker resource whose values are the cluster-wide defaults."""


@dataclass(eq=False, slots=True)
class SettingsState:
    """The values that are set on resources, and what decisions often need of them."""

    zones: Zones
    """The time zones that the host knows."""
    configs: dict[tuple[ResourceType, str], dict[str, str]] = field(default_factory=dict)
    """Values by resource and key. A resource without values is absent."""
    config_defaults: dict[str, str] = field(default_factory=dict)
    """Defaults from the server's settings; they replace those of `controller.cluster.config_keys`. Not
    durable."""
    static_configs: Mapping[str, str] = field(default_factory=dict)
    """Cluster-wide values from the server's settings, for keys without a dynamic value. Not durable."""
    topic_min_isr: dict[str, int] = field(default_factory=dict)
    """`min.insync.replicas` of the topics on which it is set."""
    default_min_isr: int = 1
    excluded_dirs: Mapping[int, Collection[str]] = field(default_factory=dict)
    """By broker, the log directories that get no new replicas (`reassignment.excluded.dirs`)."""
    schedule: Schedule | None = None
    opening: Opening = ANY_TIME
    """What the schedule permits. Each decision that needs it brings it up to date."""

    def put(self, record: Config) -> None:
        """Insert or replace the value."""
        self.configs.setdefault((record.resource, record.name), {})[record.config] = record.value
        self._read(record.resource, record.name)

    def delete(self, key: ConfigName) -> None:
        """Remove the value, which exists."""
        resource, name, config = key
        values = self.configs[resource, name]
        del values[config]
        if not values:
            del self.configs[resource, name]
        self._read(resource, name)

    def set_static(self, configs: Mapping[str, str]) -> None:
        """Set the cluster-wide values of the server's settings, which dynamic values replace."""
        self.static_configs = configs
        self._read(ResourceType.BROKER, CLUSTER_DEFAULT)

    def follow_schedule(self, now_ms: int) -> bool:
        """Bring `opening` up to date. Return whether it has changed."""
        if self.schedule is None or self.opening.holds_at(now_ms):
            return False
        self.opening = opening_at(self.schedule, now_ms)
        return True

    def config(self, resource: ResourceType, name: str, key: str) -> str | None:
        """Return the value set on the resource itself, without defaults.

        For the cluster-wide default, a value from the server's settings counts if there is no dynamic one.
        """
        values = self.configs.get((resource, name))
        value = None if values is None else values.get(key)
        if value is None and name == CLUSTER_DEFAULT and resource is ResourceType.BROKER:
            return self.static_configs.get(key)
        return value

    def dynamic_config(self, resource: ResourceType, name: str, key: str) -> str | None:
        """Return the value that was set on the resource while the server ran."""
        values = self.configs.get((resource, name))
        return None if values is None else values.get(key)

    @property
    def cluster_configs(self) -> dict[str, str]:
        """Return the cluster-wide values in force: those of the settings, replaced by dynamic ones."""
        return {**self.static_configs, **self.configs.get((ResourceType.BROKER, CLUSTER_DEFAULT), {})}

    def topic_config(self, topic: str, key: str) -> str | None:
        """Return the value in effect for a topic: its own, else the cluster-wide default, else None."""
        value = self.config(ResourceType.TOPIC, topic, key)
        if value is None:
            value = self.config(ResourceType.BROKER, CLUSTER_DEFAULT, key)
        return value

    def min_isr(self, topic: str) -> int:
        """Return `min.insync.replicas` of the topic."""
        return self.topic_min_isr.get(topic, self.default_min_isr)

    def unclean_allowed(self, topic: str) -> bool:
        """Return `unclean.leader.election.enable` of the topic."""
        return self.topic_config(topic, UNCLEAN_ELECTION) == "true"

    def is_tiered(self, topic: str) -> bool:
        """Return `remote.storage.enable` of the topic: a part of its logs is in remote storage (KIP-405)."""
        return self.config(ResourceType.TOPIC, topic, TIERED) == "true"

    @property
    def cancel_stops(self) -> bool:
        """Whether `reassignment.cancel.mode` is `stop`: a cancel keeps the current replicas (KIP-455)."""
        return self.config(ResourceType.BROKER, CLUSTER_DEFAULT, CANCEL_MODE) == "stop"

    @property
    def excluded_brokers(self) -> frozenset[int]:
        """Return the brokers that get no new partitions (`reassignment.excluded.brokers`)."""
        value = self.config(ResourceType.BROKER, CLUSTER_DEFAULT, EXCLUDED_BROKERS)
        return frozenset(map(int, list_items(value)))

    def _read(self, resource: ResourceType, name: str) -> None:
        """Read the values that decisions need often from the configs of a resource that has changed."""
        if resource is ResourceType.TOPIC:
            own = self.configs.get((resource, name), {})
            self.topic_min_isr.pop(name, None)
            if MIN_ISR in own:
                self.topic_min_isr[name] = int(own[MIN_ISR])
        elif name == CLUSTER_DEFAULT:
            configs = self.cluster_configs
            self.default_min_isr = int(configs.get(MIN_ISR, 1))
            dirs = configs.get(EXCLUDED_DIRS)
            self.excluded_dirs = paths_by_broker(read_dirs(dirs)) if dirs else {}
            text = configs.get(SCHEDULE, "").strip()
            schedule = read_schedule(text, self.zones) if text else None
            if schedule != self.schedule:
                self.schedule, self.opening = schedule, STALE if schedule else ANY_TIME


class Leased(NamedTuple):
    """What the leases were made for."""

    rate: int | None = None
    paced: Mapping[int, int] = {}
    """Rates of pace by broker."""
    cordons: Mapping[int, str] = {}
    """Values of `cordoned.log.dirs` by broker of an upstream."""
    disks: Mapping[int, int] = {}
    """Rates of moves between log directories by broker."""


@dataclass(eq=False, slots=True)
class ThrottleState(JobRates):
    """Rates in bytes per second, and the leases of configs. `rates` has that of the cluster under 0."""

    leases: dict[tuple[ResourceType, str, str], ThrottleLease] = field(default_factory=dict)
    leased: Leased = field(default_factory=Leased)
    paced_rates: Mapping[int, int] = field(default_factory=dict)
    """The throttle of pace by broker. Brokers without one are absent."""
    unlisted: dict[ConfigName, int] = field(default_factory=dict)
    """By throttle list that is full: the replicas in flight that are not in it, so that no rate slows them.
    Not durable."""

    def put_lease(self, record: ThrottleLease) -> None:
        """Insert or replace the lease."""
        self.leases[record.key] = record

    def delete_lease(self, key: tuple[ResourceType, str, str]) -> None:
        """Remove the lease, which exists."""
        del self.leases[key]

    def set_cluster_rate(self, rate: int | None) -> None:
        """Set the rate of the cluster; None for none."""
        if rate is None:
            self.rates.pop(0, None)
        else:
            self.rates[0] = rate

    def set_leased(self, leased: Leased) -> None:
        """The leases are made for these rates and cordons."""
        self.leased = leased

    def set_paced(self, rates: Mapping[int, int]) -> None:
        """Replace the rates of pace."""
        self.paced_rates = rates

    def keep_paced(self, lease: ThrottleLease) -> None:
        """Keep the rate of a lease, which an earlier process may have set, until pace has measured."""
        if lease.config in RATES and lease.owned:
            self.paced_rates = {**self.paced_rates, int(lease.name): int(lease.owned[-1])}

    def note_unlisted(self, key: ConfigName, replicas: int) -> None:
        """Remember how many replicas in flight do not fit into the throttle list."""
        if replicas:
            self.unlisted[key] = replicas
        else:
            self.unlisted.pop(key, None)


@dataclass(eq=False, slots=True)
class PaceState:
    """What pace has measured and does. Not durable: after a start it learns again, from small efforts."""

    settings: PaceSettings | None = None
    """None while `reassignment.pace` is off."""
    pacer: Pacer = field(default_factory=Pacer)
    history: History = field(default_factory=History)

    def change(self, settings: PaceSettings | None) -> bool:
        """Set the settings. Return whether they are other ones; then pace starts over."""
        if settings == self.settings:
            return False
        self.settings = settings
        self.reset()
        return True

    def sample(self, now_ms: int) -> None:
        """Keep what pace does now in its history."""
        self.history.add(now_ms, self.pacer.brokers.values())

    def reset(self) -> None:
        """Forget what pace has measured."""
        self.pacer = Pacer()
