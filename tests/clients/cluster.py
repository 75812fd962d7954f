"""What the scenarios share: topics with data, moves held in flight and let go, and waiting for their end."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.clients.java_programs import AdminError, JavaAdmin
from tests.clients.servers import Server

Assignment = Sequence[Sequence[int]]

PATIENCE_SECONDS = 60
SLOW = 1_000
"""A throttle, in bytes per second, under which a move outlasts any test."""

FAST = 100_000_000
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")

_topic_numbers = itertools.count(1)


def wait_for(probe: Callable[[], object], expected: object) -> None:
    """Looks until what is expected is seen; fails after half a minute with what is seen then."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (seen := probe()) != expected and time.monotonic() < deadline:
        time.sleep(0.05)  # The server is another process: there is nothing to wait on but its answers.
    assert seen == expected, seen


class Cluster:
    """A server under test seen through the Java Admin client."""

    def __init__(self, server: Server, admin: JavaAdmin) -> None:
        self.server = server
        self.kind = server.kind
        self.bootstrap = server.bootstrap
        self.admin = admin
        self.brokers: list[int] = sorted(admin.do("cluster")["brokers"])

    def create_topic(self, assignment: Assignment, *, filled: bool = True) -> str:
        """Creates a topic with a new name and these replicas per partition."""
        name = f"topic{next(_topic_numbers)}"
        self.admin.do("create", topic=name, assignment=assignment)
        self.wait_for_replicas(name, assignment)
        if filled:
            self.server.fill(name, len(assignment))
        return name

    def partitions(self, topic: str) -> dict[str, Any]:
        """leader, replicas and isr by "TOPIC-PARTITION"; nothing for a topic that the broker asked does not know (yet)."""
        try:
            partitions: dict[str, Any] = self.admin.do("describe", topic=topic)
        except AdminError as error:
            if error.args[0] == "UnknownTopicOrPartitionException":
                return {}
            raise
        return partitions

    def replicas(self, topic: str) -> list[list[int]]:
        """The replicas of each partition."""
        return [row["replicas"] for row in self.partitions(topic).values()]

    def reassignments(self) -> dict[str, Any]:
        """replicas, adding and removing of all that moves, by "TOPIC-PARTITION"."""
        reassignments: dict[str, Any] = self.admin.do("list")
        return reassignments

    def expect_reassignments(self, expected: set[str]) -> None:
        """Expects these reassignments: at once, or soon where it is another that carries out what was answered."""
        if self.server.embedded or self.kind == "kafka":
            assert set(self.reassignments()) == expected
        else:
            wait_for(lambda: set(self.reassignments()), expected)

    def hold(self, topic: str) -> None:
        """From now on, what moves in the topic stays in flight."""
        self._set_configs("TOPIC", topic, dict.fromkeys(REPLICAS, "*"))
        self._set_rates(str(SLOW))

    def release(self) -> None:
        """Lets moves run that are held by `hold`."""
        self._set_rates(None)

    def move(self, moves: dict[str, list[int]]) -> None:
        """Reassigns partitions, all of which must be accepted."""
        assert self.admin.do("alter", moves=moves) == dict.fromkeys(moves)

    def wait_until_idle(self) -> None:
        """Returns when nothing moves any more."""
        wait_for(self.reassignments, {})

    def wait_for_replicas(self, topic: str, expected: Assignment) -> None:
        """Returns when all brokers can know that each partition has these replicas, all of them in sync."""
        rows = [(list(replicas), sorted(replicas)) for replicas in expected]
        wait_for(
            lambda: [(row["replicas"], sorted(row["isr"])) for row in self.partitions(topic).values()], rows
        )

    def wait_until_moving(self, topic: str, expected: Assignment) -> None:
        """Returns when the broker asked shows these replicas, in sync or not."""
        wait_for(lambda: self.replicas(topic), [list(replicas) for replicas in expected])

    def config(self, kind: str, name: str, key: str) -> str | None:
        """The value of one config of a TOPIC or BROKER, None where it is not set there."""
        row = self.admin.do("configs", type=kind, name=name).get(key)
        return row["value"] if row and row["source"].startswith("DYNAMIC_") else None

    def throttles(self, topic: str) -> list[str | None]:
        """Every throttle value set on any broker or on the topic."""
        rates = [self.config("BROKER", str(broker), rate) for broker in self.brokers for rate in RATES]
        return [value for value in rates + [self.config("TOPIC", topic, key) for key in REPLICAS] if value]

    def clean(self) -> None:
        """Cancels what moves and removes all throttles, for the next scenario."""
        self.release()
        self.admin.do("alter", moves=dict.fromkeys(self.reassignments()))
        self.wait_until_idle()

    def _set_rates(self, value: str | None) -> None:
        for broker in self.brokers:
            self._set_configs("BROKER", str(broker), dict.fromkeys(RATES, value))

    def _set_configs(self, kind: str, name: str, values: dict[str, str | None]) -> None:
        ops = [["DELETE" if value is None else "SET", key, value] for key, value in values.items()]
        self.admin.do("set_configs", type=kind, name=name, ops=ops)
