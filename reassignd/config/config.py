"""What can be configured: one table of dotted keys, and how their values come together.

docs/configuration.md is generated from the same table (`tools.reference`).
"""

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reassignd.config import properties
from reassignd.config.http_keys import HttpKeys
from reassignd.config.setting_types import (
    ADDRESS,
    FILE,
    PATH,
    SERVERS,
    SWITCH,
    TEXT,
    Key,
    choice,
    integer,
)
from reassignd.config.zookeeper_keys import ZookeeperKeys
from reassignd.errors import ConfigError

MILLISECONDS = integer(1, 2**31 - 1)
BYTES = integer(0, 2**53)
RATE = integer(1, 2**53)
"""Bytes per second; a rate of 0 would mean that nothing ever ends."""

EMBEDDED, UPSTREAM, ZOOKEEPER = "embedded", "upstream", "zookeeper"

FLAGS = {
    "--backend": "backend",
    "--zookeeper": "zookeeper.connect",
    "--node-id": "node.id",
    "--brokers": "embedded.brokers",
    "--listener": "listener",
    "--data-dir": "data.dir",
    "--http": "http.listener",
    "--log-format": "log.format",
    "--bootstrap-server": "upstream.bootstrap.servers",
    "--command-config": "upstream.command.config",
}
"""Short ways to write `--override key=value`."""

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 (refused, not bound)


class Settings(HttpKeys, ZookeeperKeys):
    """Every setting of `reassignd serve`: `listener` is the value of the key `listener`, and so on."""

    listener = Key(
        ADDRESS,
        "127.0.0.1:9092",
        "Where the first broker listens. Each further broker takes the next port; port 0 gives each a free one.",
    )
    advertised_host = Key(
        TEXT, "", "The host that clients are told to connect to, when it is not that of `listener`."
    )
    data_dir = Key(
        PATH, "./.reassignd", "Where all that was acknowledged is kept. One process at a time uses it."
    )
    backend = Key(
        choice(EMBEDDED, UPSTREAM, ZOOKEEPER),
        EMBEDDED,
        "What carries reassignments out. `embedded`: brokers of our own; `upstream`: a running Kafka; `zookeeper`: the "
        "brokers of a cluster in ZooKeeper mode, whose controller we are.",
    )
    node_id = Key(
        integer(0, 2**31 - 1),
        "1000000",
        "Our broker id in a ZooKeeper-mode cluster; no broker and no other reassignd has it.",
    )
    zookeeper_connect = Key(
        TEXT,
        "127.0.0.1:2181",
        "The cluster's ZooKeeper, as its brokers have it: `HOST:PORT,HOST:PORT/CHROOT`.",
    )
    zookeeper_session_timeout_ms = Key(
        integer(1000, 600_000), "6000", "How long ZooKeeper waits for us before somebody else is elected."
    )
    zookeeper_relieve_brokers = Key(
        SWITCH,
        "true",
        "Take the controller's office from a broker that holds it; else we wait until it is free.",
    )
    zookeeper_inter_broker_protocol_version = Key(
        TEXT, "", "The brokers' `inter.broker.protocol.version`; when not set, they are asked."
    )
    zookeeper_reassign_partitions_plain = Key(
        SWITCH,
        "true",
        "Write `/admin/reassign_partitions` as Kafka does, so that its tools verify the plan and its controller can take it over; "
        "`false` adds KIP-236's `original_replicas`, which they refuse.",
    )
    zookeeper_reassignments_children = Key(
        SWITCH,
        "false",
        "Keep `/admin/reassignments/TOPIC/PARTITION` in step with what is being reassigned (KIP-236, earlier draft).",
    )
    auto_leader_rebalance_enable = Key(
        SWITCH,
        "false",
        "Elect preferred leaders now and then, as Kafka's controller does. In ZooKeeper mode only: a Kafka in front of which "
        "reassignd stands does it by itself.",
    )
    leader_imbalance_check_interval_seconds = Key(integer(1, 2**31 - 1), "300", "How often.")
    leader_imbalance_per_broker_percentage = Key(
        integer(0, 100),
        "10",
        "Of brokers that do not lead more than this percentage of the partitions whose preferred leaders they are.",
    )
    upstream_bootstrap_servers = Key(
        SERVERS, "", "Brokers of the running Kafka, some of which answer at the start; the others are learnt."
    )
    upstream_command_config = Key(
        FILE,
        "",
        "How to connect to it: client properties, as `--command-config` of Kafka's tools takes them.",
    )
    gateway_ports = Key(
        integer(1, 10_000),
        "100",
        "How many brokers a running Kafka may have: each takes one port after that of `listener`, for good.",
    )
    listener_tls_certificate_file = Key(
        FILE,
        "",
        "The certificate chain (PEM) that is shown to Kafka's clients; with it, `listener` speaks TLS only.",
    )
    listener_tls_key_file = Key(FILE, "", "Its private key (PEM), when that is not in the same file.")
    jobs_retention_ms = Key(
        integer(1, 2**53),
        "604800000",
        "How long a job is kept after it has ended; the newest is always kept.",
    )
    jobs_retention_count = Key(
        integer(1, 1_000_000), "1000", "How many ended jobs are kept at most, besides the newest."
    )
    jobs_retention_partitions = Key(
        integer(1, 2**53),
        "2000000",
        "How many partitions all ended jobs may have together; beyond that the oldest are forgotten, whatever the two settings before say.",
    )
    planner_spark_min_partitions = Key(
        integer(0, 2**31 - 1),
        "50000",
        "A job of so many partitions is handed to Spark, where it is installed, for its order and a forecast; 0: none.",
    )
    planner_spark_master = Key(
        TEXT, "local[*]", "The Spark master that plans them, or a Spark Connect server: `sc://HOST:PORT`."
    )
    log_format = Key(
        choice("plain", "json"), "plain", "Lines as log4j writes them, or one JSON object a line."
    )
    log_level = Key(
        choice("DEBUG", "INFO", "WARN", "ERROR"), "INFO", "The least severe lines that are logged."
    )
    max_connections = Key(
        integer(1, 1_000_000), "10000", "Connections on all listeners; one more is closed at once."
    )
    connections_max_idle_ms = Key(
        MILLISECONDS,
        "600000",
        "A connection without a request, or that does not read its answers, is closed then.",
    )
    connections_max_held_bytes = Key(
        integer(1024 * 1024, 2**53),
        "536870912",
        "What is held for all connections together: requests that are incomplete or wait, and answers that clients have not "
        "read. Beyond it the connection that has held most for longest is closed.",
    )
    frame_timeout_ms = Key(
        MILLISECONDS, "60000", "How long a request may take from its first byte to its last."
    )
    tls_handshake_timeout_ms = Key(
        MILLISECONDS,
        "10000",
        "How long a client of a TLS listener may take for the handshake.",
    )
    socket_request_max_bytes = Key(integer(1024, 2**31 - 1), "104857600", "How large a request may be.")
    embedded_brokers = Key(
        integer(1, 1000), "6", "How many brokers the embedded cluster has; their ids count from 1."
    )
    embedded_racks = Key(integer(1, 26), "3", "How many racks these brokers are in, by turns.")
    embedded_log_dirs = Key(integer(1, 100), "2", "How many log directories each of them has.")
    embedded_partition_bytes = Key(
        BYTES,
        "10485760",
        "What a partition holds when this process first sees it. A topic config of this name counts first.",
    )
    embedded_produce_bytes_per_second = Key(
        BYTES, "0", "What producers send to each partition. A topic config of this name counts first."
    )
    embedded_network_bytes_per_second = Key(RATE, "5242880", "The network of each broker, each way.")
    embedded_disk_bytes_per_second = Key(
        RATE, "52428800", "How fast a replica moves between two log directories of one broker."
    )
    embedded_tick_ms = Key(integer(1, 10_000), "50", "How often the embedded cluster moves its data.")
    replica_lag_time_max_ms = Key(
        MILLISECONDS, "30000", "How long a follower may be behind before it leaves the ISR."
    )

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    @property
    def ports(self) -> int:
        """How many ports there are from `listener` on."""
        return self.embedded_brokers if self.backend == EMBEDDED else 1 + self.gateway_ports


