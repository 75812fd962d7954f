"""The settings of `reassignd serve`.

The table of keys. docs/configuration.md is generated from it (`tools.reference`).

The limits and other `reassignment.` configs have initial values among the settings. They apply as long as
nobody has set the config: a dynamic change wins, and deleting it restores the initial value. Clients see them
as static broker configs, as those of Kafka's server.properties.
"""

from typing import Any

from common.zones import host_zone
from controller.cluster.config_keys import BROKER_KEYS, CLUSTER_WIDE
from controller.model.configs import OWN_PREFIX
from controller.scheduling.limits import ALIASES
from reassignd.config.keys import CruiseControlKeys, HttpKeys, InstanceKeys, ListenerKeys, ZookeeperKeys
from reassignd.config.setting_types import (
    ADDRESS,
    DIRECTORY,
    FILE,
    HOST,
    NAME,
    PATH,
    SERVERS,
    SWITCH,
    TEXT,
    Key,
    choice,
    integer,
)

INITIAL = {
    name: key for name, key in BROKER_KEYS.items() if name in CLUSTER_WIDE and name.startswith(OWN_PREFIX)
}
"""The configs that settings may have initial values for."""


def config_of(setting: str) -> str:
    """Return the config that a setting names, which may be a name of KIP-435.

    The setting itself if it is none.
    """
    return ALIASES.get(setting, setting)


def checked(config: str, value: str) -> str:
    """Return the value. Raises ValueError with the valid values."""
    expected = INITIAL[config].check(value, host_zone)
    if expected is not None:
        raise ValueError(expected)
    return value


MILLISECONDS = integer(1, 2**31 - 1)
BYTES = integer(0, 2**53)
RATE = integer(1, 2**53)
"""Bytes per second. 0 is not allowed: copies would never complete."""

EMBEDDED, UPSTREAM, ZOOKEEPER = "embedded", "upstream", "zookeeper"

FLAGS = {
    "--backend": "backend",
    "--zookeeper": "zookeeper.connect",
    "--node-id": "node.id",
    "--brokers": "embedded.brokers",
    "--listener": "listener",
    "--data-dir": "data.dir",
    "--http": "http.listener",
    "--state": "state",
    "--log-format": "log.format",
    "--ready-format": "ready.format",
    "--bootstrap-server": "upstream.bootstrap.servers",
    "--command-config": "upstream.command.config",
}
"""Command-line option -> the key that it sets."""


