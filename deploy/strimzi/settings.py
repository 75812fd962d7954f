"""Write the settings of reassignd from what Strimzi gives to the pod of Cruise Control.

Prints the path of the file. Keys of Cruise Control that have no meaning for reassignd are named on stderr.
docs/strimzi.md lists what is read.
"""

import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(os.environ.get("REASSIGND_ROOT", "/"))
HOME = ROOT / "opt/cruise-control"
USERS = HOME / "api-auth-config/cruise-control.authFile"
OWN = ROOT / "etc/cruise-control/cc-certs"
AUTHORITIES = ROOT / "etc/cruise-control/cluster-ca-certs"
NAMESPACE = ROOT / "var/run/secrets/kubernetes.io/serviceaccount/namespace"
WORK = ROOT / "tmp/cruise-control"

LIMITS = {
    "num.concurrent.partition.movements.per.broker": (
        "reassignment.max.concurrent.replica.movements.per.broker",
        "5",
    ),
    "max.num.cluster.partition.movements": ("reassignment.max.concurrent.replica.movements", "1250"),
    "num.concurrent.leader.movements": ("reassignment.max.concurrent.leader.movements", "1000"),
    "default.replication.throttle": ("reassignment.throttle.bytes.per.second", ""),
    "metric.reporter.topic": ("reassignment.load.metrics.topic", "strimzi.cruisecontrol.metrics"),
    "sample.store.topic.replication.factor": ("state.topic.replication.factor", ""),
}
"""Keys of Cruise Control with a key of reassignd, and the value without one: Cruise Control's default."""

JUDGED = {
    "ReplicaCapacityGoal",
    "DiskCapacityGoal",
    "ReplicaDistributionGoal",
    "DiskUsageDistributionGoal",
    "NetworkInboundUsageDistributionGoal",
    "NetworkOutboundUsageDistributionGoal",
    "LeaderReplicaDistributionGoal",
}
"""Goals whose violations reassignd detects: its own list, which an import would find under one name in the
image and under another in a checkout. A test compares them."""

EQUAL = {"webserver.auth.credentials.file", "webserver.security.enable"}
"""Keys that Strimzi always sets, to what the pod has anyway."""


def main() -> int:
    """Write the files in WORK, with rights for this user only."""
    if not _on("STRIMZI_CC_API_AUTH_ENABLED"):
        print(
            "webserver.security.enable=false is not supported: everyone who reaches the pod could move"
            " partitions. Remove it from spec.cruiseControl.config.",
            file=sys.stderr,
        )
        return 1
    os.umask(0o077)
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / "reassignd.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in _settings().items()))
    print(path)
    return 0


def _settings() -> dict[str, str]:
    bootstrap = os.environ["STRIMZI_KAFKA_BOOTSTRAP_SERVERS"]
    cluster = bootstrap.partition("-kafka-bootstrap")[0] if "-kafka-bootstrap" in bootstrap else ""
    for name in ("token", "peer-secret"):
        (WORK / name).write_text(secrets.token_hex(32))
    settings = {
        "backend": "upstream",
        "upstream.bootstrap.servers": bootstrap,
        "upstream.command.config": str(_client()),
        "cluster.name": cluster,
        "listener": "127.0.0.1:0",
        "state": "topic",
        # A second pod, during an update, waits until the first one has ended; they do not talk to each other.
        "gateway.peer.listener": "127.0.0.1:0",
        "gateway.peer.secret.file": str(WORK / "peer-secret"),
        "http.listener": f"0.0.0.0:{os.environ.get('API_PORT', '9090')}",
        "http.token.file": str(WORK / "token"),
        "cruisecontrol.api": "on",
        "cruisecontrol.users.file": str(USERS),
        "reassignment.load.sampling": "on",
    }
    capacities = HOME / "custom-config/capacity.json"
    if capacities.exists():
        settings["cruisecontrol.capacity.file"] = str(capacities)
    return (
        settings | _http(cluster) | _translated(_properties(HOME / "custom-config/cruisecontrol.properties"))
    )


def _http(cluster: str) -> dict[str, str]:
    """Return the settings of TLS; without it, of the names under which the operators call."""
    if _on("STRIMZI_CC_TLS_ENABLED"):
        return {
            "http.tls.certificate.file": str(OWN / "cruise-control.crt"),
            "http.tls.key.file": str(OWN / "cruise-control.key"),
            "http.tls.min.version": "TLSv1.3",
        }
    if not cluster:
        return {}
    namespace = NAMESPACE.read_text().strip() if NAMESPACE.exists() else "default"
    service = f"{cluster}-cruise-control"
    names = [service, f"{service}.{namespace}", f"{service}.{namespace}.svc"]
    return {"http.allowed.hosts": ",".join([*names, f"{names[-1]}.cluster.local"])}


def _client() -> Path:
    """Write the client properties for the brokers, and the PEM files that they name."""
    lines = []
    if _on("STRIMZI_CC_TLS_ENABLED"):
        authorities = WORK / "cluster-ca.pem"
        authorities.write_text(_joined(sorted(AUTHORITIES.glob("*.crt"))))
        lines += [
            "security.protocol=SSL",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={authorities}",
        ]
    if _on("STRIMZI_CC_MTLS_ENABLED"):
        identity = WORK / "identity.pem"
        identity.write_text(_joined([OWN / "cruise-control.key", OWN / "cruise-control.crt"]))
        lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={identity}"]
    path = WORK / "client.properties"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _translated(given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that Cruise Control's configuration gives; name what it gives in vain."""
    settings = {}
    for key, (ours, default) in LIMITS.items():
        if value := given.get(key, default):
            settings[ours] = value
    goals = [name.strip().rpartition(".")[2] for name in given.get("anomaly.detection.goals", "").split(",")]
    if judged := [name for name in goals if name in JUDGED]:
        settings["cruisecontrol.anomaly.detection.goals"] = ",".join(judged)
    unused = sorted(given.keys() - LIMITS.keys() - EQUAL - {"anomaly.detection.goals"})
    if unused:
        print(f"keys of cruisecontrol.properties without effect: {', '.join(unused)}", file=sys.stderr)
    return settings


def _properties(path: Path) -> dict[str, str]:
    """Return the properties, which Strimzi writes as KEY=VALUE lines."""
    return dict(_pairs(path.read_text())) if path.exists() else {}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            yield key.strip(), value.strip()


def _joined(files: list[Path]) -> str:
    return "".join(f"{file.read_text().strip()}\n" for file in files)


def _on(variable: str) -> bool:
    return os.environ.get(variable) == "true"


if __name__ == "__main__":
    sys.exit(main())
