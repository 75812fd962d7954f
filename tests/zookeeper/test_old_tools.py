"""kafka-reassign-partitions of Kafka 2.4 and 2.8, which write plans to ZooKeeper."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.java_programs import Tools
from tests.zookeeper.scenarios import REASSIGN
from tests.zookeeper.site import Site, wait_for
from tests.zookeeper.test_moves import limit
from tests.zookeeper.test_tools import plan
from tools.java import java_command

MAX_PARTITIONS = "reassignment.max.concurrent.partition.movements"
RATE = "leader.replication.throttled.rate"


class OldTool:
    """Runs `kafka-reassign-partitions` of one release with one plan."""

    def __init__(self, site: Site, release: str, file: str) -> None:
        self.release = release
        self._site, self._file = site, file

    def run(self, *arguments: str) -> str:
        """Return the output with `--zookeeper`."""
        return self._run("--zookeeper", self._site.cluster.zookeeper, *arguments)

    def run_with_bootstrap_server(self, *arguments: str) -> str:
        """Return the output with `--bootstrap-server`."""
        return self._run("--bootstrap-server", self._site.cluster.bootstrap, *arguments)

    def verify(self, topic: str) -> dict[str, str]:
        """Return the status that `--verify` prints for each partition of the topic."""
        lines_of_topic = (line.partition(f" {topic}-") for line in self.run("--verify").splitlines())
        statuses = (rest.partition(" ") for _, _, rest in lines_of_topic if rest)
        return {f"{topic}-{number.rstrip(',')}": text.rstrip(".") for number, _, text in statuses}

    def _run(self, *arguments: str) -> str:
        main = "kafka.admin.ReassignPartitionsCommand"
        command = java_command(
            f"broker-{self.release}", main, *arguments, "--reassignment-json-file", self._file
        )
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        return result.stdout + result.stderr


@pytest.fixture
def topic(site: Site) -> str:
    topic = site.create_topic([[1, 2], [2, 1]])
    site.fill(topic, 2)
    site.hold(topic)  # Brokers apply the throttle of the tool too late.
    return topic


@pytest.fixture(params=["2.4", "2.8"])
def tool(
    site: Site, tools: Tools, topic: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[OldTool]:
    """The tool with a throttled plan of two partitions, of which one moves at a time."""
    limit(site, tools, "--add-config", f"{MAX_PARTITIONS}=1")
    yield OldTool(site, request.param, plan(tmp_path, topic, {0: [3, 4], 1: [4, 3]}))
    site.release()
    limit(site, tools, "--delete-config", MAX_PARTITIONS)


def any_moves(site: Site, topic: str) -> bool:
    """Return whether one of the two partitions is moving; the tool chooses which one is first."""
    return any(site.cluster.hosts(topic, number) == {1, 2, 3, 4} for number in (0, 1))


def throttle_rates(site: Site) -> set[str | None]:
    """Return the throttle rates of the brokers."""
    znodes = [site.znode(f"/config/brokers/{broker}") for broker in site.cluster.brokers]
    return {(znode or {"config": {}})["config"].get(RATE) for znode in znodes}


def test_a_plan_is_executed_throttled_and_verified(site: Site, topic: str, tool: OldTool) -> None:
    assert "Successfully started" in tool.run("--execute", "--throttle", "1000")
    wait_for(lambda: any_moves(site, topic), True)
    both = {f"{topic}-0": "is still in progress", f"{topic}-1": "is still in progress"}
    assert tool.verify(topic) == both
    assert throttle_rates(site) == {"1000"}
    assert site.znode(f"/config/topics/{topic}")["config"].keys() >= {"leader.replication.throttled.replicas"}
    assert "existing" in tool.run("--execute", "--throttle", "100000000")
    site.release("100000000")
    wait_for(lambda: site.znode(REASSIGN), None)
    statuses = tool.verify(topic)
    assert statuses.keys() == both.keys()
    assert all("complete" in status for status in statuses.values()), statuses
    assert throttle_rates(site) == {None}
    wait_for(lambda: site.znode(f"/config/topics/{topic}")["config"], {})
    site.wait_for_replicas(topic, [[3, 4], [4, 3]])


def test_a_cancelled_plan_is_reported_as_failed(site: Site, topic: str, tool: OldTool) -> None:
    """The tool of 2.4 cannot cancel, and that of 2.8 only with --bootstrap-server.

    --verify of both reports the result.
    """
    tool.run("--execute", "--throttle", "1000")
    wait_for(lambda: any_moves(site, topic), True)
    if tool.release == "2.8":
        assert "Successfully cancelled" in tool.run_with_bootstrap_server("--cancel", "--preserve-throttles")
    else:
        site.create_znode("/admin/cancel_reassignment_in_progress", b"")
    site.wait_for_replicas(topic, [[1, 2], [2, 1]])
    wait_for(lambda: site.znode(REASSIGN), None)
    statuses = tool.verify(topic)
    expected = "failed" if tool.release == "2.4" else "rather than"
    assert all(expected in status for status in statuses.values()), statuses
    for number in (0, 1):
        site.wait_for_hosts(topic, number, {1, 2})
