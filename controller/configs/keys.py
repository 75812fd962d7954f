"""The configs that reassignd knows: name, type, default, valid values, documentation. One table for all uses.

Names, types and defaults of Kafka's own keys are Kafka's (TopicConfig, DynamicConfig); keys that begin with
`embedded.` are ours, those with `reassignment.` ours or KIP-435's. A broker key set on "" is the cluster-wide default.
"""

import re
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from controller.configs.names import (
    CANCEL_MODE,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    HEALTH_GUARD,
    LEADER_RATE,
    LEADER_REPLICAS,
    MAX_DISK_USAGE,
    MIN_ISR,
    NUM_PARTITIONS,
    PARTITION_BYTES,
    PRODUCE_RATE,
    REPLICATION_FACTOR,
    STEP_TIMEOUT,
    THROTTLE,
    UNCLEAN_ELECTION,
)
from controller.scheduling.limits import PREFIX

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
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
"""Why a value is not valid, or None."""


class ConfigKey(NamedTuple):
    """One key. `check` answers with the valid range when a value is outside of it."""

    name: str
    type: ConfigType
    default: str
    doc: str
    check: Check

    @property
    def cluster_wide(self) -> bool:
        """On brokers it counts only as the default of all, and is refused on one of them."""
        return self.name in CLUSTER_WIDE


def whole(low: int, high: int) -> Check:
    """A whole number from `low` to `high`."""

    def check(value: str) -> str | None:
        inside = _WHOLE.fullmatch(value) is not None and low <= int(value) <= high
        return None if inside else f"a whole number from {low} to {high}"

    return check


def fraction(value: str) -> str | None:
    """A number from 0 to 1."""
    try:
        inside = 0 <= float(value) <= 1
    except ValueError:
        inside = False
    return None if inside else "a number from 0 to 1"


def one_of(*names: str) -> Check:
    """One of these words."""
    return lambda value: None if value in names else "one of " + ", ".join(names)


def some_of(*names: str) -> Check:
    """A list of these words, separated by commas."""

    def check(value: str) -> str | None:
        words = [word.strip() for word in value.split(",")]
        return None if set(words) <= set(names) else "a list of " + ", ".join(names)

    return check


def throttled_replicas(value: str) -> str | None:
    """`*`, or pairs of partition and broker (KIP-73; Kafka: ThrottledReplicaListValidator)."""
    if value == "*" or _PAIRS.fullmatch(value.replace(" ", "")):
        return None
    return "* or a list of partition:broker"


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


_EITHER = [
    _int(MIN_ISR, 1, "Replicas that must be in sync for a write with acks=all, and in a step.", 1),
    _boolean(UNCLEAN_ELECTION, "false", "A replica out of sync may lead when no other is left."),
]

