"""kafka-topics, in particular its output during reassignments."""

from tests.clients.cluster import Cluster, wait_for
from tests.clients.tool import Tool


def test_a_topic_is_created_listed_grown_and_deleted(cluster: Cluster, tool: Tool) -> None:
    name = f"made-by-{tool.version.replace('.', '-')}"
    created = tool("topics", "--create", "--topic", name, "--partitions", 2, "--replication-factor", 3)
    assert created.lines == [f"Created topic {name}."]
    wait_for(lambda: name in tool("topics", "--list").lines, True)
    assert tool("topics", "--alter", "--topic", name, "--partitions", 4).exit_code == 0
    wait_for(lambda: [len(replicas) for replicas in cluster.replicas(name)], [3, 3, 3, 3])
    assert tool("topics", "--delete", "--topic", name).exit_code == 0
    wait_for(lambda: name in tool("topics", "--list").lines, False)


def test_a_topic_is_created_with_the_requested_replicas(cluster: Cluster, tool: Tool) -> None:
    a, b, c, _ = cluster.brokers[:4]
    name = f"assigned-by-{tool.version.replace('.', '-')}"
    assignment = f"{a}:{b},{c}:{a}"
    config = "min.insync.replicas=2"
    ran = tool("topics", "--create", "--topic", name, "--replica-assignment", assignment, "--config", config)
    assert ran.exit_code == 0
    cluster.wait_for_replicas(name, [[a, b], [c, a]])
    assert cluster.config("TOPIC", name, "min.insync.replicas") == "2"


def test_an_existing_topic_is_not_created_again(cluster: Cluster, tool: Tool) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    ran = tool("topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1)
    assert ran.exit_code == 1
    assert f"Topic '{topic}' already exists." in ran.stdout
    assert tool("topics", "--create", "--topic", topic, "--if-not-exists").exit_code == 0


def test_describe_shows_adding_and_removing_replicas(cluster: Cluster, tool: Tool) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b], [b, c]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [c, d]})
    cluster.wait_until_moving(topic, [[c, d, a, b], [b, c]])
    title, moving, idle = (row.split("\t") for row in tool("topics", "--describe", "--topic", topic).lines)
    assert title[0] == f"Topic: {topic}"
    assert "PartitionCount: 2" in title
    assert moving[1:5] == [f"Topic: {topic}", "Partition: 0", f"Leader: {a}", f"Replicas: {c},{d},{a},{b}"]
    assert f"Adding Replicas: {c},{d}" in moving
    assert f"Removing Replicas: {a},{b}" in moving
    assert idle[2:5] == ["Partition: 1", f"Leader: {b}", f"Replicas: {b},{c}"]
    assert not any(column.startswith("Adding") for column in idle)


def test_adding_replicas_do_not_make_a_partition_under_replicated(cluster: Cluster, tool: Tool) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [c, d]})
    for listed in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert tool("topics", "--describe", "--topic", topic, listed).lines == []


def test_an_unknown_topic_cannot_be_described(cluster: Cluster, tool: Tool) -> None:
    ran = tool("topics", "--describe", "--topic", "nowhere")
    assert ran.exit_code == 1
    assert "does not exist as expected" in ran.stdout
