"""Whoever dies, the move ends where it should, and every record that was acknowledged is there."""

from collections.abc import Iterator

import pytest

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for
from tools.commander import Blockable, Commander


@pytest.fixture
def topic(site: Site) -> str:
    topic = site.create_topic([[1, 2]])
    site.fill(topic, 1)
    site.hold(topic)
    return topic


def elected_broker(site: Site) -> int:
    """Which broker has become the controller."""
    wait_for(lambda: (site.znode("/controller") or {}).get("brokerid", 0) in site.cluster.brokers, True)
    number: int = site.znode("/controller")["brokerid"]
    return number


def expect_replicas_on(site: Site, topic: str, brokers: list[int]) -> None:
    site.wait_until_idle()
    site.wait_for_replicas(topic, [brokers])
    site.wait_for_hosts(topic, 0, set(brokers))


def test_the_leader_dies_in_mid_move(site: Site, topic: str) -> None:
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


def test_a_target_dies_in_mid_move_and_returns(site: Site, topic: str) -> None:
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


def test_reassignd_dies_in_mid_move_and_another_one_takes_over(site: Site, topic: str) -> None:
    standby = Commander(site.cluster, 1001)
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


@pytest.fixture
def blockable(site: Site) -> Iterator[Blockable]:
    """In office, with the site's own reassignd standby by."""
    standby = Blockable(site.cluster, 1001)
    standby.start()
    try:
        assert site.commander.stop() == 0
        site.wait_for_controller(1001)
        site.commander.start()
        yield standby
    finally:
        standby.kill()
        site.wait_for_controller(1000)


def test_a_controller_that_stands_still_gives_its_session_up_and_ends(
    site: Site, blockable: Blockable
) -> None:
    blockable.block()
    site.wait_for_controller(1000)
    assert blockable.wait() == 1
    assert "the event loop has hung for 6 s: the ZooKeeper session and the process end" in blockable.log


def test_a_controller_that_stands_still_can_be_stopped(site: Site, blockable: Blockable) -> None:
    blockable.block()
    assert blockable.stop() == 0
    assert "not stopped after" in blockable.log
    assert (site.znode("/controller") or {}).get("brokerid") != 1001


def test_a_broker_takes_over_when_reassignd_stops_and_finishes_the_step(site: Site, topic: str) -> None:
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


def test_reassignd_takes_up_what_a_broker_has_begun(site: Site, topic: str) -> None:
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


def test_zookeeper_goes_away_for_a_while(site: Site, topic: str) -> None:
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.cluster.kill_zookeeper()
        site.cluster.start_zookeeper()
        site.wait_for_controller(1000)
        site.release()
        expect_replicas_on(site, topic, [3, 4])
    load.check()
