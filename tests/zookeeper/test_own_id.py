"""The node id of reassignd: clients see the controller, but it gets no replicas."""

import json
import urllib.request
from typing import Any

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import NewPartitions, NewTopic
from kafka.errors import InvalidReplicationAssignmentError

from tests.clients.java_programs import Tools
from tests.zookeeper.scenarios import REASSIGN, submit
from tests.zookeeper.site import Site, wait_for

REFUSAL = "broker 1000, which is reassignd, the controller"


def http_json(site: Site, path: str) -> Any:
    """Return the JSON of an HTTP endpoint of reassignd."""
    with urllib.request.urlopen(f"http://{site.commander.http}{path}", timeout=10) as page:
        return json.load(page)


def test_the_id_is_not_registered_for_brokers_3_9(site: Site) -> None:
    assert site.registered_brokers() == set(site.cluster.brokers)


def test_the_id_is_not_counted_as_a_broker(site: Site) -> None:
    wait_for(
        lambda: http_json(site, "/v1/status")["brokers"],
        {
            "registered": 4,
            "live": 4,
            "offline": [],
            "idle": [],
            "excluded": [],
            "hidden": [],
            "placed_by": "reassignd",
        },
    )
    with urllib.request.urlopen(f"http://{site.commander.http}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    [fenced] = [
        line for line in lines if line.startswith("kafka_controller_kafkacontroller_fencedbrokercount")
    ]
    assert float(fenced.split()[-1]) == 0


def test_the_id_is_refused_as_a_target(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    answer = site.admin.alter_partition_reassignments({TopicPartition(topic, 0): [1, 1000]})
    [error] = answer.values()
    assert error is InvalidReplicationAssignmentError
    assert site.reassignments() == {}


def test_the_id_is_refused_for_new_topics_and_partitions(site: Site) -> None:
    with pytest.raises(InvalidReplicationAssignmentError, match=REFUSAL):
        site.admin.create_topics([NewTopic("on-us", replica_assignments={0: [1000, 1]})])
    topic = site.create_topic([[1, 2]])
    with pytest.raises(InvalidReplicationAssignmentError, match=REFUSAL):
        site.admin.create_partitions({topic: NewPartitions(2, [[1, 1000]])})


def test_a_plan_row_with_the_id_is_refused_alone(site: Site) -> None:
    """The other rows are executed, and the next plan too."""
    topic = site.create_topic([[1, 2], [2, 1]])
    submit(site, topic, {0: [3, 4], 1: [2, 1000]})
    site.wait_for_replicas(topic, [[3, 4], [2, 1]])
    wait_for(lambda: site.znode(REASSIGN), None)
    assert (
        f"{topic}-1 is not reassigned: The manual partition assignment includes {REFUSAL}"
        in site.commander.log
    )
    submit(site, topic, {1: [4, 3]})
    site.wait_for_replicas(topic, [[3, 4], [4, 3]])


def test_a_topic_znode_with_the_id_gets_other_brokers(site: Site) -> None:
    site.create_znode("/brokers/topics/placed", {"version": 1, "partitions": {"0": [1000, 1]}})
    wait_for(lambda: "placed" in site.admin.list_topics(), True)
    [row] = site.partitions("placed")
    assert set(row["replica_nodes"]) < set(site.cluster.brokers)
    assert "topic placed: new replicas on 1000 go to other brokers" in site.commander.log


def test_a_topic_with_more_replicas_than_brokers_is_refused(site: Site) -> None:
    site.create_znode("/brokers/topics/wide", {"version": 1, "partitions": {"0": [1, 2, 3, 4, 1000]}})
    line = "/brokers/topics/wide is ignored: partition 0 has 5 replicas, but there are 4 brokers"
    wait_for(lambda: line in site.commander.log, True)
    assert site.znode("/brokers/topics/wide")["partitions"] == {"0": [1, 2, 3, 4, 1000]}
    site.create_znode("/admin/delete_topics/wide", b"")
    wait_for(lambda: site.has_znode("/brokers/topics/wide"), False)


def test_the_tools_list_no_broker_twice(site: Site, tools: Tools) -> None:
    topic = site.create_topic([[1, 2]])
    where = ("--bootstrap-server", site.cluster.bootstrap)
    described = tools.run("log-dirs", *where, "--describe", "--topic-list", topic)
    [line] = [line for line in described.lines if line.startswith("{")]
    replicas = [
        (broker["broker"], partition["partition"])
        for broker in json.loads(line)["brokers"]
        for log_dir in broker["logDirs"]
        for partition in log_dir["partitions"]
    ]
    assert sorted(replicas) == [(1, f"{topic}-0"), (2, f"{topic}-0")]
    producer = KafkaProducer(bootstrap_servers=site.cluster.bootstrap, transactional_id="once")
    producer.init_transactions()
    producer.close()
    listed = tools.run("transactions", *where, "list")
    assert [line.split()[0] for line in listed.lines if "once" in line] == ["once"]


def test_an_update_of_features_is_refused_at_once(site: Site, tools: Tools) -> None:
    where = ("--bootstrap-server", site.cluster.bootstrap)
    ran = tools.run("features", *where, "upgrade", "--feature", "group.version=1")
    assert "does not support UPDATE_FEATURES" in ran.stdout + ran.stderr, ran
    assert ran.exit_code != 0
