"""Operations of the client tests.

Create topics with data, reassign them, hold reassignments in flight, wait for results.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.clients.java_programs import AdminError, JavaAdmin
from tests.clients.servers import Server

Assignment = Sequence[Sequence[int]]

PATIENCE_SECONDS = 60
SLOW = 1_000
"""Throttle in bytes per second with which no reassignment ends during a test."""

FAST = 100_000_000
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")

_topic_numbers = itertools.count(1)


def wait_for(probe: Callable[[], object], expected: object, seconds: float = PATIENCE_SECONDS) -> None:
    """Call the probe until it returns the expected value.

    Fails after so many seconds and shows the last value.
    """
    deadline = time.monotonic() + seconds
    while (value := probe()) != expected and time.monotonic() < deadline:
        time.sleep(0.05)  # The server is another process, so the test must poll.
    assert value == expected, value


class Cluster:
    """The server under test, through the Java Admin client."""

    def __init__(self, server: Server, admin: JavaAdmin) -> None:
        self.server = server
        self.kind = server.kind
        self.bootstrap = server.bootstrap
        self.admin = admin
        self.brokers: list[int] = sorted(admin.do("cluster")["brokers"])

    def create_topic(self, assignment: Assignment, *, filled: bool = True) -> str:
        """Create a topic with a new name and these replicas for each partition, and return the name."""
        name = f"topic{next(_topic_numbers)}"
        self.admin.do("create", topic=name, assignment=assignment)
        self.wait_for_replicas(name, assignment)
        if filled:
            self.server.fill(name, len(assignment))
        return name

    def partitions(self, topic: str) -> dict[str, Any]:
        """Return leader, replicas and isr by "TOPIC-PARTITION".

        Empty if the broker does not know the topic (yet).
        """
        try:
            partitions: dict[str, Any] = self.admin.do("describe", topic=topic)
        except AdminError as error:
            if error.args[0] == "UnknownTopicOrPartitionException":
                return {}
            raise
        return partitions

    def replicas(self, topic: str) -> list[list[int]]:
        """Return the replicas of each partition."""
        return [row["replicas"] for row in self.partitions(topic).values()]

    def reassignments(self) -> dict[str, Any]:
        """Return replicas, adding and removing of all reassignments by "TOPIC-PARTITION"."""
        reassignments: dict[str, Any] = self.admin.do("list")
        return reassignments

    def expect_reassignments(self, expected: set[str]) -> None:
        """Check that these reassignments are listed. A gateway may need time: the upstream executes them."""
        if self.server.embedded or self.kind == "kafka":
            assert set(self.reassignments()) == expected
        else:
            wait_for(lambda: set(self.reassignments()), expected)

    def hold(self, topic: str) -> None:
        """Throttle the replicas of the topic, so that its reassignments stay in flight."""
        self.set_configs("TOPIC", topic, dict.fromkeys(REPLICAS, "*"))
        self._set_rates(str(SLOW))

    def release(self) -> None:
        """Remove the throttle of `hold`."""
        self._set_rates(None)

    def move(self, moves: dict[str, list[int]]) -> None:
        """Reassign partitions. Fails if one is refused."""
        assert self.admin.do("alter", moves=moves) == dict.fromkeys(moves)

    def wait_until_idle(self) -> None:
        """Wait until there are no reassignments."""
        wait_for(self.reassignments, {})

    def wait_for_replicas(self, topic: str, expected: Assignment) -> None:
        """Wait until each partition has these replicas, all in sync."""
        rows = [(list(replicas), sorted(replicas)) for replicas in expected]
        wait_for(
            lambda: [(row["replicas"], sorted(row["isr"])) for row in self.partitions(topic).values()], rows
        )

    def wait_until_moving(self, topic: str, expected: Assignment) -> None:
        """Wait until each partition has these replicas, in sync or not."""
        wait_for(lambda: self.replicas(topic), [list(replicas) for replicas in expected])

    def config(self, kind: str, name: str, key: str) -> str | None:
        """Return a config that is set on this TOPIC or BROKER; None if it is not set."""
        row = self.admin.do("configs", type=kind, name=name).get(key)
        return row["value"] if row and row["source"].startswith("DYNAMIC_") else None

    def throttles(self, topic: str) -> list[str | None]:
        """Return all throttle configs that are set on brokers or on the topic."""
        rates = [self.config("BROKER", str(broker), rate) for broker in self.brokers for rate in RATES]
        return [value for value in rates + [self.config("TOPIC", topic, key) for key in REPLICAS] if value]

    def clean(self) -> None:
        """Cancel all reassignments and remove all throttles before the next test."""
        self.release()
        self.admin.do("alter", moves=dict.fromkeys(self.reassignments()))
        self.wait_until_idle()

    def _set_rates(self, value: str | None) -> None:
        for broker in self.brokers:
            self.set_configs("BROKER", str(broker), dict.fromkeys(RATES, value))

    def set_configs(self, kind: str, name: str, values: dict[str, str | None]) -> None:
        """Set configs of this TOPIC or BROKER, of all brokers without a name; None deletes one."""
        ops = [["DELETE" if value is None else "SET", key, value] for key, value in values.items()]
        self.admin.do("set_configs", type=kind, name=name, ops=ops)
