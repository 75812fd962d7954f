"""Kafka's tools: 3.9 with --bootstrap-server, 2.8 with --zookeeper."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.clients.java_programs import Tools
from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for
from tools.java import java_command


def plan(folder: Path, topic: str, moves: Mapping[int, Sequence[int]]) -> str:
    """Write a plan file and return its path."""
    rows = [{"topic": topic, "partition": number, "replicas": list(to)} for number, to in moves.items()]
    file = folder / "plan.json"
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    return str(file)


@pytest.mark.tour
def test_the_tool_executes_verifies_and_clears_its_throttle(site: Site, tools: Tools, tmp_path: Path) -> None:
    topic = site.create_topic([[1, 2], [2, 1]])
    site.fill(topic, 2)
    file = (
        "--bootstrap-server",
        site.cluster.bootstrap,
        "--reassignment-json-file",
        plan(tmp_path, topic, {0: [3, 4], 1: [4, 1]}),
    )
    with Load(site.cluster.bootstrap, topic, 2) as load:
        result = tools.run("reassign", *file, "--execute", "--throttle", "10000000")
        assert f"Successfully started partition reassignments for {topic}-0,{topic}-1" in result.stdout
        wait_for(lambda: "is still in progress" in tools.run("reassign", *file, "--verify").stdout, False)
        verified = tools.run("reassign", *file, "--verify").stdout
    load.check()
    assert f"Reassignment of partition {topic}-1 is completed." in verified
    assert "Clearing topic-level throttles" in verified
    site.wait_for_replicas(topic, [[3, 4], [4, 1]])
    assert site.znode(f"/config/topics/{topic}")["config"] == {}


def test_the_tool_of_2_8_submits_a_plan_with_zookeeper(site: Site, tmp_path: Path) -> None:
    topic = site.create_topic([[1, 2]])
    with Load(site.cluster.bootstrap, topic, 1) as load:
        file = ("--reassignment-json-file", plan(tmp_path, topic, {0: [3, 4]}))
        tool = ("kafka.admin.ReassignPartitionsCommand", "--zookeeper", site.cluster.zookeeper)
        result = subprocess.run(
            java_command("broker-2.8", *tool, *file, "--execute"), capture_output=True, text=True, check=False
        )
        assert "Successfully started partition reassignment" in result.stdout, result
        wait_for(lambda: site.znode("/admin/reassign_partitions"), None)
    load.check()
    site.wait_for_replicas(topic, [[3, 4]])
    site.wait_for_hosts(topic, 0, {3, 4})


def test_a_limit_and_a_broker_config_are_set_and_deleted_together(site: Site, tools: Tools) -> None:
    default = ("--entity-type", "brokers", "--entity-default", "--alter", "--add-config")
    limit = "reassignment.max.concurrent.partition.movements"
    result = tools.run(
        "configs", "--bootstrap-server", site.cluster.bootstrap, *default, f"{limit}=2,log.cleaner.threads=1"
    )
    assert result.exit_code == 0, result
    wait_for(lambda: site.znode("/config/brokers/<default>")["config"].get(limit), "2")
    tools.run(
        "configs",
        "--bootstrap-server",
        site.cluster.bootstrap,
        *default[:-1],
        "--delete-config",
        f"{limit},log.cleaner.threads",
    )
    wait_for(lambda: site.znode("/config/brokers/<default>")["config"], {})