KEYS: dict[str, Key[Any]] = {
    each.name: each for table in Settings.__mro__ for each in vars(table).values() if isinstance(each, Key)
}


def in_words(key: str) -> str:
    """How to write the key, for messages: itself, and its flag where it has one."""
    flags = [f" ({flag} {KEYS[key].kind.metavar})" for flag, name in FLAGS.items() if name == key]
    return f"`{key}`" + "".join(flags)


class Assignment(NamedTuple):
    """A key given a value; `source` says where, for messages: a flag, or file and line."""

    key: str
    value: str
    source: str


def read_file(path: Path) -> Iterator[Assignment]:
    """The assignments of a `.properties` file. Raises ConfigError when it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read {path}: {reason}") from error
    for each in properties.parse(text):
        yield Assignment(each.key, each.value, f"{path}:{each.line}")


def parse_override(text: str) -> Assignment:
    """The assignment of `--override key=value`. Raises ConfigError without an equals sign."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--override {text}: expected key=value")
    return Assignment(key.strip(), value.strip(), "--override")


def resolve(assignments: Iterable[Assignment]) -> Settings:
    """Settings from assignments, of which a later one counts before an earlier one.

    Raises ConfigError, naming the source, for an unknown key or a value out of its range.
    """
    settings = Settings({each.key: _parse(each) for each in assignments})
    if settings.backend == UPSTREAM and not settings.upstream_bootstrap_servers:
        raise ConfigError(f"the upstream backend needs {in_words('upstream.bootstrap.servers')}")
    if settings.backend == UPSTREAM and settings.listener in settings.upstream_bootstrap_servers:
        raise ConfigError(
            f"upstream.bootstrap.servers: {settings.listener} is the `listener` of reassignd itself; give Kafka's brokers"
        )
    first, ports = settings.listener.port, settings.ports
    if first and first + ports - 1 > 65535:
        raise ConfigError(f"listener: the ports of {ports} brokers from {first} on end beyond 65535")
    if settings.listener.host in WILDCARDS and not settings.advertised_host:
        raise ConfigError(
            f"listener: clients cannot connect to {settings.listener.host}; set advertised.host too"
        )
    return settings


def _parse(assignment: Assignment) -> object:
    name, value, source = assignment
    key = KEYS.get(name)
    if key is None:
        near = difflib.get_close_matches(name, KEYS, n=1)
        hint = f"the nearest known one is '{near[0]}'" if near else "see docs/configuration.md"
        raise ConfigError(f"{source}: unknown key '{name}'; {hint}")
    try:
        return key.kind.parse(value)
    except ValueError as error:
        raise ConfigError(
            f"{source}: '{value}' is not valid for {name}: expected {key.kind.valid}"
        ) from error
