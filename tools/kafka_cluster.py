"""Run real KRaft clusters on this machine, for tests of the gateway and of clients, and for benchmarks.

`python -m tools.kafka_cluster --brokers 4 --port 19092` runs a cluster until it is interrupted.
"""

import argparse
import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)

from common.error_codes import ErrorCode
from protocol.codec.schema import Request, Response
from protocol.frames import ClientConnection, decode_response
from protocol.messages.describe_acls_request import DescribeAclsRequest
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools import certificates
from tools.java import BROKER, QUICK_START, class_archive, is_complete, java_command, own_files
from tools.kafka_settings import (
    CLUSTER_ID,
    MECHANISMS,
    PLAINTEXT,
    PRINCIPALS,
    ClusterLayout,
    Spec,
    client_properties,
    node_settings,
)
from tools.ports import free_ports
from tools.waiting import wait_until

BOOT_SECONDS = 300
ANY = 1
"""What a filter of ACLs leaves open."""

QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


class KafkaCluster:
    """A cluster with one JVM per node. Nodes can be killed and started again."""

    def __init__(self, spec: Spec, folder: Path, first_port: int) -> None:
        self.spec = spec
        self.brokers = spec.broker_ids
        self.folder = folder
        self._layout = ClusterLayout(spec, folder, first_port)
        self._jars = f"broker-{spec.version}"
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of the first broker's PLAINTEXT listener."""
        return self.address(1)

    def address(self, broker: int, listener: str = PLAINTEXT) -> str:
        """Return HOST:PORT of a broker's listener."""
        return self._layout.broker(broker, listener)

    def addresses(self, listener: str = PLAINTEXT) -> str:
        """Return the addresses of all brokers, separated by commas."""
        return ",".join(self.address(broker, listener) for broker in self.brokers)

    def client_config(self, listener: str, principal: str, mechanism: str = "SCRAM-SHA-256") -> Path:
        """Write a `--command-config` file for one of PRINCIPALS on a listener of a secured cluster.

        Return its path.
        """
        login = f"{listener}-{mechanism}" if listener.startswith("SASL") else listener
        path = self.folder / f"client-{login}-{principal}.properties"
        path.touch(0o600)
        path.write_text(client_properties(listener, principal, mechanism, self.folder))
        return path

    def start(self) -> None:
        """Format the storage, start all nodes and wait until they are ready.

        Raises RuntimeError if a node ends.
        """
        if len(self.spec.node_ids) > 1 and not self.spec.measured:
            _archive_classes(self.spec.version)
        if self.spec.secured:
            certificates.make(self.folder, ("broker", *PRINCIPALS))
        for node in self.spec.node_ids:
            settings = node_settings(self._layout, node)
            self._layout.properties(node).write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
        self._format()
        for node in self.spec.node_ids:
            self.start_node(node)
        self.wait_ready()
        if self.spec.secured:
            self._grant()

    def start_node(self, node: int) -> None:
        """Start a node without waiting for it."""
        measured = self.spec.measured
        options = (QUIET, *self.spec.java)
        with self._layout.log(node).open("ab") as log:
            self._processes[node] = subprocess.Popen(
                java_command(
                    self._jars,
                    BROKER,
                    str(self._layout.properties(node)),
                    heap_mb=1024 if measured else 320,
                    options=options if measured else (*QUICK_START, *options),
                ),
                stdout=log,
                stderr=log,
            )

    def log_dirs(self, node: int) -> list[str]:
        """Return the log directories of a node. Its metadata is in the first one."""
        return list(map(str, self._layout.data(node)))

    def remove_log_dir(self, node: int, path: str) -> None:
        """Take a directory out of the settings of a node, which follows when it starts."""
        file = self._layout.properties(node)
        left = ",".join(each for each in self.log_dirs(node) if each != path)
        lines = [line for line in file.read_text().splitlines() if not line.startswith("log.dirs=")]
        file.write_text("\n".join([*lines, f"log.dirs={left}\n"]))

    def kill_node(self, node: int) -> None:
        """Kill a node with SIGKILL."""
        process = self._processes.pop(node)
        process.kill()
        process.wait()

    def stop_node(self, node: int) -> None:
        """Stop a node with SIGTERM, and wait until it has ended."""
        process = self._processes.pop(node)
        process.terminate()
        process.wait()

    def freeze_node(self, node: int) -> None:
        """Stop a node with SIGSTOP: it keeps its connections, and is fenced."""
        self._processes[node].send_signal(signal.SIGSTOP)

    def thaw_node(self, node: int) -> None:
        """Let a frozen node continue."""
        self._processes[node].send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def without(self, node: int) -> Iterator[None]:
        """Kill a node for the duration of a `with` statement, in which no broker takes it for live.

        At the end, start it and wait until it is ready.
        """
        self.kill_node(node)
        try:
            self.wait_ready()
            yield
        finally:
            self.start_node(node)
            self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until each running broker lists all running brokers as live.

        Raises RuntimeError after BOOT_SECONDS.
        """
        deadline = time.monotonic() + BOOT_SECONDS
        running = {broker for broker in self.brokers if broker in self._processes}
        for broker in running:
            while self.seen_by(broker) != running:
                ended = [node for node, process in self._processes.items() if process.poll() is not None]
                if ended or time.monotonic() > deadline:
                    node = (ended or [broker])[0]
                    log = self._layout.log(node).read_text(errors="replace").strip()
                    raise RuntimeError(f"node {node} did not start: {log[-2000:]}")
                time.sleep(0.1)

    def seen_by(self, broker: int) -> set[int]:
        """Return the ids of the live brokers in this broker's metadata. Empty if it does not answer."""
        try:
            with self._connected(broker) as connected:
                return {row.broker_id for row in _ask(connected, DescribeClusterRequest()).brokers}
        except OSError:
            return set()

    def all_know(self, topic: str) -> bool:
        """Return whether the topic is in the metadata of each broker.

        A broker that is busy learns of it seconds later.
        """
        return all(self._knows(broker, topic) for broker in self.brokers)

    def _knows(self, broker: int, topic: str) -> bool:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        with self._connected(broker) as connected:
            (row,) = _ask(connected, request, version=7).topics
        return ErrorCode(row.error_code) is ErrorCode.NONE

    def _connected(self, broker: int) -> socket.socket:
        host, port = self.address(broker).split(":")
        return socket.create_connection((host, int(port)), timeout=BOOT_SECONDS)

    def stop(self) -> None:
        """Kill all nodes."""
        for node in tuple(self._processes):
            self.kill_node(node)

    def _format(self) -> None:
        """Write what Kafka's storage tool writes, which would take a JVM for each node."""
        bootstrap = self._bootstrap()
        for node in self.spec.node_ids:
            for folder in self._layout.data(node):
                folder.mkdir()
                identity = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={node}\n"
                (folder / "meta.properties").write_text(identity)
            if node in self.spec.controller_ids:
                shutil.copy(bootstrap, self._layout.data(node)[0] / bootstrap.name)

    def _bootstrap(self) -> Path:
        """Return the first records of a cluster, made once for a version and its users."""
        users = [
            f"{mechanism}=[name={name},password={name}-secret]"
            for mechanism in MECHANISMS
            for name in PRINCIPALS
            if self.spec.secured and mechanism != "PLAIN"
        ]
        name = hashlib.sha256("".join(users).encode()).hexdigest()[:12]
        made = own_files(self._jars) / f"formatted-{name}" / "bootstrap.checkpoint"
        if made.exists():
            return made
        first = self.spec.controller_ids[0]
        options = [part for user in users for part in ("--add-scram", user)]
        tool = ("kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, *options)
        config = ("--config", str(self._layout.properties(first)))
        done = subprocess.run(
            java_command(self._jars, *tool, *config), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"Kafka's storage tool failed: {done.stdout}{done.stderr}")
        formatted, *others = self._layout.data(first)
        made.parent.mkdir(exist_ok=True)
        copied = made.with_name(f"{made.name}-{os.getpid()}")
        shutil.copy(formatted / made.name, copied)
        copied.replace(made)
        for folder in (formatted, *others):
            shutil.rmtree(folder)
        return made

    def _grant(self) -> None:
        cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
        granted = [
            ACL(f"User:{principal}", "*", operation, ACLPermissionType.ALLOW, cluster)
            for principal, operation in (
                ("alter", ACLOperation.ALTER),
                ("alter", ACLOperation.DESCRIBE),
                ("describe", ACLOperation.DESCRIBE),
            )
        ]
        with admin_client(self.bootstrap) as admin:
            failed = admin.create_acls(granted)["failed"]
        if failed:
            raise RuntimeError(f"Kafka refused the ACLs: {failed}")
        for broker in self.brokers:
            wait_until(partial(self._has_acls, broker, len(granted)), lambda: "ACLs on all brokers", 0.05)

    def _has_acls(self, broker: int, number: int) -> bool:
        every = DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY)
        with self._connected(broker) as connected:
            resources = _ask(connected, every, version=3).resources
        return sum(len(resource.acls) for resource in resources) >= number


