"""The same sequence of admin requests with every client.

Create, configure, reassign, two refused requests, delete.

Each client is a program with the arguments BOOTSTRAP TOPIC FROM TO, which prints one line for each step; see
AdminTour.java.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.clients.java_programs import HERE
from tools.java import java_command
from tools.other_clients import GO_TOUR, NODE_MODULES

TOUR_SECONDS = 90


class Client(NamedTuple):
    """A client, its command, and the steps that differ.

    `omits`: steps that the client does not support; `differs`: (step, result of this client).
    """

    name: str
    command: Callable[[], list[str]]
    omits: frozenset[str] = frozenset()
    differs: tuple[tuple[str, str], ...] = ()
    needs: Callable[[], bool] = lambda: True
    """Return False if the language of the client is not installed."""


def java(release: str, class_path: str) -> Client:
    """Return the Java Admin client of one Kafka release."""
    return Client(f"java-{release}", lambda: java_command(class_path, str(HERE / "AdminTour.java")))


def go(name: str, differs: tuple[tuple[str, str], ...] = ()) -> Client:
    return Client(name, lambda: [str(GO_TOUR), name], differs=differs, needs=GO_TOUR.exists)


CLIENTS = (
    java("2.4.1", "broker-2.4"),
    java("2.8.2", "broker-2.8"),
    java("3.9.1", "broker-3.9"),
    java("4.1.0", "broker-4.1"),
    java("4.3.0", "tools-4.3"),
    # librdkafka cannot reassign partitions.
    Client(
        "confluent-kafka",
        lambda: [sys.executable, "-m", "tests.clients.confluent_tour"],
        omits=frozenset({"moved", "nothing to cancel", "broker 77"}),
    ),
    go("sarama"),
    go("franz-go"),
    # kafka-go cannot send null replicas; it sends an empty list, which is not a cancel.
    go("kafka-go", differs=(("nothing to cancel", "39"),)),
    # kafkajs cannot send null replicas and refuses an empty list.
    Client(
        "kafkajs",
        lambda: ["env", f"NODE_PATH={NODE_MODULES}", "node", str(HERE / "node" / "tour.js")],
        omits=frozenset({"nothing to cancel"}),
        needs=NODE_MODULES.exists,
    ),
)


def tour(
    client: Client, bootstrap: str, topic: str, start: Sequence[int], target: Sequence[int]
) -> list[str]:
    """Run the client and return the lines of its output. Fails with the output if the exit code is not 0."""
    command = [*client.command(), bootstrap, topic, _listed(start), _listed(target)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TOUR_SECONDS, check=False)
    lines = [line for line in result.stdout.splitlines() if not line.startswith("SLF4J")]
    assert result.returncode == 0, (lines, result.stderr[-2_000:])
    return lines


def expected(
    client: Client, brokers: Sequence[int], start: Sequence[int], target: Sequence[int]
) -> list[str]:
    """Return the expected lines for a cluster with these brokers."""
    steps = {
        "brokers": str(list(brokers)),
        "controller listed": "true",
        "created": str(list(start)),
        "retention": "12345",
        "moved": str(list(target)),
        "nothing to cancel": "85",
        "broker 77": "39",
        "deleted": "",
    } | dict(client.differs)
    return [f"{step} {value}".strip() for step, value in steps.items() if step not in client.omits]


def _listed(replicas: Sequence[int]) -> str:
    return ",".join(map(str, replicas))
