"""Kafka's tools through the gateway.

All of `tests/clients` runs through the gateway with `REASSIGND_CLIENT_TESTS_AGAINST=gateway`. These tests
cover features of the gateway, by the newest and the oldest tools.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.cluster import FAST, REPLICAS, SLOW, Cluster, wait_for
from tests.clients.java_programs import Tools
from tests.clients.test_configs_tool import rows
from tests.clients.tool import Tool
from tools.processes import Reassignd

LIMIT = "reassignment.max.concurrent.partition.movements"
DEFAULT = ("--entity-type", "brokers", "--entity-default")
ONE = ("--entity-type", "brokers", "--entity-name", "3")


@pytest.fixture(scope="module", params=["4.3", "2.8"])
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    with Tools(request.param) as resident:
        yield resident


@pytest.fixture
def tool(tools: Tools, gateway: Reassignd, tmp_path: Path) -> Tool:
    return Tool(tools, gateway.bootstrap, tmp_path)


def test_a_throttled_plan_is_executed_with_a_new_throttle_and_verified(
    cluster: Cluster, direct: Cluster, tool: Tool
) -> None:
    a, b, c, d = direct.brokers
    topic = cluster.create_topic([[a, b]])
    moves = {topic: [[c, d]]}
    assert tool.reassign("--execute", moves, "--throttle", SLOW).exit_code == 0
    wait_for(lambda: direct.config("TOPIC", topic, REPLICAS[0]), f"0:{a},0:{b}")
    assert f"{topic}-0: replicas: {c},{d},{a},{b}." in tool("reassign", "--list").stdout
    tool.reassign("--execute", moves, "--additional", "--throttle", FAST)
    cluster.wait_until_idle()
    assert f"Reassignment of partition {topic}-0 is complete" in tool.reassign("--verify", moves).stdout
    wait_for(lambda: direct.throttles(topic), [])
    direct.wait_for_replicas(topic, [[c, d]])


def test_a_plan_is_cancelled(cluster: Cluster, direct: Cluster, tool: Tool) -> None:
    a, b, c, d = direct.brokers
    topic = cluster.create_topic([[d, a]])
    moves = {topic: [[b, c]]}
    tool.reassign("--execute", moves, "--throttle", SLOW)
    assert "Successfully cancelled" in tool.reassign("--cancel", moves).stdout
    direct.wait_for_replicas(topic, [[d, a]])
    wait_for(lambda: direct.throttles(topic), [])


def test_a_topic_is_created_described_grown_and_deleted(direct: Cluster, tool: Tool) -> None:
    name = f"made-by-{tool.version.replace('.', '-')}"
    assert tool("topics", "--create", "--topic", name, "--replica-assignment", "4:1,1:2").exit_code == 0
    direct.wait_for_replicas(name, [[4, 1], [1, 2]])
    assert "Replicas: 4,1" in tool("topics", "--describe", "--topic", name).stdout
    assert tool("topics", "--alter", "--topic", name, "--partitions", 3).exit_code == 0
    wait_for(lambda: len(direct.replicas(name)), 3)
    assert tool("topics", "--delete", "--topic", name).exit_code == 0
    wait_for(lambda: name in tool("topics", "--list").lines, False)


def test_limits_are_set_shown_and_deleted(cluster: Cluster, tool: Tool) -> None:
    change = ("configs", *DEFAULT, "--alter")
    assert tool(*change, "--add-config", f"{LIMIT}=7").exit_code == 0
    assert rows(tool("configs", *DEFAULT, "--describe"))[LIMIT] == "7"
    refused = tool(*change, "--add-config", f"{LIMIT}=many")
    assert refused.exit_code == 1
    assert f"Invalid value many for configuration {LIMIT}" in refused.stdout + refused.stderr
    assert tool(*change, "--delete-config", LIMIT).exit_code == 0
    assert LIMIT not in rows(tool("configs", *DEFAULT, "--describe"))


def test_configs_of_reassignd_and_kafka_are_set_in_one_request(
    cluster: Cluster, direct: Cluster, tool: Tool
) -> None:
    both = {LIMIT: "8", "log.cleaner.threads": "2"}
    added = ",".join(map("=".join, both.items()))
    assert tool("configs", *DEFAULT, "--alter", "--add-config", added).exit_code == 0
    wait_for(lambda: direct.config("BROKER", "", "log.cleaner.threads"), "2")
    assert rows(tool("configs", *DEFAULT, "--describe")).items() >= both.items()
    assert tool("configs", *DEFAULT, "--alter", "--delete-config", ",".join(both)).exit_code == 0
    wait_for(lambda: direct.config("BROKER", "", "log.cleaner.threads"), None)


def test_limits_are_refused_for_one_broker(direct: Cluster, tool: Tool) -> None:
    ran = tool("configs", *ONE, "--alter", "--add-config", f"{LIMIT}=7")
    assert ran.exit_code == 1
    assert f"{LIMIT} is cluster-wide and cannot be set on broker 3" in ran.stdout + ran.stderr
    assert direct.config("BROKER", "3", LIMIT) is None


def test_the_cluster_default_shows_all_configs_of_reassignd(tool: Tool) -> None:
    shown = tool("configs", *DEFAULT, "--describe", "--all").stdout
    assert "reassignment.cancel.mode=rollback" in shown
    assert "log.retention" not in shown
    assert "reassignment." not in tool("configs", *ONE, "--describe", "--all").stdout


def test_configs_of_topics_and_brokers_are_set_in_the_upstream(
    cluster: Cluster, direct: Cluster, tool: Tool
) -> None:
    topic = cluster.create_topic([[1, 2]], filled=False)
    # The tool describes the topic at any broker first, and one may not have heard of it yet.
    wait_for(lambda: tool("configs", "--describe", "--topic", topic).exit_code, 0)

    def is_set(kind: str, name: str, key: str) -> None:
        entity = ("--entity-type", f"{kind}s", "--entity-name", name)
        assert tool("configs", *entity, "--alter", "--add-config", f"{key}=3").exit_code == 0
        wait_for(lambda: direct.config(kind.upper(), name, key), "3")
        assert tool("configs", *entity, "--alter", "--delete-config", key).exit_code == 0

    is_set("topic", topic, "retention.ms")
    is_set("broker", "3", "log.cleaner.threads")


def test_the_preferred_leader_is_elected(cluster: Cluster, direct: Cluster, tool: Tool) -> None:
    topic = cluster.create_topic([[1, 2]], filled=False)
    direct.move({f"{topic}-0": [2, 1]})
    direct.wait_for_replicas(topic, [[2, 1]])
    ran = tool("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", 0)
    assert ran.lines == [f"Successfully completed leader election (PREFERRED) for partitions {topic}-0"]
    wait_for(lambda: direct.partitions(topic)[f"{topic}-0"]["leader"], 2)


def test_the_console_consumer_reads_records_of_the_console_producer(cluster: Cluster, tool: Tool) -> None:
    topic = cluster.create_topic([[1, 2]], filled=False)
    lines = [f"line {number}" for number in range(20)]
    sent = tool("console-producer", "--topic", topic, stdin="\n".join([*lines, ""]))
    assert sent.exit_code == 0, sent
    limits = ("--max-messages", len(lines), "--timeout-ms", 20_000)
    read = tool("console-consumer", "--topic", topic, "--from-beginning", *limits)
    assert read.lines == lines


@pytest.mark.parametrize("tools", ["4.3"], indirect=True)
def test_groups_and_transactions_are_listed_once(tool: Tool) -> None:
    for listed in (tool("consumer-groups", "--list").lines, tool("transactions", "list").lines):
        assert len(listed) == len(set(listed))


def test_every_broker_has_log_dirs(tool: Tool) -> None:
    shown = tool("log-dirs", "--describe").stdout
    assert re.findall(r'"broker":(\d+),', shown) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("tools", ["4.3"], indirect=True)
def test_every_broker_reports_its_api_versions(tool: Tool) -> None:
    shown = tool("broker-api-versions").stdout
    assert shown.count("AlterPartitionReassignments(45): 0 to 1") == 4
    assert shown.count("Fetch(1): 4 to 15") == 4
    assert "UNSUPPORTED" in shown or "ShareFetch" not in shown
