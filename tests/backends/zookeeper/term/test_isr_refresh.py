"""Below inter-broker protocol 2.7 decisions are made on the ISR that is stored, not on the one that we were told of last."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import Delete
from backends.zookeeper.term.isr_refresh import refresh_isrs
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
from tests.backends.zookeeper.trees import put, put_state, read
from tests.backends.zookeeper.world import NEW, OLD, Zookeeper
from tests.builders import key


async def store_isr(world: Zookeeper, isr: list[int]) -> None:
    """As the leader does, whose notice comes up to a minute later."""
    now = world["foo-0"]
    await put_state(world.tree, "foo", 0, leader=now.leader, leader_epoch=now.leader_epoch, isr=isr)
    await settle(200)


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    """Broker 3 has joined the ISR of foo-0 again, and we know only that it had left it."""
    world = await Zookeeper(version=OLD).start()
    await world.having({"foo-0": [1, 3]})
    await store_isr(world, [1])
    notice = {"version": 1, "partitions": [{"topic": "foo", "partition": 0}]}
    await put(world.tree, f"{paths.ISR_CHANGES}/isr_change_0000000000", notice)
    await settle(200)
    await store_isr(world, [1, 3])
    assert world["foo-0"].isr == (1,)
    yield world
    await world.stop()


async def test_a_shutdown_moves_leaders_to_replicas_that_are_in_sync_again(world: Zookeeper) -> None:
    reply = await world.office.submit(ControlledShutdown(1, -1))
    assert reply.remaining == []
    assert (world["foo-0"].leader, world["foo-0"].isr) == (3, (3,))
    await settle(200)
    assert world.leaders("foo-0") == {3}


async def test_a_shutdown_takes_a_follower_out_of_an_isr_that_it_is_in_again(world: Zookeeper) -> None:
    await world.office.submit(ControlledShutdown(3, -1))
    assert read(world.tree, paths.state("foo", 0))["isr"] == [1]


async def test_a_broker_that_dies_is_succeeded_by_one_that_is_in_sync_again(world: Zookeeper) -> None:
    """The notice of the dead leader never comes."""
    await world.tree.multi([Delete(paths.broker(1))])
    await settle(200)
    assert (world["foo-0"].leader, world["foo-0"].isr) == (3, (3,))


async def test_a_broker_that_restarts_within_its_session_is_succeeded_likewise(world: Zookeeper) -> None:
    known = world.state.brokers[1]
    again = BrokerRegistration(1, known.host, known.port, None, known.epoch + 1)
    await world.office.submit(BrokerStarted(again))
    assert (world["foo-0"].leader, world["foo-0"].isr) == (3, (3,))


async def test_a_lost_disk_is_succeeded_likewise(world: Zookeeper) -> None:
    await world.office.submit(LogDirFailed(1, [key("foo-0")]))
    assert (world["foo-0"].leader, world["foo-0"].isr) == (3, (3,))


@pytest.mark.parametrize(
    "event",
    [
        ElectLeaders(ElectionType.PREFERRED, [key("foo-0")]),
        ElectLeaders(ElectionType.PREFERRED, None),
        RebalanceLeaders(10),
    ],
)
async def test_a_preferred_leader_that_is_in_sync_again_is_elected(event: ElectLeaders) -> None:
    world = await Zookeeper(version=OLD).start()
    await world.having({"foo-0": [1, 3]})
    await world.stop_broker(1)
    await world.cluster.start_broker(1)
    assert (world["foo-0"].leader, world["foo-0"].isr) == (3, (3,))
    await store_isr(world, [3, 1])
    await world.office.submit(event)
    assert world["foo-0"].leader == 1
    await world.stop()


async def test_what_brokers_report_to_us_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await Zookeeper(version=NEW).start()
    await world.having({"foo-0": [1, 3]})
    monkeypatch.delattr("tests.backends.zookeeper.world.MemoryTree.get_all")
    await world.office.submit(ControlledShutdown(1, -1))
    assert world["foo-0"].leader == 3
    await world.stop()


async def test_partitions_that_an_event_does_not_concern_are_not_read(world: Zookeeper) -> None:
    assert await refresh_isrs(world.znodes, world.state, ControlledShutdown(2, -1)) is None
