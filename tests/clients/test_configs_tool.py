"""kafka-configs for topics, for one broker, and for the default of all brokers."""

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import ToolResult
from tests.clients.tool import Tool

RATE = "follower.replication.throttled.rate"


def rows(ran: ToolResult) -> dict[str, str]:
    """Return value by name from the output of `--describe`."""
    return dict(line.split()[0].split("=", 1) for line in ran.lines[1:])


def test_topic_configs_are_set_shown_and_deleted(cluster: Cluster, tool: Tool) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    entity = ("--entity-type", "topics", "--entity-name", topic)
    added = tool("configs", *entity, "--alter", "--add-config", "min.insync.replicas=2,retention.ms=1000")
    assert added.lines == [f"Completed updating config for topic {topic}."]
    wait_for(
        lambda: rows(tool("configs", *entity, "--describe")),
        {"min.insync.replicas": "2", "retention.ms": "1000"},
    )
    assert tool("configs", *entity, "--alter", "--delete-config", "retention.ms").exit_code == 0
    wait_for(lambda: rows(tool("configs", *entity, "--describe")), {"min.insync.replicas": "2"})


def test_all_configs_of_a_topic_are_shown_with_their_defaults(cluster: Cluster, tool: Tool) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    ran = tool("configs", "--entity-type", "topics", "--entity-name", topic, "--describe", "--all")
    assert ran.lines[0] == f"All configs for topic {topic} are:"
    assert rows(ran)["unclean.leader.election.enable"] == "false"


@pytest.mark.parametrize("which", ["one broker", "every broker by default"])
def test_broker_configs_are_set_shown_and_deleted(cluster: Cluster, tool: Tool, which: str) -> None:
    name = {
        "one broker": ("--entity-name", cluster.brokers[1]),
        "every broker by default": ("--entity-default",),
    }[which]
    entity = ("--entity-type", "brokers", *name)
    before = rows(tool("configs", *entity, "--describe"))
    assert tool("configs", *entity, "--alter", "--add-config", f"{RATE}=12345").exit_code == 0
    wait_for(lambda: rows(tool("configs", *entity, "--describe")), before | {RATE: "12345"})
    assert tool("configs", *entity, "--alter", "--delete-config", RATE).exit_code == 0
    wait_for(lambda: rows(tool("configs", *entity, "--describe")), before)


def test_the_synonyms_of_a_broker_config_are_shown(cluster: Cluster, tool: Tool) -> None:
    broker = cluster.brokers[2]
    brokers = ("configs", "--entity-type", "brokers")
    tool(*brokers, "--entity-default", "--alter", "--add-config", f"{RATE}=777")
    tool(*brokers, "--entity-name", broker, "--alter", "--add-config", f"{RATE}=888")
    synonyms = f"{{DYNAMIC_BROKER_CONFIG:{RATE}=888, DYNAMIC_DEFAULT_BROKER_CONFIG:{RATE}=777"

    def shown() -> bool:
        return synonyms in tool(*brokers, "--entity-name", broker, "--describe").stdout

    wait_for(shown, True)
    for entity in (("--entity-default",), ("--entity-name", broker)):
        assert tool(*brokers, *entity, "--alter", "--delete-config", RATE).exit_code == 0


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("min.insync.replicas=many", "Invalid value many for configuration min.insync.replicas"),
        ("min.insync.replicas=0", "Invalid value 0 for configuration min.insync.replicas"),
        ("no.such.config=1", "Unknown topic config name: no.such.config"),
    ],
)
def test_a_bad_value_is_refused_with_its_reason(
    cluster: Cluster, tool: Tool, setting: str, complaint: str
) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    ran = tool(
        "configs", "--entity-type", "topics", "--entity-name", topic, "--alter", "--add-config", setting
    )
    assert ran.exit_code == 1
    assert complaint in ran.stdout + ran.stderr
