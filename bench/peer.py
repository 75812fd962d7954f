"""A real Kafka 4.1 cluster (KRaft) on this machine: the yardstick of benchmarks, and the check on what client tests expect.

`python -m bench.peer --brokers 4 --port 19092` runs one until it is interrupted.
"""

import argparse
import contextlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tools.java import QUICK_START, java_command

CLUSTER_ID = "cmVhc3NpZ25kLXBlZXIhIQ"
BOOT_SECONDS = 90
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

SETTINGS = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    # Small fetches, so that a replication throttle bites after kilobytes and a move can be held in flight.
    "replica.fetch.max.bytes": "16384",
    "replica.fetch.response.max.bytes": "16384",
    "replica.fetch.wait.max.ms": "200",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
}


class KafkaCluster:
    """Brokers 1 to N, one JVM each on consecutive ports; broker 1 is the KRaft controller too."""

    def __init__(self, folder: Path, brokers: int, first_port: int, *, measured: bool) -> None:
        self.brokers = tuple(range(1, brokers + 1))
        self.bootstrap = f"127.0.0.1:{first_port}"
        self.controller = f"127.0.0.1:{first_port + brokers}"
        self._java_options = (QUIET,) if measured else (*QUICK_START, QUIET)
        self._heap_mb = 1024 if measured else 320
        self._folder = folder
        self._first_port = first_port
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Formats the storage and returns when every broker takes connections; raises RuntimeError if one ends before."""
        for broker in self.brokers:
            self._write_properties(broker)
        self._format_storage()
        for broker in self.brokers:
            self.start_broker(broker)
        self._wait_for_ports()

    def start_broker(self, broker: int) -> None:
        """Starts one broker without waiting for it."""
        with (self._folder / f"broker-{broker}.log").open("ab") as log:
            self._processes[broker] = subprocess.Popen(
                java_command(
                    "broker-4.1",
                    "kafka.Kafka",
                    str(self._properties(broker)),
                    heap_mb=self._heap_mb,
                    options=self._java_options,
                ),
                stdout=log,
                stderr=log,
            )

    def kill_broker(self, broker: int) -> None:
        """Ends one broker without a goodbye."""
        process = self._processes.pop(broker)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """Ends all brokers. Nothing of theirs is worth a clean shutdown."""
        for broker in tuple(self._processes):
            self.kill_broker(broker)

    def _properties(self, broker: int) -> Path:
        return self._folder / f"broker-{broker}.properties"

    def _write_properties(self, broker: int) -> None:
        client = f"PLAINTEXT://127.0.0.1:{self._port(broker)}"
        leads = broker == self.brokers[0]
        settings = SETTINGS | {
            "node.id": str(broker),
            "broker.rack": f"rack-{broker % 3}",
            "process.roles": "broker,controller" if leads else "broker",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"{self.brokers[0]}@{self.controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "listeners": f"{client},CONTROLLER://{self.controller}" if leads else client,
            "advertised.listeners": client,
            "log.dirs": ",".join(str(self._folder / f"data-{broker}-{disk}") for disk in "ab"),
        }
        self._properties(broker).write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def _format_storage(self) -> None:
        first = self.brokers[0]
        tool = (
            "kafka.tools.StorageTool",
            "format",
            "--cluster-id",
            CLUSTER_ID,
            "--config",
            str(self._properties(first)),
        )
        subprocess.run(java_command("broker-4.1", *tool), check=True, capture_output=True)
        # The others need no metadata of their own, only to know where they belong.
        for broker in self.brokers[1:]:
            for disk in "ab":
                folder = self._folder / f"data-{broker}-{disk}"
                folder.mkdir()
                identity = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={broker}\n"
                (folder / "meta.properties").write_text(identity)

    def _port(self, broker: int) -> int:
        return self._first_port + broker - 1

    def _wait_for_ports(self) -> None:
        deadline = time.monotonic() + BOOT_SECONDS
        waiting = list(self.brokers)
        while waiting:
            for broker, process in self._processes.items():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(
                        f"broker {broker} did not start, see {self._folder}/broker-{broker}.log"
                    )
            waiting = [broker for broker in waiting if not _accepts(self._port(broker))]
            time.sleep(0.1)


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def running_kafka(
    brokers: int, first_port: int, folder: Path | None = None, *, measured: bool = False
) -> Iterator[KafkaCluster]:
    """A cluster for the length of a `with`; its files are kept only in a `folder` that is given.

    One that is `measured` runs as Kafka's own script runs it; else it is made to start soon and stay small.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="kafka-peer-", ignore_cleanup_errors=True)
                )
            )
        cluster = KafkaCluster(folder, brokers, first_port, measured=measured)
        stack.callback(cluster.stop)
        cluster.start()
        yield cluster


def main() -> None:
    """Runs a cluster until SIGINT or SIGTERM."""
    options = argparse.ArgumentParser(prog="python -m bench.peer")
    options.add_argument("--brokers", type=int, default=4)
    options.add_argument("--port", type=int, default=19092)
    chosen = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt), running_kafka(chosen.brokers, chosen.port) as kafka:
        print(f"ready: {kafka.bootstrap} (controller {kafka.controller})", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
