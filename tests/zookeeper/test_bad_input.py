"""Invalid znodes: each is logged and counted in the metrics, and the controller continues."""

import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from tests.zookeeper.load import Load
from tests.zookeeper.scenarios import REASSIGN
from tests.zookeeper.site import Site, wait_for

MEGABYTE = b"[" * 1_000_000
DOCUMENTS = {
    "/admin/reassign_partitions": "reassign_partitions",
    "/admin/reassign_partitions_queue": "reassign_partitions_queue",
    "/admin/preferred_replica_election": "preferred_replica_election",
    "/brokers/ids/77": "broker",
    "/brokers/topics/bad": "topic",
    # Brokers take this number for an old change. With a high number they would skip all later changes.
    "/config/changes/config_change_-000000001": "config_change",
    "/isr_change_notification/isr_change_9999999999": "isr_change_notification",
    "/log_dir_event_notification/log_dir_event_9999999999": "log_dir_event_notification",
}


@pytest.fixture(autouse=True)
def idle_cluster(site: Site) -> Iterator[None]:
    yield
    site.release()
    site.wait_until_idle()


def counters(site: Site, metric: str = "refused_documents", label: str = "znode") -> dict[str, float]:
    """Return the values of a ZooKeeper counter by its label."""
    with urllib.request.urlopen(f"http://{site.commander.http}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    name = f"reassignd_zookeeper_{metric}_total{{{label}="
    rows = (line.removeprefix(name).split("} ") for line in lines if line.startswith(name))
    return {kind.strip('"'): float(number) for kind, number in rows}


@pytest.mark.parametrize("data", [b"{garbage", MEGABYTE], ids=["garbage", "a megabyte"])
def test_garbage_in_a_watched_znode_is_ignored_and_counted(site: Site, data: bytes) -> None:
    topic = site.create_topic([[1, 2], [2, 1]])
    before = counters(site)
    with Load(site.cluster.bootstrap, topic, 2) as load:
        for path in DOCUMENTS:
            site.create_znode(path, data)
        wait_for(
            lambda: {kind: counters(site).get(kind, 0) - before.get(kind, 0) for kind in DOCUMENTS.values()},
            dict.fromkeys(DOCUMENTS.values(), 1),
        )
        site.reassign(topic, {0: [3, 4], 1: [4, 3]})
        site.wait_until_idle()
    load.check()
    for path in DOCUMENTS:
        assert f"{path} is ignored" in site.commander.log
        site.remove_znode(path)
    assert "Traceback" not in site.commander.log


def test_rows_with_unknown_brokers_or_partitions_are_refused_one_by_one(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    before = counters(site, "refused_rows").get("reassign_partitions", 0)
    rows = [(topic, 0, [3, 2]), (topic, 5, [1]), (topic, 0, [3, 4]), ("nothing", 0, [1]), (topic, 1, [98])]
    entries = [dict(zip(("topic", "partition", "replicas"), row, strict=True)) for row in rows]
    site.create_znode(REASSIGN, {"version": 1, "partitions": entries})
    site.wait_for_replicas(topic, [[3, 4]])
    wait_for(lambda: site.znode(REASSIGN), None)
    assert counters(site, "refused_rows")["reassign_partitions"] == before + 3


def test_an_invalid_partition_state_does_not_stop_the_reassignment(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    site.reassign(topic, {0: [3, 4]})
    site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
    before = counters(site).get("partition_state", 0)
    site.set_znode(f"/brokers/topics/{topic}/partitions/0/state", b"\xff{garbage")
    wait_for(lambda: counters(site).get("partition_state", 0), before + 1)
    site.reassign(topic, {0: [3, 2]})
    site.release()
    site.wait_until_idle()
    site.wait_for_replicas(topic, [[3, 2]])


def test_an_invalid_topic_znode_is_overwritten(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.set_znode(f"/brokers/topics/{topic}", b"{garbage")
    site.reassign(topic, {0: [3, 4]})
    site.wait_until_idle()
    site.wait_for_replicas(topic, [[3, 4]])
    assert site.znode(f"/brokers/topics/{topic}")["partitions"] == {"0": [3, 4]}


def test_a_topic_can_be_deleted_during_its_reassignment(site: Site) -> None:
    topic, other = site.create_topic([[1, 2]]), site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    site.create_znode(
        REASSIGN, {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [3, 4]}]}
    )
    site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
    site.admin.delete_topics([topic])
    site.reassign(other, {0: [3, 4]})
    site.wait_for_replicas(other, [[3, 4]])
    site.release()
    wait_for(lambda: site.znode(f"/brokers/topics/{topic}"), None)
    wait_for(lambda: site.znode(REASSIGN), None)
    site.wait_for_hosts(topic, 0, set())


def test_a_topic_znode_deleted_by_hand_during_a_reassignment_starts_a_new_term(site: Site) -> None:
    """The controller ends its term, and continues with the other topics in the next one."""
    topic, other = site.create_topic([[1, 2]]), site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    site.reassign(topic, {0: [3, 4]})
    site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
    won, before = counters(site, "terms", "event")["won"], len(site.commander.log)
    site.remove_znode(f"/brokers/topics/{topic}")
    wait_for(lambda: counters(site, "terms", "event").get("won"), won + 1)
    site.wait_for_controller(1000)
    assert f"topic {topic} was removed from ZooKeeper, but not by this controller" in site.commander.log
    assert ": 1 topic deleted" in site.commander.log[before:]
    site.release()
    site.reassign(other, {0: [3, 4]})
    site.wait_until_idle()
    site.wait_for_replicas(other, [[3, 4]])


def test_a_term_ends_if_the_epoch_or_the_controller_znode_changes(site: Site) -> None:
    """Another client increments the controller epoch, and then deletes the controller znode."""
    topic = site.create_topic([[1, 2]])
    won = counters(site, "terms", "event")["won"]
    site.set_znode("/controller_epoch", str(site.znode("/controller_epoch") + 1).encode())
    site.create_znode("/admin/preferred_replica_election", {"version": 1, "partitions": []})
    wait_for(lambda: counters(site, "terms", "event").get("won"), won + 1)
    site.remove_znode("/controller")
    wait_for(lambda: counters(site, "terms", "event").get("won"), won + 2)
    site.wait_for_controller(1000)
    assert counters(site, "terms", "event")["lost"] >= 2
    assert "the term as controller has ended: another controller was elected" in site.commander.log
    site.reassign(topic, {0: [3, 4]})
    site.wait_until_idle()
    site.wait_for_replicas(topic, [[3, 4]])


def test_a_short_loss_of_zookeeper_during_writes_logs_one_line(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    before = len(site.commander.log)
    with config_writes(site, topic):
        site.cluster.kill_zookeeper()
        site.cluster.start_zookeeper()
        site.wait_for_controller(1000)
    new_log = site.commander.log[before:]
    assert "Traceback" not in new_log
    assert (
        new_log.count("WARN") + new_log.count("ERROR")
        == new_log.count("WARN the term as controller has ended")
        <= 1
    )


@contextmanager
def config_writes(site: Site, topic: str) -> Iterator[None]:
    """Set a config in a loop, in a thread."""
    ended = Event()
    admin = KafkaAdminClient(bootstrap_servers=site.cluster.bootstrap)

    def write() -> None:
        while not ended.is_set():
            with suppress(KafkaError):
                value = {"retention.ms": ("SET", str(time.monotonic_ns()))}
                admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, value)])

    thread = Thread(target=write)
    thread.start()
    yield
    ended.set()
    thread.join()
    admin.close()
