"""Below inter-broker protocol 2.7, decisions use the ISR in ZooKeeper."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import Delete
from backends.zookeeper.term.cluster import refresh_isrs
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.messages.events import (
    BrokerRegistration,
    BrokerStarted,
    ControlledShutdown,
    ElectionType,
    ElectLeaders,
    LogDirFailed,
    RebalanceLeaders,
)
from tests.backends.zookeeper.harness import NEW, OLD, ZookeeperHarness
from tests.backends.zookeeper.trees import read_json, write_json, write_state
from tests.builders import key


async def store_isr(harness: ZookeeperHarness, isr: list[int]) -> None:
    """Store an ISR as the leader does, without a notification, which may be a minute late."""
    now = harness["foo-0"]
    await write_state(harness.tree, "foo", 0, leader=now.leader, leader_epoch=now.leader_epoch, isr=isr)
    await settle(200)


@pytest.fixture
async def harness() -> AsyncIterator[ZookeeperHarness]:
    """Let broker 3 return to the ISR of foo-0 in ZooKeeper, without a notification."""
    harness = await ZookeeperHarness(version=OLD).start()
    await harness.having({"foo-0": [1, 3]})
    await store_isr(harness, [1])
    notice = {"version": 1, "partitions": [{"topic": "foo", "partition": 0}]}
    await write_json(harness.tree, f"{paths.ISR_CHANGES}/isr_change_0000000000", notice)
    await settle(200)
    await store_isr(harness, [1, 3])
    assert harness["foo-0"].isr == (1,)
    yield harness
    await harness.stop()


async def test_a_shutdown_elects_a_leader_from_the_stored_isr(harness: ZookeeperHarness) -> None:
    reply = await harness.zookeeper_cluster.submit(ControlledShutdown(1, -1))
    assert reply.remaining == []
    assert (harness["foo-0"].leader, harness["foo-0"].isr) == (3, (3,))
    await settle(200)
    assert harness.leaders("foo-0") == {3}


async def test_a_shutdown_removes_a_follower_from_the_stored_isr(harness: ZookeeperHarness) -> None:
    await harness.zookeeper_cluster.submit(ControlledShutdown(3, -1))
    assert read_json(harness.tree, paths.state("foo", 0))["isr"] == [1]


async def test_a_crash_elects_a_leader_from_the_stored_isr(harness: ZookeeperHarness) -> None:
    """The crashed leader never sends its notification."""
    await harness.tree.multi([Delete(paths.broker(1))])
    await settle(200)
    assert (harness["foo-0"].leader, harness["foo-0"].isr) == (3, (3,))


async def test_a_restart_within_the_session_elects_a_leader_from_the_stored_isr(
    harness: ZookeeperHarness,
) -> None:
    known = harness.state.cluster.brokers[1]
    again = BrokerRegistration(1, known.host, known.port, None, known.epoch + 1)
    await harness.zookeeper_cluster.submit(BrokerStarted(again))
    assert (harness["foo-0"].leader, harness["foo-0"].isr) == (3, (3,))


async def test_a_failed_disk_elects_a_leader_from_the_stored_isr(harness: ZookeeperHarness) -> None:
    await harness.zookeeper_cluster.submit(LogDirFailed(1, [key("foo-0")]))
    assert (harness["foo-0"].leader, harness["foo-0"].isr) == (3, (3,))


@pytest.mark.parametrize(
    "event",
    [
        ElectLeaders(ElectionType.PREFERRED, [key("foo-0")]),
        ElectLeaders(ElectionType.PREFERRED, None),
        RebalanceLeaders(10),
    ],
)
async def test_a_preferred_leader_in_the_stored_isr_is_elected(event: ElectLeaders) -> None:
    harness = await ZookeeperHarness(version=OLD).start()
    await harness.having({"foo-0": [1, 3]})
    await harness.stop_broker(1)
    await harness.cluster.start_broker(1)
    assert (harness["foo-0"].leader, harness["foo-0"].isr) == (3, (3,))
    await store_isr(harness, [3, 1])
    await harness.zookeeper_cluster.submit(event)
    assert harness["foo-0"].leader == 1
    await harness.stop()


async def test_isrs_are_not_read_when_leaders_send_alter_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = await ZookeeperHarness(version=NEW).start()
    await harness.having({"foo-0": [1, 3]})
    monkeypatch.delattr("tests.backends.zookeeper.harness.MemoryTree.get_all")
    await harness.zookeeper_cluster.submit(ControlledShutdown(1, -1))
    assert harness["foo-0"].leader == 3
    await harness.stop()


async def test_isrs_of_unaffected_partitions_are_not_read(harness: ZookeeperHarness) -> None:
    assert await refresh_isrs(harness.zk_store, harness.state, ControlledShutdown(2, -1)) is None
