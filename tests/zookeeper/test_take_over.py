"""Plans in ZooKeeper while a broker is the controller or becomes it, as docs/zookeeper.md describes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.java_programs import Tools
from tests.zookeeper.scenarios import REASSIGN
from tests.zookeeper.site import Site, wait_for
from tests.zookeeper.test_failures import elected_broker
from tests.zookeeper.test_moves import limit
from tests.zookeeper.test_zk_command import Zk
from tools.zookeeper_controller import ControllerProcess

CHILDREN = "/admin/reassignments"
PLAIN = {"topic", "partition", "replicas"}
MAX_PARTITIONS = "reassignment.max.concurrent.partition.movements"


@pytest.fixture
def zk(site: Site, tools: Tools, tmp_path: Path) -> Iterator[Zk]:
    """`reassignd zk`; with reassignd as the controller, one partition moves at a time."""
    limit(site, tools, "--add-config", f"{MAX_PARTITIONS}=1")
    yield Zk(site, tmp_path)
    site.release()
    if not site.commander.runs:
        site.commander.start()
    site.wait_for_controller(1000)
    limit(site, tools, "--delete-config", MAX_PARTITIONS)
    site.wait_until_idle()


@pytest.fixture
def topic(site: Site) -> str:
    topic = site.create_topic([[1, 2], [2, 1]])
    site.fill(topic, 2)
    site.hold(topic)
    return topic


def wait_for_broker_takeover(site: Site) -> None:
    site.wait_for_controller(elected_broker(site))
    site.release()
    site.wait_until_idle()


@contextmanager
def other_controller(site: Site, **options: str) -> Iterator[None]:
    """Run a second reassignd with these options as the controller, and stop it at the end."""
    other = ControllerProcess(site.cluster, 1002, **options)
    other.start()
    try:
        assert site.commander.stop() == 0
        site.wait_for_controller(1002)
        yield
    finally:
        assert other.stop() == 0


def test_a_broker_takes_over_a_plan_and_completes_it(site: Site, zk: Zk, topic: str) -> None:
    with other_controller(site, **{"zookeeper.reassignments.children": "true"}):
        zk.plan("submit", topic, {0: [3, 2]})
        site.wait_for_hosts(topic, 0, {1, 2, 3})
        wait_for(lambda: site.znode(f"{CHILDREN}/{topic}/0"), [3, 2])
        site.create_znode(f"{CHILDREN}/{topic}/1", [4, 1])
        wait_for(lambda: [set(row) for row in site.znode(REASSIGN)["partitions"]], [PLAIN, PLAIN])
        shown = zk.run("show").stdout
        assert f"{topic}-1 to 4,1, from 2,1" in shown
        assert "children: 2" in shown
        assert f"{CHILDREN}/{topic}/0 to 3,2, reassignment 0x" in shown
    wait_for_broker_takeover(site)
    wait_for(lambda: site.znode(REASSIGN), None)
    site.wait_for_replicas(topic, [[3, 2], [4, 1]])


def test_a_broker_ignores_a_plan_with_originals_and_finishes_the_steps_in_flight(
    site: Site, zk: Zk, topic: str
) -> None:
    with other_controller(site, **{"zookeeper.reassign.partitions.plain": "false"}):
        zk.plan("submit", topic, {0: [3, 2], 1: [4, 1]})
        site.wait_for_hosts(topic, 0, {1, 2, 3})
        wait_for(lambda: site.znode(REASSIGN)["partitions"][1].get("original_replicas"), [2, 1])
    wait_for_broker_takeover(site)
    site.wait_for_replicas(topic, [[3, 2], [2, 1]])
    wait_for(lambda: site.znode(REASSIGN), None)
    site.commander.start()
    site.wait_for_replicas(topic, [[3, 2], [4, 1]])
    wait_for(lambda: site.znode(REASSIGN), None)


def test_submit_works_while_a_broker_is_the_controller_but_queue_and_cancel_are_refused(
    site: Site, zk: Zk, topic: str
) -> None:
    assert site.commander.stop() == 0
    site.wait_for_controller(elected_broker(site))
    site.release()
    assert zk.plan("submit", topic, {0: [3, 2], 1: [4, 1]}).returncode == 0
    wait_for(lambda: site.znode(REASSIGN), None)
    site.wait_for_replicas(topic, [[3, 2], [4, 1]])
    for refused in (zk.plan("queue", topic, {0: [1, 2]}), zk.run("cancel")):
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert "the controller is a Kafka broker" in refused.stderr
