"""`cccli`, the command line of Cruise Control's API, at a gateway before real Kafka."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.cluster import wait_for
from tests.reassignd.shell import Shell, create_topic
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

pytest.importorskip("cruisecontrolclient", reason="cccli is in requirements/all.txt")

TOPICS = "cccli-.*"
ONLY_OURS = ("--excluded-topics", f"(?!{TOPICS}$).*")
PLANS = {"summary", "goalSummary", "loadBeforeOptimization", "loadAfterOptimization", "version"}
REFUSAL = {"errorMessage", "stackTrace", "version"}

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    server = Reassignd(tmp_path_factory.mktemp("cccli"), {"cruisecontrol.api": "on"}, 4, kafka.bootstrap)
    server.start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def shell(server: Reassignd, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(server, tmp_path, capsys)


@pytest.fixture
def topic(server: Reassignd, kafka: KafkaCluster) -> str:
    """A topic with two replicas in each of six partitions, none of them on brokers 3 and 4."""
    name = f"cccli-{next(_numbers)}"
    create_topic(server.bootstrap, [[1, 2]] * 6, name)
    wait_for(lambda: kafka.all_know(name), True)
    return name


def command(server: Reassignd, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "cruisecontrolclient.client.cccli", "-a", server.http, *arguments]


def cccli(server: Reassignd, *arguments: str) -> dict[str, Any]:
    """Run cccli and return the JSON that it shows."""
    done = subprocess.run(command(server, *arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr.lower(), done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (["state"], {"ExecutorState", "version"}),
        (["user_tasks"], {"userTasks", "version"}),
        (["rebalance", "-n", *ONLY_OURS], PLANS),
        (["add_broker", "-n", "3", *ONLY_OURS], PLANS),
        (["remove_broker", "-n", "2", *ONLY_OURS], PLANS),
        (["demote_broker", "-n", "1"], PLANS),
        (["fix_offline_replicas", "-n", *ONLY_OURS], PLANS),
        (["topic_configuration", "-n", "--topic", TOPICS, "--replication-factor", "3"], PLANS),
        (["stop"], {"message", "version"}),
        (["kafka_cluster_state"], {"KafkaBrokerState", "KafkaPartitionState", "version"}),
        (["load"], {"hosts", "brokers", "version"}),
        (["partition_load", "--resource", "disk", "--topic", TOPICS], {"records", "version"}),
        (["proposals", *ONLY_OURS], PLANS),
        (["admin", "--leader-concurrency", "1000"], {"ongoingConcurrencyChangeRequest", "version"}),
        (["review_board"], {"RequestInfo", "version"}),
        (["review", "--approve", "1"], REFUSAL),
        (["pause_sampling", "--reason", "upgrade"], {"message", "version"}),
        (["resume_sampling"], {"message", "version"}),
        (["bootstrap", "--start-timestamp", "0"], {"message", "version"}),
        (["train", "--start-timestamp", "0", "--end-timestamp", "1"], {"message", "version"}),
        (["rightsize"], REFUSAL),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_each_subcommand_is_answered(
    server: Reassignd, topic: str, shell: Shell, arguments: list[str], keys: set[str]
) -> None:
    jobs = shell.json("jobs")["jobs"]
    wait_for(lambda: cccli(server, "state", "--substate", "monitor")["MonitorState"]["state"], "RUNNING")
    shown = cccli(server, *arguments)
    assert shown.keys() == keys, shown
    assert shell.json("jobs")["jobs"] == jobs


def test_a_rebalance_is_executed_unless_it_is_a_dry_run(server: Reassignd, topic: str, shell: Shell) -> None:
    """`cccli` executes by default."""
    cccli(server, "rebalance", *ONLY_OURS)
    shell.until(lambda: shell.json("jobs")["jobs"][0]["outcome"] == "done")
    [row, *_] = cccli(server, "user_tasks", "--types", "Completed")["userTasks"]
    assert row["RequestURL"].startswith("POST /kafkacruisecontrol/rebalance?")


def test_polls_of_thirty_seconds_start_one_job(server: Reassignd, topic: str, shell: Shell) -> None:
    """The process that plans is stopped until the answers to three polls were 202."""
    before, jobs = planners(server), len(shell.json("jobs")["jobs"])
    run = command(server, "add_broker", "3", *ONLY_OURS)
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stderr is not None
        wait_for(lambda: len(planners(server) - before), 1)
        [planner] = planners(server) - before
        os.kill(planner, signal.SIGSTOP)
        polls = (line for line in client.stderr if '"progress"' in line)
        assert all('"operation":"add_broker"' in line for line in itertools.islice(polls, 3))
        os.kill(planner, signal.SIGCONT)
        assert json.loads(client.stdout.read()).keys() == PLANS
    assert len(shell.json("jobs")["jobs"]) == jobs + 1


def planners(server: Reassignd) -> set[int]:
    """Return the child processes of the server."""
    return {
        int(child)
        for thread in Path(f"/proc/{server.pid}/task").iterdir()
        for child in (thread / "children").read_text().split()
    }
