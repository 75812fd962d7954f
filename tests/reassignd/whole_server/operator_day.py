"""What an operator does in a day with four brokers in three racks.

Add a broker, raise replication factors, drain a broker.
"""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.reassignd.shell import PATIENCE_SECONDS, Shell, create_topic

PARTITIONS = 200
TOPICS = 50
DRAINED = "broker 4 holds nothing; it can be stopped"

Row = dict[str, Any]


class OperatorDay:
    """Runs commands against a cluster whose broker 4 is new. Brokers 1 and 4 are in the same rack.

    `drained` is the line about broker 4 when it is empty.
    """

    def __init__(self, shell: Shell, drained: str = DRAINED) -> None:
        self._shell, self._drained = shell, drained

    def create_topics(self) -> None:
        """Create a topic of 200 partitions on brokers 1 to 3, and 50 small topics with one replica."""
        bootstrap = self._shell.server.bootstrap
        lists = [[number % 3 + 1, (number + 1) % 3 + 1] for number in range(PARTITIONS)]
        create_topic(bootstrap, lists, "large")
        for number in range(TOPICS):
            create_topic(bootstrap, [[number % 3 + 1]], f"small-{number}")
        self._shell.until(lambda: len(self.rows()) == PARTITIONS + TOPICS)

    def rows(self) -> list[Row]:
        """Return the partitions of the topics above."""
        rows = map(json.loads, self._shell.ok("snapshot").splitlines())
        return [
            row for row in rows if row["kind"] == "partition" and row["topic"].startswith(("large", "small"))
        ]

    def lists(self) -> dict[tuple[str, int], list[int]]:
        """Return the replicas of each partition."""
        return {(row["topic"], row["partition"]): row["replicas"] for row in self.rows()}

    def add_a_broker(self) -> None:
        """Spread onto broker 4 with one command, and compare the result with the proposal."""
        forecast = self._shell.ok("propose", "add", "4", "--dry-run")
        assert "forecast: " in forecast
        proposal = self._execute("add", "4")
        held = Counter(broker for row in self.rows() for broker in row["replicas"])
        assert held == {each["broker"]: each["after"]["replicas"] for each in proposal["brokers"]}
        assert held[4] > 0
        self._check_racks()

    def raise_replication_factors(self) -> None:
        """Give the 50 small topics a second replica with one command."""
        assert self._execute("rf", "2", "--topics", "small-.*")["moves"] == TOPICS
        assert {len(replicas) for replicas in self.lists().values()} == {2}
        self._check_racks()

    def drain_a_broker(self, stopped: Callable[[], AbstractContextManager[None]]) -> None:
        """Drain broker 4 under limits with one command, stop it, start it, and roll the drain back."""
        before = self.lists()
        self._shell.ok("limits", "P=20", "B=10")
        drained = self._shell.ok(
            "propose", "drain", "4", "--execute", "--wait", "--timeout", str(PATIENCE_SECONDS)
        )
        assert drained.splitlines()[-1] == self._drained
        assert self._shell.run("drained", "4").code == 0
        self._check_racks()
        with stopped():
            assert [row for row in self.rows() if sorted(row["isr"]) != sorted(row["replicas"])] == []
        job = max(job["id"] for job in self._shell.json("jobs")["jobs"])
        assert self._shell.run("rollback", str(job), "--wait").code == 0
        assert self.lists() == before
        assert self._shell.run("drained", "4").code == 1

    def _execute(self, *goal: str) -> Row:
        lines = self._shell.ok("propose", *goal, "--execute", "--wait", "--format", "json").splitlines()
        proposal: Row = json.loads(lines[0])
        return proposal

    def _check_racks(self) -> None:
        """No partition has two replicas in a rack: not on both of brokers 1 and 4."""
        assert [replicas for replicas in self.lists().values() if {1, 4} <= set(replicas)] == []
