"""Run ZooKeeper and real brokers on this machine, for tests of ZooKeeper mode.

ZooKeeper's jars are those of PySpark. `python -m tools.zookeeper_cluster --brokers 4` runs a cluster until it
is interrupted. Unless reassignd is started too, one of the brokers is the controller.
"""

import argparse
import contextlib
import importlib.util
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from tools.java import BROKER, QUICK_START, class_archive, find_java, is_complete, java_command
from tools.ports import free_ports

BOOT_SECONDS = 300
STOP_SECONDS = 120
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"

ZOOKEEPER_JARS = (
    "zookeeper", "zookeeper-jute", "slf4j-api", "netty-handler", "netty-common", "netty-transport",
    "netty-buffer", "netty-codec-base", "netty-resolver", "netty-transport-classes-epoll",
    "netty-transport-native-unix-common", "metrics-core", "snappy-java",
)  # fmt: skip

SETTINGS = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "2",
    # With small fetches a throttle takes effect after kilobytes, so that a test can keep a move in flight.
    "replica.fetch.max.bytes": "16384",
    "replica.fetch.response.max.bytes": "16384",
    "replica.fetch.wait.max.ms": "200",
    "replica.lag.time.max.ms": "5000",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "2",
    "zookeeper.connection.timeout.ms": "60000",
    "zookeeper.session.timeout.ms": "6000",
}


