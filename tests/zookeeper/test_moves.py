"""Reassignments of real data under load: no record is lost, and no old replica remains on disk."""

from collections.abc import Iterator

import pytest

from tests.clients.java_programs import Tools
from tests.zookeeper.load import Load
from tests.zookeeper.scenarios import cancel_throttled_move
from tests.zookeeper.site import Site, wait_for

STEP = "reassignment.max.concurrent.replica.movements.per.partition"


@pytest.fixture(autouse=True)
def idle_cluster(site: Site) -> Iterator[None]:
    yield
    site.release()
    site.wait_until_idle()


def limit(site: Site, tools: Tools, *change: str) -> None:
    """Change the cluster-wide default with kafka-configs."""
    default = ("--entity-type", "brokers", "--entity-default", "--alter")
    result = tools.run("configs", "--bootstrap-server", site.cluster.bootstrap, *default, *change)
    assert result.exit_code == 0, result


@pytest.mark.tour
def test_alter_partition_reassignments_moves_the_data_and_deletes_the_old_replicas(site: Site) -> None:
    topic = site.create_topic([[1, 2], [2, 1]])
    with Load(site.cluster.bootstrap, topic, 2) as load:
        site.reassign(topic, {0: [3, 4], 1: [4, 3]})
        site.wait_until_idle()
    load.check()
    site.wait_for_replicas(topic, [[3, 4], [4, 3]])
    for partition in (0, 1):
        site.wait_for_hosts(topic, partition, {3, 4})


def test_replicas_move_one_at_a_time_and_a_new_limit_applies_to_the_next_step(
    site: Site, tools: Tools
) -> None:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1)
    limit(site, tools, "--add-config", f"{STEP}=1")
    site.hold(topic)
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4]})
        key = f"{topic}-0"
        wait_for(lambda: sorted(site.znode(f"/brokers/topics/{topic}")["partitions"]["0"]), [1, 2, 3])
        assert site.reassignments()[key] == {
            "replicas": [3, 4, 1, 2],
            "adding_replicas": [3, 4],
            "removing_replicas": [1, 2],
        }
        limit(site, tools, "--delete-config", STEP)
        site.release()
        site.wait_until_idle()
    load.check()
    site.wait_for_replicas(topic, [[3, 4]])
    site.wait_for_hosts(topic, 0, {3, 4})


@pytest.mark.tour
def test_a_cancel_restores_the_replica_order_and_deletes_partial_copies(site: Site) -> None:
    cancel_throttled_move(site)


def test_a_new_order_replaces_the_target(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    site.reassign(topic, {0: [3, 2]})
    site.wait_for_hosts(topic, 0, {1, 2, 3})
    site.reassign(topic, {0: [4, 2]})
    site.release()
    site.wait_until_idle()
    site.wait_for_replicas(topic, [[4, 2]])
    site.wait_for_hosts(topic, 0, {2, 4})


def test_the_topic_znode_has_adding_and_removing_replicas(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    site.reassign(topic, {0: [3, 2]})
    site.wait_for_hosts(topic, 0, {1, 2, 3})
    stored = site.znode(f"/brokers/topics/{topic}")
    assert (stored["adding_replicas"], stored["removing_replicas"]) == ({"0": [3]}, {"0": [1]})
    site.reassign(topic, {0: None})


def test_many_partitions_move_at_once(site: Site) -> None:
    topic = site.create_topic([[1, 2]] * 40)
    site.reassign(topic, {number: [3 + number % 2, 4 - number % 2] for number in range(40)})
    site.wait_until_idle()
    site.wait_for_replicas(topic, [[3 + number % 2, 4 - number % 2] for number in range(40)])
