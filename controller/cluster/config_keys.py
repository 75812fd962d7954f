"""The config keys that reassignd supports: name, type, default, valid values, documentation.

Kafka's keys have the names, types and defaults of Kafka (TopicConfig, DynamicConfig). Keys with the prefix
`embedded.` are defined by reassignd, those with `reassignment.` by reassignd or KIP-435. A key of the broker
resource "" is the cluster-wide default.
"""

import re
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from controller.model.configs import (
    CANCEL_MODE,
    CORDONED_LOG_DIRS,
    DISK_MOVES,
    EXCLUDED_BROKERS,
    EXCLUDED_DIRS,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    HEALTH_GUARD,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOAD_METRICS_TOPIC,
    LOAD_PROMETHEUS,
    LOAD_PROMETHEUS_BROKERS,
    LOAD_SAMPLING,
    LOG_DIRS_RATE,
    MAX_DISK_USAGE,
    MIN_ISR,
    NUM_PARTITIONS,
    PACE,
    PACE_FACTOR,
    PACE_MS,
    PACE_TOPIC,
    PACE_UNREACHABLE,
    PARTITION_BYTES,
    PRODUCE_RATE,
    REPLICATION_FACTOR,
    SCHEDULE,
    STEP_TIMEOUT,
    THROTTLE,
    TIERED,
    UNCLEAN_ELECTION,
    labelled_items,
    list_items,
)
from controller.model.replicas import is_topic_name
from controller.schedule.periods import EXAMPLE, ScheduleError, Zones, parse_schedule
from controller.scheduling.limits import PREFIX

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_BROKER_ID = re.compile(r"[0-9]{1,10}")
_PAIR = "[0-9]{1,10}:[0-9]{1,10}"
_PAIRS = re.compile(f"({_PAIR}(,{_PAIR})*,?)?")


