"""Other duties of the controller: topics, partitions, configs, leader elections and controlled shutdowns."""

import pytest
from kafka.admin import NewTopic
from kafka.errors import ReassignmentInProgressError

from reassignd import cli
from tests.clients.java_programs import Tools
from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for
from tools.zookeeper_controller import ControllerProcess


def test_deleting_a_topic_deletes_its_znode_and_its_logs(site: Site) -> None:
    topic = site.create_topic([[1, 2], [3, 4]])
    site.fill(topic, 2, 20)
    site.admin.delete_topics([topic])
    wait_for(lambda: topic in site.admin.list_topics(), False)
    for partition in (0, 1):
        site.wait_for_hosts(topic, partition, set())
    assert site.znode(f"/brokers/topics/{topic}") is None


def test_a_recreated_topic_is_empty(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1, 20)
    site.admin.delete_topics([topic])
    site.create_topic([[2, 1]], topic)
    with Load(site.cluster.bootstrap, topic, 1) as load:
        wait_for(lambda: load.sent > 10, True)
    load.check()


def test_a_topic_deletion_waits_for_an_offline_broker(site: Site) -> None:
    topic = site.create_topic([[1, 2], [3, 4]])
    site.fill(topic, 2, 20)
    site.cluster.stop_broker(2)
    site.admin.delete_topics([topic])
    wait_for(lambda: f"the brokers with its replicas are there: {topic}" in site.commander.log, True)
    assert site.has_znode(f"/admin/delete_topics/{topic}")
    assert site.has_znode(f"/brokers/topics/{topic}")
    site.cluster.start_broker(2)
    site.cluster.wait_for_broker(2)
    for partition in (0, 1):
        site.wait_for_hosts(topic, partition, set())
    wait_for(lambda: site.has_znode(f"/brokers/topics/{topic}"), False)
    assert not site.has_znode(f"/admin/delete_topics/{topic}")


def test_a_topic_created_in_zookeeper_gets_leaders(site: Site) -> None:
    site.create_znode("/brokers/topics/by-hand", {"version": 1, "partitions": {"0": [4, 3], "1": [3, 2]}})
    site.wait_for_replicas("by-hand", [[4, 3], [3, 2]])


