"""The scenario of docs/guide.md with 2,000 partitions, with kill -9 during each part."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.clients.java_programs import TOOL_VERSIONS, Tools
from tests.clients.tool import Tool
from tests.reassignd.shell import Shell, create_topic, replicas_of
from tools.processes import Reassignd

PARTITIONS = 2_000
HALF = PARTITIONS // 2
SETTINGS = {
    "embedded.partition.bytes": "50000",
    "embedded.network.bytes.per.second": "5000000",
    "embedded.tick.ms": "20",
}
LIMIT = "reassignment.max.concurrent.partition.movements"

pytestmark = pytest.mark.timeout(300)


def replica_lists(shift: int = 0) -> list[list[int]]:
    return [replicas_of(number, shift) for number in range(PARTITIONS)]


class LargePlan:
    """A server with a topic of 2,000 partitions, and both kinds of tools."""

    def __init__(self, server: Reassignd, tool: Tool, shell: Shell) -> None:
        self.server, self.tool, self.shell = server, tool, shell

    def limit(self, partitions: int | None) -> None:
        """Set or delete the limit with kafka-configs (KIP-435)."""
        change = (
            ("--delete-config", LIMIT) if partitions is None else ("--add-config", f"{LIMIT}={partitions}")
        )
        ran = self.tool("configs", "--entity-type", "brokers", "--entity-default", "--alter", *change)
        assert ran.lines == ["Completed updating default config for brokers in the cluster."]

    def execute(self, limit: int) -> None:
        """Set the limit and execute the plan with kafka-reassign-partitions."""
        self.limit(limit)
        ran = self.tool.reassign("--execute", {"foo": replica_lists(3)})
        assert ran.exit_code == 0
        assert ran.lines[-1].startswith("Successfully started partition reassignments for foo-0,")

    def kill(self) -> None:
        """Kill the server with SIGKILL and start it again."""
        assert self.server.kill() == -signal.SIGKILL
        self.server.start()
        assert self.shell.moves()["ongoing"] > 0

    def finish(self) -> list[list[int]]:
        """Delete the limit, wait for the end of all reassignments, and return the replicas."""
        self.limit(None)
        self.shell.until(lambda: self.shell.moves()["ongoing"] == 0)
        return self.shell.replicas()


@pytest.fixture(scope="module")
def newest_tools() -> Iterator[Tools]:
    with Tools(TOOL_VERSIONS[-1]) as resident:
        yield resident


@pytest.fixture
def large_plan(
    newest_tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[LargePlan]:
    server = Reassignd(tmp_path / "data", SETTINGS)
    server.start()
    create_topic(server.bootstrap, replica_lists())
    yield LargePlan(server, Tool(newest_tools, server.bootstrap, tmp_path), Shell(server, tmp_path, capsys))
    server.kill()


def test_limits_can_be_changed_during_a_plan_and_survive_kill_9(large_plan: LargePlan) -> None:
    large_plan.execute(limit=100)
    large_plan.shell.until(lambda: large_plan.shell.moves()["moving"] > 20)
    large_plan.limit(20)
    large_plan.shell.until(lambda: 0 < large_plan.shell.moves()["moving"] <= 20)
    large_plan.kill()
    large_plan.shell.until(lambda: 0 < large_plan.shell.moves()["moving"] <= 20)
    large_plan.limit(100)
    large_plan.shell.until(lambda: large_plan.shell.moves()["moving"] > 20)
    assert large_plan.finish() == replica_lists(3)


def test_half_of_a_plan_is_cancelled_with_the_kafka_tool(large_plan: LargePlan) -> None:
    large_plan.execute(limit=4)
    half = large_plan.shell.plan(range(HALF, PARTITIONS))
    ran = large_plan.tool("reassign", "--cancel", "--reassignment-json-file", half)
    assert ran.exit_code == 0
    large_plan.kill()
    replicas = large_plan.finish()
    assert replicas == replica_lists(3)[:HALF] + replica_lists()[HALF:]


def test_a_rollback_restores_the_exact_original_lists(large_plan: LargePlan) -> None:
    large_plan.execute(limit=50)
    large_plan.shell.until(lambda: large_plan.shell.json("jobs")["jobs"][0]["done"] >= 200)
    large_plan.shell.ok("rollback", "1")
    large_plan.kill()
    assert large_plan.finish() == replica_lists()
    assert large_plan.shell.json("jobs")["jobs"][0]["undoes"] == 1


def test_a_second_plan_is_queued(large_plan: LargePlan) -> None:
    large_plan.execute(limit=50)
    second = large_plan.shell.plan(range(HALF, PARTITIONS), shift=1)
    large_plan.shell.ok("queue", "execute", "--reassignment-json-file", second)
    assert large_plan.shell.run("queue", "verify").code == 1
    large_plan.kill()
    assert large_plan.finish() == replica_lists(3)[:HALF] + replica_lists(1)[HALF:]
    assert large_plan.shell.run("queue", "verify").code == 0


@pytest.mark.parametrize(
    ("interrupt", "end", "code"),
    [("default_int_handler", signal.SIGINT, 0), ("SIG_IGN", signal.SIGTERM, -signal.SIGTERM)],
)
def test_status_watch_shows_the_progress(
    large_plan: LargePlan, interrupt: str, end: signal.Signals, code: int
) -> None:
    large_plan.execute(limit=50)
    # What SIGINT does in the child does not depend on what the tests have inherited.
    program = (
        f"import runpy, signal; signal.signal(signal.SIGINT, signal.{interrupt});"
        " runpy.run_module('reassignd', run_name='__main__')"
    )
    command = [sys.executable, "-c", program, "status", "--watch", "--interval", "0.1"]
    with subprocess.Popen(
        [*command, "--url", large_plan.shell.url],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        reports = list(islice(progress(process), 5))
        process.send_signal(end)
        process.communicate()
    assert process.returncode == code
    assert reports == sorted(set(reports))


def progress(process: subprocess.Popen[str]) -> Iterator[tuple[int, float]]:
    """Yield the partitions done and the MiB copied, whenever both have increased."""
    assert process.stdout is not None
    done, copied = -1, -1.0
    for line in process.stdout:
        match = re.search(r"([\d,]+)/2,000 +([\d.]+) MiB of [\d.]+ MiB ", line)
        if match and int(match[1].replace(",", "")) > done and float(match[2]) > copied:
            done, copied = int(match[1].replace(",", "")), float(match[2])
            yield done, copied
