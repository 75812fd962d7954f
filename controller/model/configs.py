"""Dynamic configs as records, and the changes that clients make to them (KIP-226, KIP-339)."""

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import NamedTuple


class ResourceType(IntEnum):
    """Kinds of resources that have configs, numbered as on the wire (Kafka: ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4


Resource = tuple[ResourceType, str]
"""A topic by its name, or a broker by its id; a broker resource with an empty name is the cluster-wide
default."""

ConfigName = tuple[ResourceType, str, str]
"""Resource type, resource name and config name."""


MAX_VALUE_BYTES = 32_767
"""The longest value of a config. It is one string in Kafka's protocol and in its metadata log (Kafka:
ConfigurationControlManager refuses longer ones)."""


def fitting(entries: Iterable[str], most: int = MAX_VALUE_BYTES) -> list[str]:
    """Return the first entries that make a list of at most `most` bytes. They are ASCII."""
    fits, left = [], most + 1  # the first entry has no comma before it
    for entry in entries:
        left -= len(entry) + 1
        if left < 0:
            break
        fits.append(entry)
    return fits


def list_items(value: str | None) -> list[str]:
    """The items of a config that is a list; none for None. Kafka accepts spaces and empty items."""
    return [item.strip() for item in (value or "").split(",") if item.strip()]


def labelled_items(value: str) -> list[tuple[str, str]]:
    """Return the label and the rest of each item of a list of `LABEL=REST`; a label can contain `=`."""
    parts = (item.rpartition("=") for item in list_items(value))
    return [(label.strip(), rest) for label, _, rest in parts]


class Config(NamedTuple):
    """One configured value."""

    resource: ResourceType
    name: str
    config: str
    value: str

    @property
    def key(self) -> ConfigName:
        """The key under which the record is stored."""
        return (self.resource, self.name, self.config)


class ThrottleLease(NamedTuple):
    """A throttle config that reassignd set, or is about to set.

    The record is durable before the config is set.

    Where the controller owns the configs, `ours` is the value that was set and `found` the value before, or
    None. Before an upstream, `ours` lists only what reassignd added: entries of a list of replicas, or the
    rates one of which is set; `found` is None. In both cases the entries of `ours` that are not in `found`
    are owned.
    """

    resource: ResourceType
    name: str
    config: str
    ours: str
    found: str | None

    @property
    def key(self) -> ConfigName:
        """The key under which the record is stored."""
        return (self.resource, self.name, self.config)

    @property
    def owned(self) -> list[str]:
        """The entries of a list, or the rates, that reassignd added: those in `ours`, but not in `found`."""
        previous = list_items(self.found)
        return [item for item in list_items(self.ours) if item not in previous]


class ConfigOp(Enum):
    """Kafka: AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    """One change of one config. APPEND and SUBTRACT apply to lists; DELETE restores the default."""

    config: str
    op: ConfigOp
    value: str | None


class ConfigSource(IntEnum):
    """Where a value comes from, numbered as on the wire (Kafka: DescribeConfigsResponse.ConfigSource)."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


# Kafka's own keys (TopicConfig, QuotaConfig)
MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"
TIERED = "remote.storage.enable"
NUM_PARTITIONS = "num.partitions"
REPLICATION_FACTOR = "default.replication.factor"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
RATES = (LEADER_RATE, FOLLOWER_RATE)
THROTTLED_REPLICAS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
CORDONED_LOG_DIRS = "cordoned.log.dirs"
"""Log directories of a broker that get no new replicas, `*` for all (KIP-1066)."""

# Cluster-wide keys of reassignd, which share a prefix. The limits are in `controller.scheduling.limits`.
OWN_PREFIX = "reassignment."
THROTTLE = "reassignment.throttle.bytes.per.second"
HEALTH_GUARD = "reassignment.health.guard"
MAX_DISK_USAGE = "reassignment.max.disk.usage"
STEP_TIMEOUT = "reassignment.step.timeout.ms"
CANCEL_MODE = "reassignment.cancel.mode"
DISK_MOVES = "reassignment.disk.moves.per.broker"
EXCLUDED_BROKERS = "reassignment.excluded.brokers"
EXCLUDED_DIRS = "reassignment.excluded.dirs"
SCHEDULE = "reassignment.schedule"
PACE = "reassignment.pace"
PACE_MS = "reassignment.pace.produce.latency.ms"
PACE_FACTOR = "reassignment.pace.produce.latency.factor"
PACE_UNREACHABLE = "reassignment.pace.unreachable"
PACE_TOPIC = "reassignment.pace.topic"
LOAD_SAMPLING = "reassignment.load.sampling"
LOAD_PROMETHEUS = "reassignment.load.prometheus.url"
LOAD_PROMETHEUS_BROKERS = "reassignment.load.prometheus.brokers"
LOAD_METRICS_TOPIC = "reassignment.load.metrics.topic"
PACE_CONFIGS = (PACE, PACE_MS, PACE_FACTOR, PACE_UNREACHABLE, PACE_TOPIC)

# Topic configs of the embedded cluster. They override the server's settings of the same names.
PARTITION_BYTES = "embedded.partition.bytes"
PRODUCE_RATE = "embedded.produce.bytes.per.second"