def test_partitions_are_added(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.admin.create_partitions({topic: 3})
    wait_for(lambda: len(site.partitions(topic)), 3)
    wait_for(lambda: all(len(row["isr_nodes"]) == 2 for row in site.partitions(topic)), True)


def test_new_partitions_are_kept_off_an_excluded_broker_after_a_restart_too(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    wait_for(lambda: command(site, "placement", "--exclude", "4"), 0)
    assert site.commander.stop() == 0
    site.commander.start()
    site.wait_for_controller(1000)
    site.admin.create_partitions({topic: 13})
    wait_for(lambda: len(site.partitions(topic)), 13)
    assert all(4 not in row["replica_nodes"] for row in site.partitions(topic))
    wait_for(lambda: command(site, "placement", "--allow", "4"), 0)
    wait_for(lambda: site.znode("/config/brokers/<default>")["config"], {})


def test_a_drained_broker_and_a_cordoned_one_get_no_new_partitions(site: Site) -> None:
    """The brokers are older than KIP-1066. reassignd places partitions itself, and reads the config."""
    topic = site.create_topic([[4, 1], [1, 4]])
    site.fill(topic, 2)
    site.set_configs("BROKER", "3", cordoned__log__dirs="*")
    wait_for(lambda: command(site, "propose", "add", "3"), 1)
    site.hold(topic)
    assert command(site, "propose", "drain", "4", "--topics", topic, "--execute") == 0
    wait_for(lambda: site.cluster.hosts(topic, 0), {1, 2, 4})
    assert placed(site, "meanwhile") == {1, 2}
    site.release()
    wait_for(lambda: command(site, "drained", "4", "--topics", topic), 0)
    site.wait_for_replicas(topic, [[1, 2], [1, 2]])
    assert site.znode("/config/brokers/4") in ({"version": 1, "config": {}}, None)
    site.set_configs("BROKER", "3", cordoned__log__dirs=None)
    assert command(site, "placement", "--allow", "4") == 0
    wait_for(lambda: command(site, "propose", "add", "3"), 0)
    assert placed(site, "later") == {1, 2, 3, 4}


def command(site: Site, *arguments: str) -> int:
    """Run a command of reassignd; return its exit code."""
    return cli.main([*arguments, "--url", f"http://{site.commander.http}"])


def placed(site: Site, topic: str) -> set[int]:
    """Create a topic of which reassignd places the replicas; return their brokers."""
    site.admin.create_topics([NewTopic(topic, 12, 2)])
    lists = site.znode(f"/brokers/topics/{topic}")["partitions"].values()
    assert len(lists) == 12
    return {broker for replicas in lists for broker in replicas}


def test_partitions_are_added_only_after_the_reassignment_of_the_topic(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    site.reassign(topic, {0: [3, 2]})
    site.wait_for_hosts(topic, 0, {1, 2, 3})
    with pytest.raises(ReassignmentInProgressError):
        site.admin.create_partitions({topic: 3})
    stored = site.znode(f"/brokers/topics/{topic}")
    site.set_znode(
        f"/brokers/topics/{topic}", {**stored, "partitions": {**stored["partitions"], "1": [4, 3]}}
    )
    waits = f"topic {topic} gets 1 new partition when its reassignments have ended"
    wait_for(lambda: waits in site.commander.log, True)
    assert len(site.partitions(topic)) == 1
    site.release()
    site.wait_for_replicas(topic, [[3, 2], [4, 3]])


def test_a_topics_configs_reach_the_brokers(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.set_configs("TOPIC", topic, retention__ms="12345")
    wait_for(lambda: site.znode(f"/config/topics/{topic}")["config"], {"retention.ms": "12345"})
    wait_for(
        lambda: f"{topic}" in site.cluster.log(1) and "retention.ms -> 12345" in site.cluster.log(1), True
    )


def test_a_stopped_broker_hands_over_its_leaderships_and_rejoins_the_isr(site: Site, tools: Tools) -> None:
    topic = site.create_topic([[1, 2, 3], [2, 3, 4]])
    with Load(site.cluster.bootstrap, topic, 2) as load:
        site.cluster.stop_broker(1)
        wait_for(lambda: site.partitions(topic)[0]["leader_id"] in {2, 3}, True)
        site.cluster.start_broker(1)
        site.cluster.wait_for_broker(1)
        wait_for(lambda: sorted(site.partitions(topic)[0]["isr_nodes"]), [1, 2, 3])
    load.check()
    assert "Controlled shutdown request returned successfully" in site.cluster.log(1)
    assert "unclean shutdown" not in site.cluster.log(1)
    election = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    result = tools.run("leader-election", "--bootstrap-server", site.cluster.bootstrap, *election)
    assert "Successfully completed leader election (PREFERRED)" in result.stdout
    wait_for(lambda: site.partitions(topic)[0]["leader_id"], 1)


def test_a_znode_starts_a_preferred_leader_election(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.reassign(topic, {0: [2, 1]})
    site.wait_for_replicas(topic, [[2, 1]])
    assert site.partitions(topic)[0]["leader_id"] == 1
    path = "/admin/preferred_replica_election"
    site.create_znode(path, {"version": 1, "partitions": [{"topic": topic, "partition": 0}]})
    wait_for(lambda: site.partitions(topic)[0]["leader_id"], 2)
    assert site.znode(path) is None


def test_auto_leader_rebalance_elects_preferred_leaders(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.reassign(topic, {0: [2, 1]})
    site.wait_for_replicas(topic, [[2, 1]])
    assert site.partitions(topic)[0]["leader_id"] == 1
    imbalance = {
        "leader.imbalance.check.interval.seconds": "1",
        "leader.imbalance.per.broker.percentage": "0",
    }
    balancer = ControllerProcess(site.cluster, 1003, **{"auto.leader.rebalance.enable": "true"}, **imbalance)
    balancer.start()
    try:
        assert site.commander.stop() == 0
        site.wait_for_controller(1003)
        wait_for(lambda: site.partitions(topic)[0]["leader_id"], 2)
        wait_for(lambda: "elected the preferred leaders of" in balancer.log, True)
    finally:
        assert balancer.stop() == 0
        site.commander.start()
    site.wait_for_controller(1000)
