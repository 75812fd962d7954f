"""Other releases, and other inter-broker protocols: a move under load, and a cancel half-way, by request and by znode, on each."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.zookeeper.load import Load
from tests.zookeeper.scenarios import (
    cancel_by_znode,
    cancel_throttled_move,
    drop_replica_of_stopped_broker,
    kill_before_stop_replica_response,
    reassign_by_znode,
    restart_brokers_in_sequence,
)
from tests.zookeeper.site import Site, wait_for
from tools.java import java_command
from tools.zookeeper_cluster import running_cluster

RELEASES = [("3.9", "3.9"), ("2.8", "2.4"), ("2.8", "2.8"), ("2.4", "2.4-IV0")]


@pytest.fixture(scope="module", params=RELEASES, ids=lambda pair: f"{pair[0]} at {pair[1]}")
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


def test_a_cancel_half_way_leaves_no_partial_copy(other: Site) -> None:
    cancel_throttled_move(other)


def test_a_plan_by_znode_moves_data_under_load(other: Site) -> None:
    reassign_by_znode(other)


def test_a_cancel_by_znode_leaves_no_partial_copy(other: Site) -> None:
    cancel_by_znode(other)


def test_a_replica_dropped_while_its_broker_is_down_goes_when_it_returns(other: Site) -> None:
    drop_replica_of_stopped_broker(other)


def test_a_dropped_replica_goes_though_reassignd_dies_before_the_answer(other: Site) -> None:
    kill_before_stop_replica_response(other)


def test_brokers_are_let_go_by_the_isr_that_is_stored(other: Site) -> None:
    restart_brokers_in_sequence(other)


def test_reassignd_is_registered_where_brokers_find_their_controller_by_that(other: Site) -> None:
    registers = other.cluster.release < "3.0"
    wait_for(
        other.registered_brokers, {*other.cluster.brokers, 1000} if registers else set(other.cluster.brokers)
    )


def test_a_topic_made_by_the_old_tool_is_spread_over_racks(other: Site) -> None:
    """By `--zookeeper`, which takes every registered id for a broker."""
    result = run_topics_tool_2_8(
        other, "--create", "--topic", "spread", "--partitions", "24", "--replication-factor", "2"
    )
    assert result.returncode == 0, result
    wait_for(lambda: "spread" in other.admin.list_topics(), True)
    for row in other.partitions("spread"):
        assert set(row["replica_nodes"]) < set(other.cluster.brokers)
        assert len({broker % 3 for broker in row["replica_nodes"]}) == 2


def test_a_topic_with_more_replicas_than_brokers_is_refused(other: Site) -> None:
    """By the tool itself, unless it takes our registration for a broker."""
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
    """`kafka-topics --zookeeper` of 2.8."""
    tool = ("kafka.admin.TopicCommand", "--zookeeper", site.cluster.zookeeper, *arguments)
    return subprocess.run(java_command("broker-2.8", *tool), capture_output=True, text=True, check=False)
