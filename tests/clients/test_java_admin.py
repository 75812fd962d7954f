"""Kafka's Java Admin client."""

from typing import Any

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import AdminError

NOT_REGISTERED = "The manual partition assignment includes broker {}, but no such broker is registered."
REFUSED = "InvalidReplicaAssignmentException"


def refusal(error: str, message: str) -> dict[str, str]:
    return {"error": error, "message": message}


def test_the_controller_is_one_of_the_brokers(cluster: Cluster) -> None:
    described = cluster.admin.do("cluster")
    assert described["controller"] in described["brokers"]
    assert described["id"]


@pytest.mark.tour
def test_a_reassignment_is_listed_while_it_runs_and_ends_in_sync(cluster: Cluster) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b], [b, a]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [c, b, d]})
    state = {"replicas": [c, b, d, a], "adding": [c, d], "removing": [a]}
    assert cluster.reassignments() == {f"{topic}-0": state}
    assert cluster.admin.do("list", partitions=[f"{topic}-1", "nowhere-0"]) == {}
    assert cluster.admin.do("list", partitions=[f"{topic}-0"]) == {f"{topic}-0": state}
    cluster.release()
    cluster.wait_until_idle()
    cluster.wait_for_replicas(topic, [[c, b, d], [b, a]])


@pytest.mark.tour
def test_cancel_restores_the_replicas(cluster: Cluster) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[d, a]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [b, c]})
    assert cluster.admin.do("alter", moves={f"{topic}-0": None}) == {f"{topic}-0": None}
    cluster.expect_reassignments(set())
    # Kafka does not restore the order of the replicas.
    cluster.wait_for_replicas(topic, [{"reassignd": [d, a], "kafka": [a, d]}[cluster.kind]])
    assert cluster.partitions(topic)[f"{topic}-0"]["leader"] == d


def test_an_override_keeps_the_first_original(cluster: Cluster) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [a, d]})
    cluster.move({f"{topic}-0": [d, c]})
    # Kafka counts the replica that the first order adds as an original, and keeps it after a cancel of the
    # second.
    adding = {"reassignd": [d, c], "kafka": [c]}[cluster.kind]
    assert cluster.reassignments() == {
        f"{topic}-0": {"replicas": [d, c, a, b], "adding": adding, "removing": [a, b]}
    }
    cluster.admin.do("alter", moves={f"{topic}-0": None})
    cluster.release()
    cluster.wait_for_replicas(topic, [{"reassignd": [a, b], "kafka": [d, a, b]}[cluster.kind]])


def test_the_same_target_again_changes_nothing(cluster: Cluster) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [c, d]})
    before = cluster.reassignments()
    cluster.move({f"{topic}-0": [c, d]})
    assert cluster.reassignments() == before


def test_the_original_as_target_cancels_a_reassignment(cluster: Cluster) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[b, a]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [c, d]})
    cluster.move({f"{topic}-0": [b, a]})
    cluster.wait_until_idle()
    cluster.wait_for_replicas(topic, [[b, a]])


@pytest.mark.tour
def test_each_invalid_row_is_refused_alone(cluster: Cluster) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]] * 4, filled=False)
    moves: dict[str, Any] = {
        f"{topic}-0": [77, a],
        f"{topic}-1": [a, a],
        f"{topic}-2": None,
        f"{topic}-3": [a, c],
        f"{topic}-9": [a, c],
        "nowhere-0": [a, c],
    }
    assert cluster.admin.do("alter", moves=moves) == {
        f"{topic}-0": refusal(REFUSED, NOT_REGISTERED.format(77)),
        f"{topic}-1": refusal(
            REFUSED, f"The manual partition assignment includes the broker {a} more than once."
        ),
        f"{topic}-2": refusal(
            "NoReassignmentInProgressException", "No partition reassignment is in progress."
        ),
        f"{topic}-3": None,
        f"{topic}-9": refusal("UnknownTopicOrPartitionException", f"Unable to find partition {topic}:9."),
        "nowhere-0": refusal("UnknownTopicOrPartitionException", "Unable to find a topic named nowhere."),
    }
    cluster.wait_for_replicas(topic, [[a, b]] * 3 + [[a, c]])


def test_a_change_of_the_replication_factor_can_be_forbidden(cluster: Cluster) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]], filled=False)
    rows = cluster.admin.do("alter", moves={f"{topic}-0": [a, b, c]}, allow_replication_factor_change=False)
    reason = "The replication factor is changed from 2 to 3"
    assert rows == {f"{topic}-0": refusal("InvalidReplicationFactorException", reason)}
    rows = cluster.admin.do("alter", moves={f"{topic}-0": [a, c]}, allow_replication_factor_change=False)
    assert rows == {f"{topic}-0": None}


def test_a_preferred_election_has_a_result_for_each_partition(cluster: Cluster) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b], [a, b]], filled=False)
    cluster.move({f"{topic}-0": [b, a]})
    cluster.wait_for_replicas(topic, [[b, a], [a, b]])
    elected = cluster.admin.do(
        "elect", type="PREFERRED", partitions=[f"{topic}-0", f"{topic}-1", "nowhere-0"]
    )
    assert elected[f"{topic}-0"] is None
    assert elected[f"{topic}-1"]["error"] == "ElectionNotNeededException"
    assert elected["nowhere-0"]["error"] == "UnknownTopicOrPartitionException"
    wait_for(lambda: cluster.partitions(topic)[f"{topic}-0"]["leader"], b)


def test_partitions_are_added_to_a_topic(cluster: Cluster) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    cluster.admin.do("grow", topic=topic, partitions=3)
    wait_for(lambda: [len(replicas) for replicas in cluster.replicas(topic)], [2, 2, 2])
    with pytest.raises(AdminError, match="InvalidPartitionsException"):
        cluster.admin.do("grow", topic=topic, partitions=2)


def test_a_topic_is_deleted(cluster: Cluster) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    cluster.admin.do("delete", topics=[topic])
    wait_for(lambda: cluster.partitions(topic), {})


def test_list_configs_support_append_and_subtract(cluster: Cluster) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    key = "leader.replication.throttled.replicas"

    def change(operation: str, value: str, expected: str) -> None:
        cluster.admin.do("set_configs", type="TOPIC", name=topic, ops=[[operation, key, value]])
        wait_for(lambda: cluster.config("TOPIC", topic, key), expected)

    change("SET", f"0:{a}", f"0:{a}")
    change("APPEND", f"0:{b}", f"0:{a},0:{b}")
    change("SUBTRACT", f"0:{a}", f"0:{b}")


def test_each_replica_is_in_one_log_dir_of_its_broker(cluster: Cluster) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]])
    for broker in (a, b):
        dirs = cluster.admin.do("log_dirs", broker=broker)
        assert len(dirs) == 2
        sizes = [replicas[f"{topic}-0"] for replicas in dirs.values() if f"{topic}-0" in replicas]
        assert len(sizes) == 1
        assert sizes[0] >= 200_000
