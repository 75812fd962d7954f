"""Nodes, ports, listeners and `server.properties` of a real KRaft cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CLUSTER_ID = "cmVhc3NpZ25kLXBlZXIhIQ"

PLAINTEXT = "PLAINTEXT"
WATCHED = "WATCHED"
"""A listener without security that is advertised on PROXY_HOST, for a proxy with the same ports there."""

PROXY_HOST = "127.0.0.2"

SECURED = ("SASL_PLAINTEXT", "SASL_SSL", "SSL")
"""Listeners of a secured cluster, named after their security protocols. Brokers use PLAINTEXT between each
other."""

PRINCIPALS = ("admin", "alter", "describe", "nothing")
"""Users with the password `NAME-secret`: a super user, one with ALTER and DESCRIBE on the cluster, one with
DESCRIBE, one without permissions."""

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN")
TOKENS = "OAUTHBEARER"
"""A further SASL mechanism, with unsigned tokens instead of passwords."""

LOGIN_MODULES = {"PLAIN": "plain.PlainLoginModule", TOKENS: "oauthbearer.OAuthBearerLoginModule"}
"""Login modules by mechanism. The other mechanisms use ScramLoginModule."""

SETTINGS = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
}

SELDOM_BUSY = {
    "background.threads": "2",
    "metadata.max.idle.interval.ms": "5000",
    "num.io.threads": "2",
    "num.network.threads": "1",
}
"""Idle brokers take two thirds of the processor time: fewer threads poll, and the controller writes less."""

SMALL_FETCHES = {
    "replica.fetch.max.bytes": "16384",
    "replica.fetch.response.max.bytes": "16384",
    "replica.fetch.wait.max.ms": "200",
}
"""Small fetches: a replication throttle takes effect after kilobytes, so that a test can keep a move in
flight."""

SOON_FENCED = {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "6000"}
"""Settings with which a killed broker is fenced within seconds, but not one that waits for a processor."""


@dataclass(frozen=True)
class Spec:
    """Description of a cluster.

    Broker ids start at 1. The first `controllers` brokers are the KRaft quorum too.

    `apart`: the controllers are separate nodes, with ids from 101. `watched`: with the listener WATCHED.
    `measured`: use the JVM options of Kafka's script. Otherwise JVMs have options for a quick start and a
    small heap, and SELDOM_BUSY. `java`: further JVM options of all nodes. `of_nodes`: settings of single
    nodes.
    """

    brokers: int = 4
    version: str = "4.1"
    controllers: int = 1
    apart: bool = False
    log_dirs: int = 2
    secured: bool = False
    watched: bool = False
    measured: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    java: tuple[str, ...] = ()
    of_nodes: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Ids of the brokers."""
        return tuple(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Ids of the KRaft controllers."""
        first = 101 if self.apart else 1
        return tuple(range(first, first + self.controllers))

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Ids of all nodes."""
        return tuple(dict.fromkeys((*self.broker_ids, *self.controller_ids)))

    @property
    def listeners(self) -> tuple[str, ...]:
        """Listeners of each broker."""
        return (PLAINTEXT, *(SECURED if self.secured else ()), *([WATCHED] if self.watched else ()))

    @property
    def ports(self) -> int:
        """Number of consecutive ports that the cluster needs."""
        return self.brokers * len(self.listeners) + self.controllers


class ClusterLayout:
    """Addresses and file paths of the nodes of a cluster."""

    def __init__(self, spec: Spec, folder: Path, first_port: int) -> None:
        self.spec = spec
        self.folder = folder
        self._first_port = first_port

    def broker(self, broker: int, listener: str = PLAINTEXT) -> str:
        """Return HOST:PORT of a broker's listener."""
        spec = self.spec
        port = self._first_port + spec.listeners.index(listener) * spec.brokers + broker - 1
        # The certificates have this name. Kafka's clients would resolve an address to a name of their own.
        return f"localhost:{port}" if listener.endswith("SSL") else f"127.0.0.1:{port}"

    def watched(self, broker: int) -> str:
        """Return HOST:PORT at which the listener WATCHED is advertised."""
        return self.broker(broker, WATCHED).replace("127.0.0.1", PROXY_HOST)

    def controller(self, node: int) -> str:
        """Return HOST:PORT of a controller."""
        spec = self.spec
        first = self._first_port + spec.brokers * len(spec.listeners)
        return f"127.0.0.1:{first + spec.controller_ids.index(node)}"

    def properties(self, node: int) -> Path:
        """Return the path of the node's `server.properties`."""
        return self.folder / f"node-{node}.properties"

    def log(self, node: int) -> Path:
        """Return the path of the node's log."""
        return self.folder / f"node-{node}.log"

    def data(self, node: int) -> list[Path]:
        """Return the node's log directories. The metadata log is in the first one."""
        disks = self.spec.log_dirs if node in self.spec.broker_ids else 1
        return [self.folder / f"data-{node}-{number}" for number in range(disks)]


def node_settings(layout: ClusterLayout, node: int, certificates: Path | None = None) -> dict[str, str]:
    """Return the properties of a node.

    `certificates` is the folder of the PEM files, by default that of the cluster.
    """
    spec = layout.spec
    settings = (
        SETTINGS
        | ({} if spec.measured else SELDOM_BUSY)
        | _listeners(layout, node)
        | {
            "node.id": str(node),
            "broker.rack": f"rack-{node % 3}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": ",".join(
                f"{each}@{layout.controller(each)}" for each in spec.controller_ids
            ),
            "log.dirs": ",".join(map(str, layout.data(node))),
        }
    )
    if spec.secured:
        settings |= _security(certificates or layout.folder)
    return settings | dict(spec.settings) | dict(spec.of_nodes.get(node, {}))


def _listeners(layout: ClusterLayout, node: int) -> dict[str, str]:
    spec = layout.spec
    roles, bound = [], []
    if node in spec.broker_ids:
        roles.append("broker")
        bound += [f"{name}://{layout.broker(node, name)}" for name in spec.listeners]
    advertised = ",".join(bound)
    if spec.watched:
        address = layout.broker(node, WATCHED)
        advertised = advertised.replace(f"{WATCHED}://{address}", f"{WATCHED}://{layout.watched(node)}")
    if node in spec.controller_ids:
        roles.append("controller")
        bound.append(f"CONTROLLER://{layout.controller(node)}")
    settings = {
        "process.roles": ",".join(roles),
        "listeners": ",".join(bound),
        "listener.security.protocol.map": ",".join(
            [
                *(f"{name}:{PLAINTEXT if name == WATCHED else name}" for name in spec.listeners),
                "CONTROLLER:PLAINTEXT",
            ]
        ),
        "inter.broker.listener.name": PLAINTEXT,
    }
    return settings | ({"advertised.listeners": advertised} if advertised else {})


def _security(certificates: Path) -> dict[str, str]:
    package = "org.apache.kafka.common.security"
    users = " ".join(f'user_{name}="{name}-secret"' for name in PRINCIPALS)
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # Brokers and controllers connect without credentials.
        "super.users": "User:ANONYMOUS;User:admin",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates / "ca.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates / "broker.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/$1/",
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        prefix = f"listener.name.{listener}"
        settings[f"{prefix}.sasl.enabled.mechanisms"] = ",".join((*MECHANISMS, TOKENS))
        settings[f"{prefix}.plain.sasl.jaas.config"] = f"{package}.plain.PlainLoginModule required {users};"
        bearer = f"{package}.{LOGIN_MODULES[TOKENS]} required;"
        settings[f"{prefix}.oauthbearer.sasl.jaas.config"] = bearer
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"{prefix}.{mechanism}.sasl.jaas.config"] = f"{package}.scram.ScramLoginModule required;"
    return settings


def client_properties(listener: str, principal: str, mechanism: str, certificates: Path) -> str:
    """Return the contents of a client's properties file for a listener. `mechanism` is for SASL listeners."""
    lines = [f"security.protocol={listener}"]
    if listener.endswith("SSL"):
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={certificates / 'ca.pem'}"]
    if listener == "SSL":
        lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={certificates / f'{principal}.pem'}"]
    if listener.startswith("SASL"):
        module = LOGIN_MODULES.get(mechanism, "scram.ScramLoginModule")
        login = f'username="{principal}" password="{principal}-secret"'
        if mechanism == TOKENS:
            login = f'unsecuredLoginStringClaim_sub="{principal}"'
        lines += [
            f"sasl.mechanism={mechanism}",
            f"sasl.jaas.config=org.apache.kafka.common.security.{module} required {login};",
        ]
    return "\n".join(lines) + "\n"
