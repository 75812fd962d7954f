"""kafka-leader-election."""

from tests.clients.cluster import Cluster, wait_for
from tests.clients.tool import Tool


def leaders(cluster: Cluster, topic: str) -> list[int]:
    return [row["leader"] for row in cluster.partitions(topic).values()]


def topic_with_other_leaders(cluster: Cluster) -> str:
    """Create a topic whose leaders are not the preferred replicas."""
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b], [b, a]], filled=False)
    cluster.move({f"{topic}-0": [b, a], f"{topic}-1": [a, b]})
    cluster.wait_for_replicas(topic, [[b, a], [a, b]])
    assert leaders(cluster, topic) == [a, b]
    return topic


def test_the_preferred_replica_of_one_partition_is_elected(cluster: Cluster, tool: Tool) -> None:
    topic = topic_with_other_leaders(cluster)
    b = cluster.brokers[1]
    preferred = ("--election-type", "preferred", "--topic", topic, "--partition", 0)
    assert tool("leader-election", *preferred).lines == [
        f"Successfully completed leader election (PREFERRED) for partitions {topic}-0"
    ]
    wait_for(lambda: leaders(cluster, topic), [b, b])
    assert tool("leader-election", *preferred).lines == [
        f"Valid replica already elected for partitions {topic}-0"
    ]


def test_every_partition_named_in_a_file_is_elected(cluster: Cluster, tool: Tool) -> None:
    topic = topic_with_other_leaders(cluster)
    a, b, *_ = cluster.brokers
    file = tool.write({"partitions": [{"topic": topic, "partition": 0}, {"topic": topic, "partition": 1}]})
    ran = tool("leader-election", "--election-type", "preferred", "--path-to-json-file", file)
    assert ran.exit_code == 0
    wait_for(lambda: leaders(cluster, topic), [b, a])


def test_all_partitions_of_the_cluster_can_be_elected(cluster: Cluster, tool: Tool) -> None:
    topic = topic_with_other_leaders(cluster)
    a, b, *_ = cluster.brokers
    assert tool("leader-election", "--election-type", "preferred", "--all-topic-partitions").exit_code == 0
    wait_for(lambda: leaders(cluster, topic), [b, a])


def test_an_unclean_election_is_not_needed_while_a_leader_lives(cluster: Cluster, tool: Tool) -> None:
    topic = topic_with_other_leaders(cluster)
    ran = tool("leader-election", "--election-type", "unclean", "--topic", topic, "--partition", 0)
    assert ran.lines == [f"Valid replica already elected for partitions {topic}-0"]


def test_the_error_names_an_unknown_partition(cluster: Cluster, tool: Tool) -> None:
    topic = topic_with_other_leaders(cluster)
    ran = tool("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", 9)
    assert ran.exit_code == 1
    assert f"{topic}-9" in ran.stdout