class Settings(HttpKeys, CruiseControlKeys, InstanceKeys, ListenerKeys, ZookeeperKeys):
    """All settings of `reassignd serve`. An attribute has the name of its key, with underscores for dots."""

    cluster_name = Key(
        NAME,
        "",
        "Name of the cluster for people, such as `prod`. The page and `reassignd status` show it beside the"
        " cluster's id.",
    )
    listener = Key(
        ADDRESS,
        "127.0.0.1:9092",
        "Address of the first Kafka listener. Further brokers use the ports after it; with port 0 each one"
        " uses a free port.",
    )
    advertised_host = Key(HOST, "", "Host name that clients connect to, if it is not the host of `listener`.")
    data_dir = Key(
        PATH,
        "./.reassignd",
        "Data directory with the durable records. Only one process at a time can use it.",
    )
    backend = Key(
        choice(EMBEDDED, UPSTREAM, ZOOKEEPER),
        EMBEDDED,
        "What executes reassignments. `embedded`: simulated brokers in this process; `upstream`: a running"
        " Kafka cluster, with reassignd as its gateway; `zookeeper`: the brokers of a cluster in ZooKeeper"
        " mode, with reassignd as its controller.",
    )
    node_id = Key(
        integer(0, 2**31 - 1),
        "1000000",
        "ZooKeeper mode: the id of this process in the cluster. No broker and no other reassignd may use it.",
    )
    zookeeper_connect = Key(
        TEXT,
        "127.0.0.1:2181",
        "ZooKeeper mode: the same value as on the brokers, `HOST:PORT,HOST:PORT/CHROOT`.",
    )
    zookeeper_session_timeout_ms = Key(
        integer(1000, 600_000),
        "6000",
        "ZooKeeper mode: session timeout. If ZooKeeper hears nothing for this time, another controller is"
        " elected.",
    )
    zookeeper_relieve_brokers = Key(
        SWITCH,
        "true",
        "ZooKeeper mode: replace a broker that is the controller. If `false`, wait until there is no"
        " controller.",
    )
    zookeeper_inter_broker_protocol_version = Key(
        TEXT,
        "",
        "ZooKeeper mode: `inter.broker.protocol.version` of the brokers. If empty, it is requested from the"
        " brokers.",
    )
    zookeeper_reassign_partitions_plain = Key(
        SWITCH,
        "true",
        "Write `/admin/reassign_partitions` in Kafka's format, which Kafka's tools and controller can read."
        " `false` adds `original_replicas` (KIP-236), which they reject.",
    )
    zookeeper_reassignments_children = Key(
        SWITCH,
        "false",
        "Maintain a znode `/admin/reassignments/TOPIC/PARTITION` for each ongoing reassignment (earlier"
        " draft of KIP-236).",
    )
    auto_leader_rebalance_enable = Key(
        SWITCH,
        "false",
        "ZooKeeper mode: elect preferred leaders periodically, as Kafka's controller does. With"
        " `backend=upstream`, Kafka does it.",
    )
    leader_imbalance_check_interval_seconds = Key(
        integer(1, 2**31 - 1), "300", "Interval of the checks of `auto.leader.rebalance.enable`."
    )
    leader_imbalance_per_broker_percentage = Key(
        integer(0, 100),
        "10",
        "A check elects preferred leaders for a broker that does not lead more than this percentage of its"
        " preferred partitions.",
    )
    upstream_bootstrap_servers = Key(
        SERVERS, "", "Addresses of some brokers of the upstream cluster. The other brokers are discovered."
    )
    upstream_command_config = Key(
        FILE,
        "",
        "Client properties for connections to the upstream cluster, as for `--command-config` of Kafka's"
        " tools.",
    )
    gateway_ports = Key(
        integer(1, 10_000),
        "100",
        "Maximum number of brokers in the upstream cluster. Each broker has its own port after that of"
        " `listener`, which it keeps.",
    )
    relay_refuse_unknown_principals = Key(
        SWITCH,
        "false",
        "Gateway and ZooKeeper mode: refuse reassignments and changes of `reassignment.*` from clients whose"
        " name reassignd cannot read from their login, such as with GSSAPI, delegation tokens or opaque"
        " bearer tokens.",
    )
    listener_tls_certificate_file = Key(
        FILE,
        "",
        "Certificate chain (PEM) of the Kafka listeners. If set, they accept TLS connections only.",
    )
    listener_tls_key_file = Key(FILE, "", "Private key (PEM), if it is not in the certificate file.")
    jobs_retention_ms = Key(
        integer(1, 2**53),
        "604800000",
        "Time that an ended job is kept. The newest job is always kept.",
    )
    jobs_retention_count = Key(
        integer(1, 1_000_000), "1000", "Maximum number of ended jobs, besides the newest."
    )
    jobs_retention_partitions = Key(
        integer(1, 2**53),
        "2000000",
        "Maximum number of partitions of all ended jobs. Beyond it the oldest jobs are deleted, regardless"
        " of the two settings above.",
    )
    audit_dir = Key(
        DIRECTORY,
        "",
        "ZooKeeper mode: directory with the audit log of what this process accepted as the controller. If"
        " empty, there is none. In the other modes the log is in `data.dir`.",
    )
    audit_retention_ms = Key(
        integer(1, 2**53),
        "31536000000",
        "Time that an entry of the audit log is kept. The newest entry is always kept.",
    )
    audit_retention_entries = Key(
        integer(1, 100_000_000),
        "1000000",
        "Maximum number of entries in the audit log. Beyond it the oldest entries are deleted.",
    )
    planner_spark_min_partitions = Key(
        integer(0, 2**31 - 1),
        "5000",
        "Jobs with at least this number of partitions are planned with Spark, if it is installed. 0 disables"
        " it.",
    )
    planner_spark_warm = Key(
        SWITCH,
        "false",
        "Start Spark with the server, and keep it. Otherwise it starts with the first large job, which takes"
        " about ten seconds more, and ends after ten minutes without one.",
    )
    planner_spark_master = Key(TEXT, "local[*]", "Spark master, or a Spark Connect server: `sc://HOST:PORT`.")
    log_format = Key(
        choice("plain", "json"),
        "plain",
        "Format of log lines: `plain` as of log4j, or `json` with one object per line.",
    )
    ready_format = Key(
        choice("plain", "json"),
        "plain",
        "Format of the line on stdout when requests are served: `plain` for people, or `json`, an object"
        " with the addresses for programs.",
    )
    log_level = Key(choice("DEBUG", "INFO", "WARN", "ERROR"), "INFO", "Minimum level of log lines.")
    prometheus_credentials_file = Key(
        FILE,
        "",
        "File with the logins of Prometheus servers, one per line: `URL basic USER:PASSWORD` or `URL bearer"
        " TOKEN`. A login is sent to its URL only. It is read again when it changes.",
    )
    metrics_kafka_names = Key(
        choice("auto", "always", "never"),
        "auto",
        "Whether `/metrics` has metrics under the names of Kafka's MBeans too. `auto`: not in a gateway,"
        " whose brokers export them, and without those of replicas in ZooKeeper mode.",
    )
    metrics_moving_partitions = Key(
        integer(0, 100_000),
        "0",
        "Maximum number of moving partitions with a gauge of their own in `/metrics`, which shows whether"
        " they are under-replicated (KIP-352). 0: none.",
    )
    traces_exporter = Key(
        choice("none", "otlp"),
        "none",
        "Where traces of jobs are sent. `otlp`: to the receiver of the variable"
        " `OTEL_EXPORTER_OTLP_ENDPOINT`, by HTTP; this needs the extra `reassignd[otel]`.",
    )
    traces_partitions_per_job = Key(
        integer(1, 100_000),
        "1000",
        "About how many partitions of a job have spans for their steps. Of a larger job, this number is"
        " chosen.",
    )
    max_connections = Key(
        integer(1, 1_000_000),
        "10000",
        "Maximum number of connections to all Kafka listeners. Further connections are closed immediately.",
    )
    connections_max_idle_ms = Key(
        MILLISECONDS,
        "600000",
        "A connection that sends no request, or does not read its responses, is closed after this time.",
    )
    connections_max_held_bytes = Key(
        integer(1024 * 1024, 2**53),
        "536870912",
        "Maximum memory of all connections for requests that are incomplete or waiting, and for responses"
        " that clients have not read. Beyond it, the connection with the most bytes times seconds of"
        " silence is closed.",
    )
    frame_timeout_ms = Key(
        MILLISECONDS, "60000", "Maximum time from the first byte of a request to its last."
    )
    tls_handshake_timeout_ms = Key(
        MILLISECONDS,
        "10000",
        "Maximum time for a TLS handshake.",
    )
    socket_request_max_bytes = Key(integer(1024, 2**31 - 1), "104857600", "Maximum size of a request.")
    embedded_brokers = Key(
        integer(1, 1000), "6", "Embedded cluster: number of brokers. Their ids start at 1."
    )
    embedded_racks = Key(
        integer(1, 26), "3", "Embedded cluster: number of racks. Brokers are assigned to racks in turn."
    )
    embedded_log_dirs = Key(integer(1, 100), "2", "Embedded cluster: number of log directories per broker.")
    embedded_partition_bytes = Key(
        BYTES,
        "10485760",
        "Embedded cluster: initial size of a partition. A topic config of this name takes precedence.",
    )
    embedded_produce_bytes_per_second = Key(
        BYTES,
        "0",
        "Embedded cluster: simulated produce rate of each partition. A topic config of this name takes"
        " precedence.",
    )
    embedded_network_bytes_per_second = Key(
        RATE, "5242880", "Embedded cluster: network rate of each broker, in each direction."
    )
    embedded_disk_bytes_per_second = Key(
        RATE, "52428800", "Embedded cluster: rate of copies between log directories of a broker."
    )
    embedded_tick_ms = Key(integer(1, 10_000), "50", "Embedded cluster: interval of the simulation.")
    replica_lag_time_max_ms = Key(
        MILLISECONDS,
        "30000",
        "Embedded cluster: a follower that is behind for this time is removed from the ISR.",
    )

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    @property
    def initial_limits(self) -> dict[str, str]:
        """The initial values of `reassignment.` configs, by config."""
        return {name: value for name, value in self.values.items() if name in INITIAL}

    @property
    def ports(self) -> int:
        """Number of consecutive ports from that of `listener`."""
        return self.embedded_brokers if self.backend == EMBEDDED else 1 + self.gateway_ports


KEYS: dict[str, Key[Any]] = {
    each.name: each for table in Settings.__mro__ for each in vars(table).values() if isinstance(each, Key)
}


def key_and_option(key: str) -> str:
    """Return the key with its command-line option, for messages."""
    flags = [f" ({flag} {KEYS[key].kind.metavar})" for flag, name in FLAGS.items() if name == key]
    return f"`{key}`" + "".join(flags)
