"""Requests to brokers in a term, and its end. `tests.backends.test_contract` tests reassignments."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import Create, Delete
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.cluster.health import offline_brokers
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.scheduling.limits import PREFIX
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from tests.backends.zookeeper.harness import NEW, OLD, OWN_ID, ZookeeperHarness
from tests.backends.zookeeper.trees import read_json, write_json, write_state


@pytest.fixture
async def harness() -> AsyncIterator[ZookeeperHarness]:
    harness = await ZookeeperHarness(version=OLD).start()
    await harness.having({"foo-0": [1, 2]})
    yield harness
    await harness.stop()


async def test_clients_find_the_controller_among_the_brokers(harness: ZookeeperHarness) -> None:
    told = harness.sent(UpdateMetadataRequest)[-1]
    assert told.controller_id == OWN_ID
    assert {broker.id for broker in told.live_brokers} == {1, 2, 3, 4, 5, 6, OWN_ID}


async def test_the_controller_has_a_rack_as_brokers_have(harness: ZookeeperHarness) -> None:
    assert read_json(harness.tree, paths.broker(OWN_ID))["rack"] == "rack-a"
    [ours] = [each for each in harness.sent(UpdateMetadataRequest)[-1].live_brokers if each.id == OWN_ID]
    assert ours.rack == "rack-a"


async def test_no_replica_is_placed_on_the_controller(harness: ZookeeperHarness) -> None:
    assert OWN_ID not in harness.state.cluster.live


async def test_replicas_placed_on_the_controller_before_the_term_move_to_a_broker(
    harness: ZookeeperHarness,
) -> None:
    tree = harness.tree.survived(harness.commits)
    await write_json(tree, paths.topic("new"), {"version": 1, "partitions": {"0": [OWN_ID, 1]}})
    rows = {"0": [1, 2], "1": [2, OWN_ID], "2": [1, 2]}
    await write_json(tree, paths.topic("foo"), {"version": 1, "partitions": rows})
    later = await ZookeeperHarness(tree, version=OLD).start()
    await settle(200)
    for name in ("new-0", "foo-1", "foo-2"):
        assert OWN_ID not in later.replicas(name)
        assert later[name].leader in later.state.cluster.live
    await later.stop()


async def test_a_broker_that_is_not_registered_when_the_term_begins_is_named(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    tree = harness.tree.survived(harness.commits)
    await write_json(tree, paths.topic("foo"), {"version": 1, "partitions": {"0": [1, 9]}})
    await write_state(tree, "foo", 0, leader=1, isr=[1, 9])
    later = await ZookeeperHarness(tree, version=OLD).start()
    assert offline_brokers(later.state) == [9]
    assert "broker 9 has replicas but is not registered: it gets no new partitions" in caplog.text
    await later.stop()


async def test_requests_contain_the_stored_isr(harness: ZookeeperHarness) -> None:
    await write_state(harness.tree, "foo", 0, leader=1, isr=[1])
    await harness.alter({"foo-0": [1, 2, 3]})
    led = harness.sent(LeaderAndIsrRequest, [1])[-1].topic_states[0].partition_states[0]
    assert (led.isr, led.partition_epoch) == ((1,), harness.tree.nodes[paths.state("foo", 0)].version)


async def test_stop_replica_is_sent_without_a_leader_epoch(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [2]})
    [dropped] = harness.sent(StopReplicaRequest)
    assert dropped.topic_states[0].partition_states[0].leader_epoch == -1


async def test_a_broker_that_joins_gets_the_stored_partitions(
    harness: ZookeeperHarness,
) -> None:
    await harness.stop_broker(1, controlled=False)
    await write_state(harness.tree, "foo", 0, leader=2, isr=[2], leader_epoch=1)
    await harness.cluster.start_broker(1)
    await harness.advance(0.1)
    led = [r for r in harness.sent(LeaderAndIsrRequest, [1]) if r.topic_states][-1]
    assert led.topic_states[0].partition_states[0].leader_epoch == harness["foo-0"].leader_epoch


async def test_another_elected_controller_ends_the_term(harness: ZookeeperHarness) -> None:
    taken = Create(paths.CONTROLLER, b'{"brokerid":2}', ephemeral=True)
    harness.tree.write([Delete(paths.CONTROLLER), taken], session=9)
    await settle()
    assert [str(each) for each in harness.failures] == ["another controller was elected"]
    harness.failures.clear()


async def test_moves_are_watched_only_while_brokers_store_isrs() -> None:
    for version, watched in ((OLD, True), ("2.7", False)):
        harness = await ZookeeperHarness(version=version).start()
        await harness.having({"foo-0": [1, 2]})
        await harness.alter({"foo-0": [1, 3]})
        assert bool(harness.tree._watches.get((paths.state("foo", 0), False))) is watched
        await harness.stop()


@pytest.mark.parametrize("limit", [1, None])
@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_crash_after_any_write_loses_nothing(version: str, limit: int | None) -> None:
    harness = await ZookeeperHarness(version=version).start()
    if limit is not None:
        change = ConfigChange(f"{PREFIX}replica.movements.per.partition", ConfigOp.SET, str(limit))
        await harness.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", [change])]))
    await harness.having({"foo-0": [1, 2, 3]})
    accepted = harness.commits + 1
    await harness.alter({"foo-0": [4, 5, 6]})
    await harness.until_idle()
    for commits in range(accepted, harness.commits + 1):
        again = await harness.survivor(commits)
        await again.until_idle()
        await again.advance(1)
        assert again.hosts("foo-0") == {4, 5, 6} == set(again["foo-0"].isr)
        await again.stop()
    await harness.stop()
