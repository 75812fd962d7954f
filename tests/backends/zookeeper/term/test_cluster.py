"""One term: what brokers are told, and what ends it. That moves end where they should is in `tests.backends.test_contract`."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import Create, Delete
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.scheduling.limits import PREFIX
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from tests.backends.zookeeper.trees import put, put_state, read
from tests.backends.zookeeper.world import NEW, OLD, OWN_ID, Zookeeper


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    world = await Zookeeper(version=OLD).start()
    await world.having({"foo-0": [1, 2]})
    yield world
    await world.stop()


async def test_clients_find_the_controller_among_the_brokers(world: Zookeeper) -> None:
    told = world.sent(UpdateMetadataRequest)[-1]
    assert told.controller_id == OWN_ID
    assert {broker.id for broker in told.live_brokers} == {1, 2, 3, 4, 5, 6, OWN_ID}


async def test_the_controller_has_a_rack_as_brokers_have(world: Zookeeper) -> None:
    assert read(world.tree, paths.broker(OWN_ID))["rack"] == "rack-a"
    [ours] = [each for each in world.sent(UpdateMetadataRequest)[-1].live_brokers if each.id == OWN_ID]
    assert ours.rack == "rack-a"


async def test_nothing_is_placed_on_the_controller(world: Zookeeper) -> None:
    assert OWN_ID not in world.state.live


async def test_what_was_placed_on_the_controller_while_it_was_away_is_placed_elsewhere(
    world: Zookeeper,
) -> None:
    tree = world.tree.survived(world.commits)
    await put(tree, paths.topic("new"), {"version": 1, "partitions": {"0": [OWN_ID, 1]}})
    rows = {"0": [1, 2], "1": [2, OWN_ID], "2": [1, 2]}
    await put(tree, paths.topic("foo"), {"version": 1, "partitions": rows})
    later = await Zookeeper(tree, version=OLD).start()
    await settle(200)
    for name in ("new-0", "foo-1", "foo-2"):
        assert OWN_ID not in later.replicas(name)
        assert later[name].leader in later.state.live
    await later.stop()


async def test_brokers_are_told_the_isr_that_is_stored(world: Zookeeper) -> None:
    await put_state(world.tree, "foo", 0, leader=1, isr=[1])
    await world.alter({"foo-0": [1, 2, 3]})
    led = world.sent(LeaderAndIsrRequest, [1])[-1].topic_states[0].partition_states[0]
    assert (led.isr, led.partition_epoch) == ((1,), world.tree.nodes[paths.state("foo", 0)].version)


async def test_replicas_are_dropped_without_a_fence_that_brokers_trip_over(world: Zookeeper) -> None:
    await world.alter({"foo-0": [2]})
    [dropped] = world.sent(StopReplicaRequest)
    assert dropped.topic_states[0].partition_states[0].leader_epoch == -1


async def test_a_broker_that_joins_is_told_what_is_stored_and_not_what_was_only_decided(
    world: Zookeeper,
) -> None:
    await world.stop_broker(1, controlled=False)
    await put_state(world.tree, "foo", 0, leader=2, isr=[2], leader_epoch=1)
    await world.cluster.start_broker(1)
    await world.advance(0.1)
    led = [r for r in world.sent(LeaderAndIsrRequest, [1]) if r.topic_states][-1]
    assert led.topic_states[0].partition_states[0].leader_epoch == world["foo-0"].leader_epoch


async def test_who_is_elected_elsewhere_ends_the_term(world: Zookeeper) -> None:
    taken = Create(paths.CONTROLLER, b'{"brokerid":2}', ephemeral=True)
    world.tree.write([Delete(paths.CONTROLLER), taken], session=9)
    await settle()
    assert [str(each) for each in world.failures] == ["another controller was elected"]
    world.failures.clear()


async def test_moves_are_watched_only_while_brokers_store_isrs() -> None:
    for version, watched in ((OLD, True), ("2.7", False)):
        world = await Zookeeper(version=version).start()
        await world.having({"foo-0": [1, 2]})
        await world.alter({"foo-0": [1, 3]})
        assert bool(world.tree._watches.get((paths.state("foo", 0), False))) is watched
        await world.stop()


@pytest.mark.parametrize("limit", [1, None])
@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_controller_killed_after_any_write_goes_on_where_it_was(
    version: str, limit: int | None
) -> None:
    world = await Zookeeper(version=version).start()
    if limit is not None:
        change = ConfigChange(f"{PREFIX}replica.movements.per.partition", ConfigOp.SET, str(limit))
        await world.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", [change])]))
    await world.having({"foo-0": [1, 2, 3]})
    accepted = world.commits + 1
    await world.alter({"foo-0": [4, 5, 6]})
    await world.until_idle()
    for commits in range(accepted, world.commits + 1):
        again = await world.survivor(commits)
        await again.until_idle()
        await again.advance(1)
        assert again.hosts("foo-0") == {4, 5, 6} == set(again["foo-0"].isr)
        await again.stop()
    await world.stop()