_TOPIC = [
    *_EITHER,
    _throttled("leader", LEADER_REPLICAS),
    _throttled("follower", FOLLOWER_REPLICAS),
    _long(
        PARTITION_BYTES,
        0,
        "Embedded cluster: bytes that a partition of the topic begins with; unset, the server's own setting.",
    ),
    _long(
        PRODUCE_RATE,
        0,
        "Embedded cluster: bytes written to a partition in a second; unset, the server's own.",
    ),
    ConfigKey(
        "cleanup.policy", ConfigType.LIST, "delete", "How old data goes.", some_of("delete", "compact", "")
    ),
    ConfigKey(
        "compression.type",
        ConfigType.STRING,
        "producer",
        "How batches are compressed.",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    _long("delete.retention.ms", 86_400_000, "How long tombstones stay."),
    _long("file.delete.delay.ms", 60_000, "How long a deleted file stays on disk."),
    _long("flush.messages", LONG_MAX, "Messages between two flushes.", 1),
    _long("flush.ms", LONG_MAX, "Milliseconds between two flushes."),
    _int("index.interval.bytes", 4_096, "Bytes of log between two index entries."),
    _long("local.retention.bytes", -2, "Bytes kept locally under tiered storage.", -2),
    _long("local.retention.ms", -2, "Milliseconds kept locally under tiered storage.", -2),
    _long("max.compaction.lag.ms", LONG_MAX, "The longest that a message stays uncompacted.", 1),
    _int("max.message.bytes", 1_048_588, "The largest batch."),
    _long("message.timestamp.after.max.ms", 3_600_000, "How far ahead a timestamp may be."),
    _long("message.timestamp.before.max.ms", LONG_MAX, "How far behind a timestamp may be."),
    ConfigKey(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        "What a message's timestamp means.",
        one_of("CreateTime", "LogAppendTime"),
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio", ConfigType.DOUBLE, "0.5", "How dirty a compacted log gets.", fraction
    ),
    _long("min.compaction.lag.ms", 0, "The shortest that a message stays uncompacted."),
    _boolean("preallocate", "false", "New segments take their room at once."),
    _boolean("remote.storage.enable", "false", "Tiered storage."),
    _long("retention.bytes", -1, "Bytes kept of a partition; -1 for all.", -1),
    _long("retention.ms", 604_800_000, "Milliseconds that data is kept; -1 for ever.", -1),
    _int("segment.bytes", 1_073_741_824, "Bytes of a segment.", 14),
    _int("segment.index.bytes", 10_485_760, "Bytes of a segment's index.", 4),
    _long("segment.jitter.ms", 0, "How far rolling a segment may shift."),
    _long("segment.ms", 604_800_000, "Milliseconds after which a segment rolls.", 1),
]

_BROKER = [
    _long(
        LEADER_RATE,
        LONG_MAX,
        "Bytes a second that throttled replicas are sent (KIP-73).",
    ),
    _long(
        FOLLOWER_RATE,
        LONG_MAX,
        "Bytes a second that throttled replicas fetch (KIP-73).",
    ),
    ConfigKey(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        ConfigType.LONG,
        str(LONG_MAX),
        "Bytes a second moved between log directories of one broker.",
        whole(0, LONG_MAX),
    ),
]

_CLUSTER_WIDE = [
    *_EITHER,
    _int(
        PREFIX + "replica.movements.per.partition",
        INT_MAX,
        "Replicas of one partition that one step adds or drops (KIP-435's R).",
        1,
    ),
    _int(PREFIX + "partition.movements", INT_MAX, "Partitions that move at once (KIP-435's P).", 1),
    _int(PREFIX + "leader.movements", INT_MAX, "Steps in flight that move leadership (KIP-435's L).", 1),
    _int(PREFIX + "replica.movements", INT_MAX, "Replicas that move at once in the cluster.", 1),
    _int(
        PREFIX + "replica.movements.per.broker",
        INT_MAX,
        "Replicas that move at once to a broker, and as many from it.",
        1,
    ),
    _long(
        PREFIX + "bytes",
        LONG_MAX,
        "Not in the embedded cluster: bytes on their way at once, of all replicas being added, by the size of their partitions.",
        1,
    ),
    ConfigKey(
        HEALTH_GUARD,
        ConfigType.STRING,
        "hold",
        "Gateway: while a broker is missing or others' partitions are under min ISR, start nothing but repairs (hold), "
        "one step at a time (slow), or go on (off).",
        one_of("hold", "slow", "off"),
    ),
    ConfigKey(
        MAX_DISK_USAGE,
        ConfigType.DOUBLE,
        "0.9",
        "Gateway: a move that would fill a log directory of its target beyond this share waits.",
        fraction,
    ),
    _long(
        THROTTLE,
        LONG_MAX,
        "Bytes a second that each broker sends to, and fetches for, replicas that are being added.",
        1,
    ),
    _long(
        STEP_TIMEOUT,
        600_000,
        "A step whose new replicas receive nothing for so long ends: it keeps those that are in sync, drops the others, and waits for its turn again.",
        1_000,
    ),
    ConfigKey(
        CANCEL_MODE,
        ConfigType.STRING,
        "rollback",
        "What a cancel does: go back to the original replicas (KIP-236), or stop where it is (KIP-455).",
        one_of("rollback", "stop"),
    ),
    _int(NUM_PARTITIONS, 1, "Partitions of a new topic that does not say.", 1),
    _int(REPLICATION_FACTOR, 1, "Replicas of a new topic that does not say.", 1),
]

TOPIC_KEYS = {key.name: key for key in sorted(_TOPIC)}
BROKER_KEYS = {key.name: key for key in sorted([*_BROKER, *_CLUSTER_WIDE])}
CLUSTER_WIDE = {key.name for key in _CLUSTER_WIDE}
