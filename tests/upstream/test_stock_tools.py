"""Kafka's own tools and kafka-python before a real Kafka, all by way of the gateway.

All of `tests/clients` runs so too, with `REASSIGND_CLIENT_TESTS_AGAINST=gateway`; what is here is what only a gateway has, and an
older version of the tools.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import TopicPartition

from tests.clients.cluster import FAST, REPLICAS, SLOW, Cluster, wait_for
from tests.clients.java_programs import Ran, Tools
from tests.clients.servers import OWN_ID
from tests.clients.test_configs_tool import rows
from tests.clients.tool import Tool
from tests.upstream.traffic import Traffic
from tools.kafka_cluster import admin_client
from tools.processes import Reassignd

LIMIT = "reassignment.max.concurrent.partition.movements"
DEFAULT = ("--entity-type", "brokers", "--entity-default")
OURSELVES = ("--entity-type", "brokers", "--entity-name", OWN_ID)


@pytest.fixture(scope="module", params=["4.3", "3.9", "2.8"])
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    with Tools(request.param) as resident:
        yield resident


@pytest.fixture
def tool(tools: Tools, gateway: Reassignd, tmp_path: Path) -> Tool:
    return Tool(tools, gateway.bootstrap, tmp_path)


def test_a_throttled_plan_is_executed_hurried_and_verified(
    cluster: Cluster, direct: Cluster, tool: Tool
) -> None:
    a, b, c, d = direct.brokers
    topic = cluster.topic([[a, b]])
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
    topic = cluster.topic([[d, a]])
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


def altered(tool: Tool, entity: tuple[object, ...], *change: str) -> Ran:
    return tool("configs", *entity, "--alter", *change)


@pytest.mark.parametrize("entity", [DEFAULT, OURSELVES], ids=["all brokers", "our own id"])
def test_our_limits_are_set_where_brokers_are_configured(
    cluster: Cluster, tool: Tool, entity: tuple[object, ...]
) -> None:
    assert altered(tool, entity, "--add-config", f"{LIMIT}=7").exit_code == 0
    assert rows(tool("configs", *entity, "--describe"))[LIMIT] == "7"
    refused = altered(tool, entity, "--add-config", f"{LIMIT}=none")
    assert refused.exit_code == 1
    assert f"Invalid value none for configuration {LIMIT}" in refused.stdout + refused.stderr
    assert altered(tool, entity, "--delete-config", LIMIT).exit_code == 0
    assert LIMIT not in rows(tool("configs", *entity, "--describe"))


def test_one_request_sets_configs_of_both(cluster: Cluster, direct: Cluster, tool: Tool) -> None:
    assert altered(tool, DEFAULT, "--add-config", f"{LIMIT}=7,log.cleaner.threads=2").exit_code == 0
    wait_for(lambda: direct.config("BROKER", "", "log.cleaner.threads"), "2")
    both = {LIMIT: "7", "log.cleaner.threads": "2"}
    wait_for(lambda: rows(tool("configs", *DEFAULT, "--describe")), both)
    assert direct.config("BROKER", "", LIMIT) is None
    assert altered(tool, DEFAULT, "--delete-config", f"{LIMIT},log.cleaner.threads").exit_code == 0
    wait_for(lambda: direct.config("BROKER", "", "log.cleaner.threads"), None)


def test_nothing_else_can_be_set_on_our_own_id(cluster: Cluster, tool: Tool) -> None:
    ran = altered(tool, OURSELVES, "--add-config", "log.cleaner.threads=2")
    assert ran.exit_code == 1
    assert f"log.cleaner.threads is not a config of broker {OWN_ID}" in ran.stdout + ran.stderr


def test_configs_of_topics_and_brokers_are_the_upstreams(
    cluster: Cluster, direct: Cluster, tool: Tool
) -> None:
    topic = cluster.topic([[1, 2]], filled=False)
    for kind, name, key in (("topics", topic, "retention.ms"), ("brokers", "3", "log.cleaner.threads")):
        entity = ("--entity-type", kind, "--entity-name", name)
        assert altered(tool, entity, "--add-config", f"{key}=2").exit_code == 0
        wait_for(lambda k=kind, n=name, y=key: direct.config(k[:-1].upper(), n, y), "2")
        assert altered(tool, entity, "--delete-config", key).exit_code == 0


def test_the_preferred_leader_is_elected(cluster: Cluster, direct: Cluster, tool: Tool) -> None:
    topic = cluster.topic([[1, 2]], filled=False)
    direct.move({f"{topic}-0": [2, 1]})
    direct.wait_for_replicas(topic, [[2, 1]])
    ran = tool("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", 0)
    assert ran.lines == [f"Successfully completed leader election (PREFERRED) for partitions {topic}-0"]
    wait_for(lambda: direct.partitions(topic)[f"{topic}-0"]["leader"], 2)


def test_what_the_console_producer_sends_the_console_consumer_reads(cluster: Cluster, tool: Tool) -> None:
    topic = cluster.topic([[1, 2]], filled=False)
    lines = [f"line {number}" for number in range(20)]
    sent = tool("console-producer", "--topic", topic, "--sync", stdin="\n".join([*lines, ""]))
    assert sent.exit_code == 0, sent
    limits = ("--max-messages", len(lines), "--timeout-ms", 20_000)
    read = tool("console-consumer", "--topic", topic, "--from-beginning", *limits)
    assert read.lines == lines


async def test_kafka_python_produces_moves_and_consumes(
    cluster: Cluster, direct: Cluster, gateway: Reassignd
) -> None:
    topic = cluster.topic([[1, 2], [2, 3]], filled=False)
    with Traffic(gateway.bootstrap, topic, partitions=2) as traffic:
        await asyncio.to_thread(traffic.wait_for, 50)
        with admin_client(gateway.bootstrap) as admin:
            admin.alter_partition_reassignments({TopicPartition(topic, 0): [3, 4], TopicPartition(topic, 1): [4, 1]})
        cluster.wait_until_idle()
        await asyncio.to_thread(traffic.wait_for, 50)
    await asyncio.to_thread(traffic.check)
    direct.wait_for_replicas(topic, [[3, 4], [4, 1]])
