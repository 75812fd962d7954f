"""A reassignment completes and loses no acknowledged record if a broker, reassignd or ZooKeeper fails."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for
from tools.zookeeper_controller import BlockableController, ControllerProcess


@pytest.fixture
def topic(site: Site) -> str:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    return topic


def elected_broker(site: Site) -> int:
    """Wait until a broker is the controller, and return its id."""
    wait_for(lambda: (site.znode("/controller") or {}).get("brokerid", 0) in site.cluster.brokers, True)
    number: int = site.znode("/controller")["brokerid"]
    return number


def expect_replicas_on(site: Site, topic: str, brokers: list[int]) -> None:
    site.wait_until_idle()
    site.wait_for_replicas(topic, [brokers])
    site.wait_for_hosts(topic, 0, set(brokers))


def test_the_leader_is_killed_during_a_reassignment(site: Site, topic: str) -> None:
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.cluster.kill_broker(1)
        wait_for(lambda: site.partitions(topic)[0]["leader_id"] not in {-1, 1}, True)
        site.cluster.start_broker(1)
        site.cluster.wait_for_broker(1)
        site.release()
        expect_replicas_on(site, topic, [3, 4])
    load.check()


def test_a_target_broker_is_killed_and_restarted_during_a_reassignment(site: Site, topic: str) -> None:
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.cluster.kill_broker(4)
        wait_for(lambda: len(site.admin.describe_cluster()["brokers"]), 4)
        site.cluster.start_broker(4)
        site.cluster.wait_for_broker(4)
        site.release()
        expect_replicas_on(site, topic, [3, 4])
    load.check()


@pytest.mark.tour
def test_a_standby_takes_over_after_reassignd_is_killed(site: Site, topic: str) -> None:
    standby = ControllerProcess(site.cluster, 1001)
    standby.start()
    try:
        with Load(site.cluster.bootstrap, topic, 1) as load:
            site.reassign(topic, {0: [3, 4]})
            site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
            site.commander.kill()
            site.wait_for_controller(1001)
            site.release()
            expect_replicas_on(site, topic, [3, 4])
        load.check()
        site.commander.start()
        assert site.znode("/controller")["brokerid"] == 1001
    finally:
        standby.stop()
    site.wait_for_controller(1000)


def test_each_candidate_keeps_the_audit_log_of_its_terms(site: Site, tmp_path: Path) -> None:
    topic = site.create_topic([[1, 2]])

    def served(node_id: int, replicas: list[int]) -> list[tuple[str, list[str]]]:
        """Run a candidate as the controller, reassign, and return its part of the log."""
        candidate = ControllerProcess(site.cluster, node_id, **{"audit.dir": str(tmp_path / str(node_id))})
        candidate.start()
        if site.commander.runs:
            assert site.commander.stop() == 0
        site.wait_for_controller(node_id)
        site.reassign(topic, {0: replicas})
        site.wait_for_replicas(topic, [replicas])
        entries = httpx.get(f"http://{candidate.http}/v1/audit").json()["entries"]
        assert candidate.stop() == 0
        return [(entry["action"], entry["detail"]["topics"]) for entry in entries]

    ordered = ("order", [topic])
    try:
        assert served(1001, [3, 4]) == [ordered]
        assert served(1002, [1, 2]) == [ordered]
        assert served(1001, [3, 4]) == [ordered, ordered]
    finally:
        site.commander.start()
        site.wait_for_controller(1000)


@pytest.fixture
def blockable(site: Site) -> Iterator[BlockableController]:
    """A second reassignd that is the controller; the site's own reassignd is its standby."""
    standby = BlockableController(site.cluster, 1001)
    standby.start()
    try:
        assert site.commander.stop() == 0
        site.wait_for_controller(1001)
        site.commander.start()
        yield standby
    finally:
        standby.kill()
        site.wait_for_controller(1000)


def test_a_controller_with_a_blocked_event_loop_ends_its_session_and_exits(
    site: Site, blockable: BlockableController
) -> None:
    blockable.block()
    site.wait_for_controller(1000)
    assert blockable.wait() == 1
    assert "the event loop has hung for 6 s: the ZooKeeper session and the process end" in blockable.log


def test_a_controller_with_a_blocked_event_loop_can_be_stopped(
    site: Site, blockable: BlockableController
) -> None:
    blockable.block()
    assert blockable.stop() == 0
    assert "not stopped after" in blockable.log
    assert (site.znode("/controller") or {}).get("brokerid") != 1001


def test_a_broker_finishes_the_step_after_reassignd_stops(site: Site, topic: str) -> None:
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        assert site.commander.stop() == 0
        site.wait_for_controller(elected_broker(site))
        site.release()
        expect_replicas_on(site, topic, [3, 4])
    load.check()
    site.commander.start()
    site.wait_for_controller(1000)
    assert site.reassignments() == {}


def test_reassignd_continues_a_reassignment_of_a_broker(site: Site, topic: str) -> None:
    assert site.commander.stop() == 0
    site.wait_for_controller(elected_broker(site))
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.commander.start()
        site.wait_for_controller(1000)
        assert site.reassignments()[f"{topic}-0"]["adding_replicas"] == [3, 4]
        site.release()
        expect_replicas_on(site, topic, [3, 4])
    load.check()


def test_a_restart_of_zookeeper_does_not_stop_a_reassignment(site: Site, topic: str) -> None:
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.cluster.kill_zookeeper()
        site.cluster.start_zookeeper()
        site.wait_for_controller(1000)
        site.release()
        expect_replicas_on(site, topic, [3, 4])
    load.check()