class ConfigType(IntEnum):
    """Value types, numbered as on the wire (Kafka: DescribeConfigsResponse.ConfigType)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


Check = Callable[[str], str | None]
"""Return the valid range if the value is invalid, else None."""


class ConfigKey(NamedTuple):
    """A config key."""

    name: str
    type: ConfigType
    default: str
    doc: str
    accepts: Check | None
    """None for a schedule: it depends on the zones that the host knows."""

    def check(self, value: str, zones: Zones) -> str | None:
        """Return the valid range if the value is invalid, else None."""
        return schedule(value, zones) if self.accepts is None else self.accepts(value)


def whole(low: int, high: int) -> Check:
    """Accept integers from `low` to `high`."""

    def check(value: str) -> str | None:
        inside = _WHOLE.fullmatch(value) is not None and low <= int(value) <= high
        return None if inside else f"a whole number from {low} to {high}"

    return check


def fraction(value: str) -> str | None:
    """Accept numbers from 0 to 1."""
    try:
        inside = 0 <= float(value) <= 1
    except ValueError:
        inside = False
    return None if inside else "a number from 0 to 1"


def number(low: float, high: float) -> Check:
    """Accept numbers from `low` to `high`, with a fraction or without."""

    def check(value: str) -> str | None:
        inside = _DECIMAL.fullmatch(value) is not None and low <= float(value) <= high
        return None if inside else f"a number from {low:g} to {high:g}"

    return check


def topic_name(value: str) -> str | None:
    """Accept the name of a topic."""
    return (
        None
        if is_topic_name(value)
        else "a topic name: 1 to 249 letters, digits, dots, underscores and hyphens"
    )


def one_of(*names: str) -> Check:
    """Accept one of the names."""
    return lambda value: None if value in names else "one of " + ", ".join(names)


def some_of(*names: str) -> Check:
    """Accept a comma-separated list of the names."""

    def check(value: str) -> str | None:
        words = [word.strip() for word in value.split(",")]
        return None if set(words) <= set(names) else "a list of " + ", ".join(names)

    return check


def throttled_replicas(value: str) -> str | None:
    """Accept `*` or a list of partition:broker (KIP-73; Kafka: ThrottledReplicaListValidator)."""
    if value == "*" or _PAIRS.fullmatch(value.replace(" ", "")):
        return None
    return "* or a list of partition:broker"


def broker_ids(value: str) -> str | None:
    """Accept a list of broker ids."""
    valid = all(_BROKER_ID.fullmatch(item) and int(item) <= INT_MAX for item in list_items(value))
    return None if valid else "a list of broker ids"


def broker_dirs(value: str) -> str | None:
    """Accept a list of log directories, as BROKER:PATH."""
    pairs = [item.partition(":") for item in list_items(value)]
    valid = all(broker and path and broker_ids(broker) is None for broker, _, path in pairs)
    return None if valid else "a list of BROKER:PATH, such as 3:/data2"


def http_url(value: str) -> str | None:
    """Accept the URL of an HTTP server, or an empty text for none."""
    expected = "http://HOST:PORT or https://HOST:PORT, without a user: all may read it who may read configs"
    try:
        parts = urlsplit(value.strip())
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return expected
    extra = parts.username or parts.password or parts.query or parts.fragment
    return None if not value.strip() or (valid and not extra) else expected


def optional_topic_name(value: str) -> str | None:
    """Accept the name of a topic, or an empty text for none."""
    return topic_name(value) if value else None


def labelled_brokers(value: str) -> str | None:
    """Accept a list of `VALUE=ID`, each value once."""
    pairs = labelled_items(value)
    valid = all(label and broker and broker_ids(broker) is None for label, broker in pairs)
    if valid and len(dict(pairs)) == len(pairs):
        return None
    return "a list of VALUE=ID, each VALUE once, such as 10.0.0.1:9404=1"


def schedule(value: str, zones: Zones) -> str | None:
    """Accept a schedule, or an empty text for none."""
    try:
        if value.strip():
            parse_schedule(value, zones)
    except ScheduleError as error:
        return f"periods such as {EXAMPLE}, and {error}"
    return None


_BOOLEAN = one_of("true", "false")


def _boolean(name: str, default: str, doc: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.BOOLEAN, default, doc, _BOOLEAN)


def _int(name: str, default: int, doc: str, low: int = 0, high: int = INT_MAX) -> ConfigKey:
    return ConfigKey(name, ConfigType.INT, str(default), doc, whole(low, high))


def _long(name: str, default: int, doc: str, low: int = 0) -> ConfigKey:
    return ConfigKey(name, ConfigType.LONG, str(default), doc, whole(low, LONG_MAX))


def _throttled(role: str, name: str) -> ConfigKey:
    return ConfigKey(
        name,
        ConfigType.LIST,
        "",
        f"Replicas throttled on the {role} side: partition:broker pairs, or * for all.",
        throttled_replicas,
    )


_TOPIC_OR_CLUSTER = [
    _int(
        MIN_ISR,
        1,
        "Minimum number of in-sync replicas for a write with acks=all, and for completing a step.",
        1,
    ),
    _boolean(
        UNCLEAN_ELECTION,
        "false",
        "Allow a replica that is not in sync to become leader if no other replica is available.",
    ),
]

_TOPIC = [
    *_TOPIC_OR_CLUSTER,
    _throttled("leader", LEADER_REPLICAS),
    _throttled("follower", FOLLOWER_REPLICAS),
    _long(
        PARTITION_BYTES,
        0,
        "Embedded cluster: initial size of a partition in bytes. Default: the setting of the server.",
    ),
    _long(
        PRODUCE_RATE,
        0,
        "Embedded cluster: simulated produce rate of a partition in bytes per second. "
        "Default: the setting of the server.",
    ),
    ConfigKey(
        "cleanup.policy",
        ConfigType.LIST,
        "delete",
        "Policy for old data: delete, compact, or both.",
        some_of("delete", "compact", ""),
    ),
    ConfigKey(
        "compression.type",
        ConfigType.STRING,
        "producer",
        "Compression of batches.",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    _long("delete.retention.ms", 86_400_000, "Milliseconds that tombstones are kept."),
    _long("file.delete.delay.ms", 60_000, "Milliseconds until a deleted file is removed from disk."),
    _long("flush.messages", LONG_MAX, "Number of messages between flushes.", 1),
    _long("flush.ms", LONG_MAX, "Milliseconds between flushes."),
    _int("index.interval.bytes", 4_096, "Bytes of log between two index entries."),
    _long("local.retention.bytes", -2, "Bytes kept locally under tiered storage.", -2),
    _long("local.retention.ms", -2, "Milliseconds kept locally under tiered storage.", -2),
    _long("max.compaction.lag.ms", LONG_MAX, "Maximum milliseconds that a message stays uncompacted.", 1),
    _int("max.message.bytes", 1_048_588, "Maximum size of a batch."),
    _long(
        "message.timestamp.after.max.ms",
        3_600_000,
        "Maximum milliseconds that a timestamp may be in the future.",
    ),
    _long(
        "message.timestamp.before.max.ms",
        LONG_MAX,
        "Maximum milliseconds that a timestamp may be in the past.",
    ),
    ConfigKey(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        "Meaning of the timestamp of a message.",
        one_of("CreateTime", "LogAppendTime"),
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        "0.5",
        "Minimum ratio of dirty log to total log for compaction.",
        fraction,
    ),
    _long("min.compaction.lag.ms", 0, "Minimum milliseconds that a message stays uncompacted."),
    _boolean("preallocate", "false", "Allocate the space of new segments in advance."),
    _boolean(TIERED, "false", "Enable tiered storage."),
    _long("retention.bytes", -1, "Maximum size of a partition; -1 for unlimited.", -1),
    _long("retention.ms", 604_800_000, "Milliseconds that data is kept; -1 for unlimited.", -1),
    _int("segment.bytes", 1_073_741_824, "Size of a segment.", 14),
    _int("segment.index.bytes", 10_485_760, "Size of the index of a segment.", 4),
    _long("segment.jitter.ms", 0, "Maximum random jitter of segment rolls in milliseconds."),
    _long("segment.ms", 604_800_000, "Milliseconds after which a segment rolls.", 1),
]

_BROKER = [
    _long(
        LEADER_RATE,
        LONG_MAX,
        "Maximum bytes per second that are sent to throttled replicas (KIP-73).",
    ),
    _long(
        FOLLOWER_RATE,
        LONG_MAX,
        "Maximum bytes per second that throttled replicas fetch (KIP-73).",
    ),
    ConfigKey(
        LOG_DIRS_RATE,
        ConfigType.LONG,
        str(LONG_MAX),
        "Maximum bytes per second that are moved between log directories of a broker.",
        whole(0, LONG_MAX),
    ),
    ConfigKey(
        CORDONED_LOG_DIRS,
        ConfigType.LIST,
        "",
        "Log directories of a broker that get no new replicas, * for all of them (KIP-1066).",
        lambda _: None,
    ),
]

_CLUSTER_WIDE = [
    *_TOPIC_OR_CLUSTER,
    _int(
        PREFIX + "replica.movements.per.partition",
        INT_MAX,
        "Maximum number of replicas of a partition that a step adds or drops (R of KIP-435).",
        1,
    ),
    _int(
        PREFIX + "partition.movements",
        INT_MAX,
        "Maximum number of partitions that move at once (P of KIP-435).",
        1,
    ),
    _int(
        PREFIX + "leader.movements",
        INT_MAX,
        "Maximum number of steps in flight that change the leader (L of KIP-435).",
        1,
    ),
    _int(
        PREFIX + "replica.movements",
        INT_MAX,
        "Maximum number of replicas that move at once in the cluster (C of KIP-435).",
        1,
    ),
    _int(
        PREFIX + "replica.movements.per.broker",
        INT_MAX,
        "Maximum number of replicas that move at once to a broker, and from a broker (B).",
        1,
    ),
    _long(
        PREFIX + "bytes",
        LONG_MAX,
        "Maximum total size of the replicas that are being added at once. Not in the embedded cluster.",
        1,
    ),
    ConfigKey(
        HEALTH_GUARD,
        ConfigType.STRING,
        "hold",
        "Gateway: while a broker is offline, or partitions that are not being reassigned are under min ISR, "
        "start only repairs (hold), start one step at a time (slow), or do nothing (off).",
        one_of("hold", "slow", "off"),
    ),
    ConfigKey(
        MAX_DISK_USAGE,
        ConfigType.DOUBLE,
        "0.9",
        "Gateway: a step waits if it would fill a log directory of a target beyond this fraction. So does a"
        " move between log directories, in every mode.",
        fraction,
    ),
    _long(
        THROTTLE,
        LONG_MAX,
        "Throttle: bytes per second that each broker sends to, and fetches for, "
        "replicas that are being added.",
        1,
    ),
    _long(
        STEP_TIMEOUT,
        600_000,
        "A step whose new replicas receive no data for this time ends: "
        "replicas in sync are kept, the others are dropped, and the partition is queued again.",
        1_000,
    ),
    _int(
        DISK_MOVES,
        1,
        "Maximum number of replicas that move at once between the log directories of one broker. If it is"
        " not set, limit B of the job applies, by default 1.",
        1,
    ),
    ConfigKey(
        CANCEL_MODE,
        ConfigType.STRING,
        "rollback",
        "Effect of a cancel: restore the original replicas (rollback, KIP-236), "
        "or keep the current ones (stop, KIP-455).",
        one_of("rollback", "stop"),
    ),
    ConfigKey(
        EXCLUDED_BROKERS,
        ConfigType.LIST,
        "",
        "Brokers that get no partitions of new topics, and no new partitions, for instance because they are "
        "drained. Before a running Kafka they are cordoned, from Kafka 4.3 on.",
        broker_ids,
    ),
    ConfigKey(
        EXCLUDED_DIRS,
        ConfigType.LIST,
        "",
        "Log directories that get no new replicas, for instance because they are emptied, as BROKER:PATH. "
        "Before a running Kafka they are cordoned, from Kafka 4.3 on.",
        broker_dirs,
    ),
    ConfigKey(
        SCHEDULE,
        ConfigType.STRING,
        "",
        "Periods in which steps may start, with their throttles and one time zone, by default UTC. "
        "Steps in flight continue after a period.",
        None,
    ),
    ConfigKey(
        PACE,
        ConfigType.STRING,
        "off",
        "Move as fast as producers permit, and no faster (auto): the window of each broker, and its throttle"
        " if that is needed, follow the latency of produces. Other limits stay in force.",
        one_of("auto", "off"),
    ),
    ConfigKey(
        PACE_MS,
        ConfigType.DOUBLE,
        "0",
        "Pace: the latency in ms that producers may see while partitions move; 0: the factor applies.",
        number(0, 600_000),
    ),
    ConfigKey(
        PACE_FACTOR,
        ConfigType.DOUBLE,
        "1.5",
        "Pace: the latency that producers may see while partitions move, as a multiple of the latency"
        " without a move.",
        number(1.05, 100),
    ),
    ConfigKey(
        PACE_UNREACHABLE,
        ConfigType.STRING,
        "continue",
        "Pace: while the latency cannot be kept even at the least speed, continue at that speed (continue),"
        " or start no steps (hold).",
        one_of("continue", "hold"),
    ),
    ConfigKey(
        PACE_TOPIC,
        ConfigType.STRING,
        "__reassignd_canary",
        "Pace: the topic of the canary, which reassignd creates with one partition for each broker. Not in"
        " the embedded cluster.",
        topic_name,
    ),
    ConfigKey(
        LOAD_SAMPLING,
        ConfigType.STRING,
        "off",
        "Measure what producers write and consumers read, by partition, once a minute. It needs the extra"
        " `propose`.",
        one_of("on", "off"),
    ),
    ConfigKey(
        LOAD_PROMETHEUS,
        ConfigType.STRING,
        "",
        "The URL of a Prometheus that has metrics of the brokers, for what consumers read and for the CPU.",
        http_url,
    ),
    ConfigKey(
        LOAD_PROMETHEUS_BROKERS,
        ConfigType.LIST,
        "",
        "Brokers whose hosts are not in the label `instance` of the series of Prometheus: `VALUE=ID,…`, where"
        " the value is that of any label, or the host of `instance`.",
        labelled_brokers,
    ),
    ConfigKey(
        LOAD_METRICS_TOPIC,
        ConfigType.STRING,
        "",
        "The metrics topic of Cruise Control (`__CruiseControlMetrics`, with Strimzi"
        " `strimzi.cruisecontrol.metrics`), for what consumers read and for the CPU. A Prometheus that is set"
        " is asked in its place.",
        optional_topic_name,
    ),
    _int(NUM_PARTITIONS, 1, "Default number of partitions of a new topic.", 1),
    _int(REPLICATION_FACTOR, 1, "Default replication factor of a new topic.", 1),
]

TOPIC_KEYS = {key.name: key for key in sorted(_TOPIC)}
BROKER_KEYS = {key.name: key for key in sorted([*_BROKER, *_CLUSTER_WIDE])}
CLUSTER_WIDE = {key.name for key in _CLUSTER_WIDE}
"""Keys that can be set only on the cluster-wide default, not on a single broker."""