def _archive_classes(version: str) -> None:
    """Let the broker of a smaller cluster write the archive of its classes, once: tests kill theirs."""
    if is_complete(class_archive(f"broker-{version}", BROKER)):
        return
    with running_kafka(Spec(1, version)) as smaller:
        smaller.stop_node(1)


def _ask(connected: socket.socket, request: Request[Response], version: int = 0) -> Response:
    wire = ClientConnection()
    connected.sendall(wire.send_request(request, version))
    while data := connected.recv(65536):
        for frame in wire.receive_data(data):
            return decode_response(frame, request.response_class())
    raise ConnectionResetError


@contextlib.contextmanager
def admin_client(bootstrap: str) -> Iterator[KafkaAdminClient]:
    """Open kafka-python's admin client, and close it at the end of the `with` statement."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        yield admin
    finally:
        admin.close()


@contextlib.contextmanager
def running_kafka(
    spec: Spec, *, first_port: int | None = None, folder: Path | None = None
) -> Iterator[KafkaCluster]:
    """Run a cluster for the duration of a `with` statement.

    `first_port` is by default a free one. The files are in `folder`, or in a temporary folder that is removed
    at the end.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(temporary))
        cluster = KafkaCluster(spec, folder, first_port or free_ports(spec.ports))
        stack.callback(cluster.stop)
        cluster.start()
        yield cluster


def main() -> None:
    """Run a cluster until SIGINT or SIGTERM."""
    options = argparse.ArgumentParser(prog="python -m tools.kafka_cluster")
    options.add_argument("--brokers", type=int, default=4)
    options.add_argument("--port", type=int, default=19092)
    options.add_argument("--version", choices=["4.1", "4.3"], default="4.1")
    options.add_argument(
        "--secured", action="store_true", help="SASL and TLS listeners, an authorizer, four principals"
    )
    chosen = options.parse_args()
    spec = Spec(chosen.brokers, chosen.version, secured=chosen.secured)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt), running_kafka(spec, first_port=chosen.port) as kafka:
        for listener in spec.listeners:
            print(f"{listener}: {kafka.addresses(listener)}")
            if listener != PLAINTEXT:
                configs = [str(kafka.client_config(listener, principal)) for principal in PRINCIPALS]
                print("    " + "\n    ".join(configs))
        print("ready", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