class ZookeeperCluster:
    """A ZooKeeper server, and brokers 1 to N of a Kafka release.

    `protocol` is the inter.broker.protocol.version.

    `measured`: use the JVM options of Kafka's script. Otherwise JVMs have options for a quick start and a
    small heap.
    """

    def __init__(
        self,
        folder: Path,
        brokers: int,
        *,
        release: str = "3.9",
        protocol: str = "2.4-IV0",
        measured: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.brokers = tuple(range(1, brokers + 1))
        self.folder = folder
        first = free_ports(brokers + 1)
        self._zookeeper_port, self._first_port = first, first + 1
        self.zookeeper = f"127.0.0.1:{first}/kafka"
        self.bootstrap = f"127.0.0.1:{self._first_port}"
        self.release, self._measured = release, measured
        self._jars = f"broker-{release}"
        self._settings: Mapping[str, str] = {
            **SETTINGS,
            "inter.broker.protocol.version": protocol,
            **(settings or {}),
        }
        self._server: subprocess.Popen[bytes] | None = None
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        """Start the cluster. It is stopped at the end of the `with` statement, or if it does not start."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start ZooKeeper and all brokers and wait until they accept connections.

        Raises RuntimeError if one ends.
        """
        if len(self.brokers) > 1 and not self._measured:
            _archive_classes(self.release)
        self.start_zookeeper()
        for broker in self.brokers:
            self.start_broker(broker)
        for broker in self.brokers:
            self.wait_for_broker(broker)

    def start_zookeeper(self) -> None:
        """Start ZooKeeper on its data directory, and wait until it accepts connections."""
        config = self.folder / "zookeeper.cfg"
        _write_properties(config, self.zookeeper_properties())
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = [
            str(find_java()),
            *QUICK_START,
            *self.java_options(),
            "-Xmx128m",
            "-cp",
            _zookeeper_class_path(),
            main,
            str(config),
        ]
        with (self.folder / "zookeeper.log").open("ab") as log:
            self._server = subprocess.Popen(command, stdout=log, stderr=log)
        _wait_for_port(self._zookeeper_port, self._server, "zookeeper")

    def zookeeper_properties(self) -> dict[str, str]:
        """Return ZooKeeper's settings (`zoo.cfg`)."""
        return {
            "dataDir": str(self.folder / "zookeeper"),
            "clientPort": str(self._zookeeper_port),
            "clientPortAddress": "127.0.0.1",
            "tickTime": "500",
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
        }

    def java_options(self) -> tuple[str, ...]:
        """Return additional options for all JVMs; for subclasses."""
        return ()

    def kill_zookeeper(self) -> None:
        """Kill ZooKeeper with SIGKILL."""
        assert self._server is not None
        self._server.kill()
        self._server.wait()

    def start_broker(self, broker: int) -> None:
        """Start a broker without waiting for it."""
        properties = self.folder / f"broker-{broker}.properties"
        _write_properties(properties, self.properties(broker))
        command = java_command(
            self._jars,
            BROKER,
            str(properties),
            heap_mb=1024 if self._measured else 160,
            options=(*(() if self._measured else QUICK_START), QUIET, *self.java_options()),
        )
        with (self.folder / f"broker-{broker}.log").open("ab") as log:
            self._running[broker] = subprocess.Popen(command, stdout=log, stderr=log)

    def properties(self, broker: int) -> dict[str, str]:
        """Return the broker's `server.properties`."""
        return {
            **self._settings,
            "broker.id": str(broker),
            "broker.rack": f"rack-{broker % 3}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port(broker)}",
            "log.dirs": ",".join(str(self.data(broker, disk)) for disk in "ab"),
            "zookeeper.connect": self.zookeeper,
        }

    def wait_for_broker(self, broker: int) -> None:
        """Wait until the broker accepts connections. Raises RuntimeError if it ends."""
        _wait_for_port(self.port(broker), self._running[broker], f"broker {broker}")

    def kill_broker(self, broker: int) -> None:
        """Kill a broker with SIGKILL."""
        process = self._running.pop(broker)
        process.kill()
        process.wait()

    def stop_broker(self, broker: int) -> None:
        """Stop a broker by controlled shutdown."""
        process = self._running.pop(broker)
        process.terminate()
        process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """Kill all brokers and ZooKeeper."""
        for broker in tuple(self._running):
            self.kill_broker(broker)
        if self._server is not None:
            self.kill_zookeeper()

    def pid(self, broker: int) -> int:
        """Return the id of the broker's process."""
        return self._running[broker].pid

    def port(self, broker: int) -> int:
        """Return the broker's port."""
        return self._first_port + broker - 1

    def data(self, broker: int, disk: str) -> Path:
        """Return one of the broker's two log directories: disk "a" or "b"."""
        return self.folder / f"data-{broker}-{disk}"

    def hosts(self, topic: str, partition: int) -> set[int]:
        """Return the brokers that have a log of the partition on disk.

        A log that is being deleted does not count.
        """
        name = f"{topic}-{partition}"
        return {b for b in self.brokers if any((self.data(b, disk) / name).is_dir() for disk in "ab")}

    def log(self, broker: int) -> str:
        """Return the contents of the broker's log."""
        return (self.folder / f"broker-{broker}.log").read_text(errors="replace")


def _write_properties(file: Path, properties: Mapping[str, str]) -> None:
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def _zookeeper_class_path() -> str:
    spark = importlib.util.find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise RuntimeError("PySpark, which includes ZooKeeper's jars, is not installed: run `make setup`")
    jars = Path(spark.origin).parent / "jars"
    return ":".join(str(next(jars.glob(f"{name}-[0-9]*.jar"))) for name in ZOOKEEPER_JARS)


def _archive_classes(release: str) -> None:
    """Let the broker of a smaller cluster write the archive of its classes, once: tests kill theirs."""
    if not is_complete(class_archive(f"broker-{release}", BROKER)):
        with running_cluster(1, release=release, settings={"controlled.shutdown.enable": "false"}) as smaller:
            smaller.stop_broker(1)


def _wait_for_port(port: int, process: subprocess.Popen[bytes], name: str) -> None:
    deadline = time.monotonic() + BOOT_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{name} did not start: see its log in the cluster's folder")
        time.sleep(0.05)


@contextlib.contextmanager
def running_cluster(
    brokers: int,
    folder: Path | None = None,
    *,
    release: str = "3.9",
    protocol: str = "2.4-IV0",
    measured: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[ZookeeperCluster]:
    """Run a cluster for the duration of a `with` statement.

    The files are in `folder`, or in a temporary folder that is removed at the end.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="zookeeper-cluster-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(temporary))
        cluster = ZookeeperCluster(
            folder, brokers, release=release, protocol=protocol, measured=measured, settings=settings
        )
        yield stack.enter_context(cluster)


def main() -> None:
    """Run a cluster until SIGINT or SIGTERM."""
    options = argparse.ArgumentParser(prog="python -m tools.zookeeper_cluster")
    options.add_argument("--brokers", type=int, default=4)
    options.add_argument("--release", default="3.9", choices=["3.9", "2.8", "2.4"])
    options.add_argument("--protocol", default="2.4-IV0")
    options.add_argument("--folder", type=Path)
    chosen = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        contextlib.suppress(KeyboardInterrupt),
        running_cluster(
            chosen.brokers, chosen.folder, release=chosen.release, protocol=chosen.protocol
        ) as cluster,
    ):
        print(f"ready: zookeeper {cluster.zookeeper}, brokers from {cluster.bootstrap}", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
