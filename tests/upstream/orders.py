"""Clients of several kinds that order moves one after the other, and note what was acknowledged."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from tests.clients.in_thread import wait_for_end
from tests.clients.java_programs import AdminError, JavaAdmin, Tools
from tests.clients.tool import Tool
from tests.clients.tours import CLIENTS, expected, tour

MOST = 300
"""Orders of one client."""


class RefusedError(Exception):
    """The answer to an order is not the expected one."""


Order = Callable[[int], None]
"""Gives the order for one partition; raises an error if it was not acknowledged."""


class Orders:
    """Orders for the partitions 0, 1, 2 ... of a topic; `errors` are those of its client."""

    def __init__(self, topic: str, order: Order, errors: tuple[type[Exception], ...] = ()) -> None:
        self.topic, self._order = topic, order
        self._expected: tuple[type[Exception], ...] = (*errors, RefusedError, OSError)
        self.acknowledged: list[int] = []
        self.errors: list[str] = []
        self.broken: BaseException | None = None
        """An error that no client should have."""
        self._pause = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=topic, daemon=True)

    def start(self, within: float) -> None:
        """Give at most MOST orders within about this many seconds."""
        self._pause = within / MOST
        self._thread.start()

    def stop(self) -> None:
        """Finish the order that was begun, and end."""
        self._stop.set()
        wait_for_end(self._thread)

    def _run(self) -> None:
        try:
            for partition in range(MOST):
                if self._stop.wait(self._pause):
                    return
                try:
                    self._order(partition)
                    self.acknowledged.append(partition)
                except self._expected as error:
                    self.errors.append(f"{type(error).__name__}: {error}"[:300])
        except Exception as error:  # noqa: BLE001 (the test reports it)
            self.broken = error


def by_java(admin: JavaAdmin, topic: str, target: Sequence[int]) -> Orders:
    """One Java Admin client that lives on."""

    def order(partition: int) -> None:
        moves = {f"{topic}-{partition}": target}
        _expect(admin.do("alter", moves=moves), dict.fromkeys(moves))

    return Orders(topic, order, (AdminError,))


def by_tool(tools: Tools, bootstrap: str, folder: Path, topic: str, target: Sequence[int]) -> Orders:
    """kafka-reassign-partitions, which connects anew each time."""
    tool = Tool(tools, bootstrap, folder)

    def order(partition: int) -> None:
        rows = [{"topic": topic, "partition": partition, "replicas": target}]
        plan = tool.write({"version": 1, "partitions": rows})
        done = tool("reassign", "--execute", "--additional", "--reassignment-json-file", plan)
        if "Successfully started" not in done.stdout:
            raise RefusedError(done.stdout + done.stderr)

    return Orders(topic, order)


def by_kafka_python(bootstrap: str, topic: str, target: Sequence[int]) -> Orders:
    """A client of kafka-python for each order."""

    def order(partition: int) -> None:
        client = KafkaAdminClient(bootstrap_servers=bootstrap)
        try:
            moves = {TopicPartition(topic, partition): target}
            _expect(client.alter_partition_reassignments(moves), dict.fromkeys(moves))
        finally:
            client.close()

    return Orders(topic, order, (KafkaError, RuntimeError))


def by_sarama(bootstrap: str, brokers: Sequence[int]) -> Orders | None:
    """The tour of sarama, each time with a topic of its own; None without Go."""
    (client,) = [client for client in CLIENTS if client.name == "sarama"]
    a, b, c, d = brokers[:4]

    def order(number: int) -> None:
        lines = tour(client, bootstrap, f"shared-sarama-{number}", (a, b), (c, d))
        _expect(lines, expected(client, brokers, (a, b), (c, d)))

    return Orders("sarama", order, (AssertionError,)) if client.needs() else None


def _expect(answer: object, acknowledged: object) -> None:
    if answer != acknowledged:
        raise RefusedError(str(answer))
