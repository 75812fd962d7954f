"""Instances of reassignd before one cluster, which share a state topic."""

import itertools
import json
import os
import signal
import urllib.request
from pathlib import Path
from typing import Any

from common.address import Address
from tools.kafka_cluster import KafkaCluster
from tools.ports import free_port, free_ports
from tools.processes import READY_SECONDS, ServerProcess

SESSION_MS = 3000

_numbers = itertools.count(1)


def new_topic() -> str:
    """Return the name of a state topic that no test has used."""
    return f"__reassignd_state_{next(_numbers)}"


class Instance(ServerProcess):
    """A process with `state=topic`. Its ports stay the same when it is started again.

    `at` is the address of its first port, and the host of its HTTP; by default free ports of 127.0.0.1.
    """

    def __init__(
        self,
        kafka: KafkaCluster,
        folder: Path,
        name: str,
        topic: str,
        upstream: str | None = None,
        at: Address | None = None,
        **overrides: str,
    ) -> None:
        self.topic = topic
        at = at or Address("127.0.0.1", free_ports(len(kafka.brokers) + 1))
        self.bootstrap = str(at)
        self.http = f"{at.host}:{free_port()}"
        secret = folder / "secret"
        secret.touch(0o600)
        secret.write_text("a secret that all instances know")
        settings = {
            "state.topic": topic,
            "gateway.peer.secret.file": str(secret),
            "gateway.session.timeout.ms": str(SESSION_MS),
            **{key.replace("_", "."): value for key, value in overrides.items()},
        }
        servers = upstream or kafka.addresses()
        arguments = ["--backend", "upstream", "--state", "topic", "--bootstrap-server", servers]
        listeners = ["--listener", self.bootstrap, "--http", self.http]
        self.ports: list[int] = []
        super().__init__([*arguments, *listeners], settings, folder / f"{name}.log")

    def start(self, within: float = READY_SECONDS) -> str:
        """Start the process and learn its ports."""
        line = super().start(within)
        addresses = line.split()[2].rstrip(",").split(",")
        self.ports = [int(address.rpartition(":")[2]) for address in addresses]
        return line

    def use_module(self, name: str) -> None:
        """Run this module instead of `reassignd`."""
        self._command[2] = name

    def get(self, path: str) -> Any:
        """Return the JSON that the HTTP API answers."""
        return json.loads(self.text(path))

    def text(self, path: str) -> str:
        """Return what HTTP answers."""
        with urllib.request.urlopen(f"http://{self.http}{path}", timeout=30) as response:
            return str(response.read(), "utf-8")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def resume(self) -> None:
        """Let the process go on, if it was suspended."""
        self.send(signal.SIGCONT)
