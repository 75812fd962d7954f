"""The scenarios on other broker releases and inter-broker protocols."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.zookeeper.load import Load
from tests.zookeeper.scenarios import (
    cancel_by_znode,
    drop_replica_of_stopped_broker,
    kill_before_stop_replica_response,
    reassign_by_znode,
    restart_brokers_in_sequence,
)
from tests.zookeeper.site import Site, wait_for
from tools.java import java_command
from tools.zookeeper_cluster import running_cluster

OLDEST = ("2.4", "2.4-IV0")
RELEASES = [("3.9", "3.9"), ("2.8", "2.4"), ("2.8", "2.8"), OLDEST]


def named(pair: tuple[str, str]) -> str:
    return f"{pair[0]} at {pair[1]}"


@pytest.fixture(scope="module", params=RELEASES, ids=named)
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Four brokers of another release."""
    release, protocol = request.param
    folder = tmp_path_factory.mktemp(f"cluster-{release}")
    with running_cluster(4, folder, release=release, protocol=protocol) as cluster, Site(cluster) as site:
        yield site


def test_data_moves_under_load(other: Site) -> None:
    topic = other.create_topic([[1, 2], [2, 1]])
    with Load(other.cluster.bootstrap, topic, 2) as load:
        other.reassign(topic, {0: [3, 4], 1: [4, 1]})
        other.wait_until_idle()
    load.check()
    other.wait_for_replicas(topic, [[3, 4], [4, 1]])
    other.wait_for_hosts(topic, 0, {3, 4})
    other.wait_for_hosts(topic, 1, {1, 4})


@pytest.mark.parametrize("other", [OLDEST], ids=named, indirect=True)
def test_a_plan_by_znode_moves_data_under_load(other: Site) -> None:
    reassign_by_znode(other)


@pytest.mark.parametrize("other", [OLDEST], ids=named, indirect=True)
def test_a_cancel_by_znode_leaves_no_partial_copy(other: Site) -> None:
    cancel_by_znode(other)


def test_an_offline_broker_deletes_its_removed_replica_after_its_restart(other: Site) -> None:
    drop_replica_of_stopped_broker(other)


def test_a_removed_replica_is_deleted_if_reassignd_is_killed_before_the_response(other: Site) -> None:
    kill_before_stop_replica_response(other)


def test_controlled_shutdowns_use_the_stored_isr(other: Site) -> None:
    restart_brokers_in_sequence(other)


def test_reassignd_is_registered_only_for_brokers_before_3_0(other: Site) -> None:
    registers = other.cluster.release < "3.0"
    wait_for(
        other.registered_brokers, {*other.cluster.brokers, 1000} if registers else set(other.cluster.brokers)
    )


def test_a_topic_created_by_the_tool_of_2_8_is_spread_over_racks(other: Site) -> None:
    """With `--zookeeper` the tool takes every registered id for a broker."""
    result = run_topics_tool_2_8(
        other, "--create", "--topic", "spread", "--partitions", "24", "--replication-factor", "2"
    )
    assert result.returncode == 0, result
    wait_for(lambda: "spread" in other.admin.list_topics(), True)
    for row in other.partitions("spread"):
        assert set(row["replica_nodes"]) < set(other.cluster.brokers)
        assert len({broker % 3 for broker in row["replica_nodes"]}) == 2


def test_a_topic_with_more_replicas_than_brokers_is_refused(other: Site) -> None:
    """The tool refuses it, unless it counts reassignd's registration as a broker."""
    result = run_topics_tool_2_8(
        other, "--create", "--topic", "wide", "--partitions", "1", "--replication-factor", "5"
    )
    if other.cluster.release < "3.0":
        line = "/brokers/topics/wide is ignored: partition 0 has 5 replicas, but there are 4 brokers"
        wait_for(lambda: line in other.commander.log, True)
    else:
        assert "larger than available brokers" in result.stdout
    assert "wide" not in other.admin.list_topics()


def run_topics_tool_2_8(site: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `kafka-topics --zookeeper` of Kafka 2.8."""
    tool = ("kafka.admin.TopicCommand", "--zookeeper", site.cluster.zookeeper, *arguments)
    return subprocess.run(java_command("broker-2.8", *tool), capture_output=True, text=True, check=False)
