"""What people, tools and brokers leave in ZooKeeper reaches the core, and is cleared away where Kafka does so."""

from collections.abc import AsyncIterator, Sequence

import pytest

from backends.zookeeper.session.tree import Delete, Znode
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import (
    Endpoint,
    Registration,
    decode_topic,
    encode_broker,
    encode_config_change,
)
from common.clock import settle
from common.error_codes import ErrorCode
from controller.messages.events import (
    AlterConfigs,
    CreateTopics,
    ElectionType,
    ElectLeaders,
    NewTopic,
    ResourceChanges,
)
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from tests.backends.zookeeper.trees import put, put_state, read
from tests.backends.zookeeper.world import OLD, OWN_ID, Zookeeper


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    world = await Zookeeper(version=OLD).start()
    await world.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 1]})
    yield world
    await world.stop()


async def put_and_settle(world: Zookeeper, path: str, value: object) -> None:
    await put(world.tree, path, value)
    await settle(200)


async def test_a_topic_made_by_a_tool_is_led(world: Zookeeper) -> None:
    await put_and_settle(world, paths.topic("bar"), {"version": 1, "partitions": {"0": [3, 4]}})
    assert (world["bar-0"].leader, world["bar-0"].isr, world["bar-0"].partition_epoch) == (3, (3, 4), 0)
    assert world.leaders("bar-0") == {3}


async def test_a_topic_that_a_broker_has_placed_on_the_controller_is_placed_elsewhere(
    world: Zookeeper,
) -> None:
    await put_and_settle(world, paths.topic("bar"), {"version": 1, "partitions": {"0": [OWN_ID]}})
    assert world["bar-0"].leader in world.state.live
    assert read(world.tree, paths.topic("bar"))["partitions"]["0"] == list(world["bar-0"].replicas)


WIDE = {"version": 1, "partitions": {"0": [1, 2, 3, 4, 5, 6, OWN_ID]}}
"""More replicas than there are brokers, which are 1 to 6."""


async def test_a_topic_with_more_replicas_than_brokers_is_refused(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await put_and_settle(world, paths.topic("bar"), WIDE)
    assert "bar" not in world.state.topics
    assert "/brokers/topics/bar is ignored: partition 0 has 7 replicas" in caplog.text
    assert read(world.tree, paths.topic("bar")) == WIDE


async def test_the_name_of_a_refused_topic_is_taken_until_it_is_gone(world: Zookeeper) -> None:
    for bad in (WIDE, {"version": 1}):
        await put_and_settle(world, paths.topic("bar"), bad)
        [refused] = await world.driver.submit(CreateTopics([NewTopic("bar", bytes(16), 1, 1)]))
        assert refused.outcome.error is ErrorCode.TOPIC_ALREADY_EXISTS
        world.tree.write([Delete(paths.topic("bar"))], session=9)
        await settle(200)
        [made] = await world.driver.submit(CreateTopics([NewTopic("bar", bytes(16), 1, 1)]))
        assert made.outcome.ok
        await world.delete("bar")
        await world.until(lambda: "bar" not in world.state.topics)


async def test_a_refused_topic_can_be_deleted(world: Zookeeper) -> None:
    await put(world.tree, paths.config("topics/bar"), {"version": 1, "config": {}})
    await put_and_settle(world, paths.topic("bar"), WIDE)
    await put_and_settle(world, paths.delete_topic("bar"), b"")
    assert not any("bar" in path for path in world.tree.nodes)


async def test_a_refused_topic_is_made_when_there_are_brokers_enough(world: Zookeeper) -> None:
    await world.stop_broker(6)
    rows = {"0": [1, 2, 3, 4, 5, OWN_ID]}
    await put_and_settle(world, paths.topic("bar"), {"version": 1, "partitions": rows})
    assert "bar" not in world.state.topics
    await world.cluster.start_broker(6)
    await settle(200)
    assert world.replicas("bar-0") == (1, 2, 3, 4, 5, 6)


async def test_new_partitions_with_more_replicas_than_brokers_are_refused(world: Zookeeper) -> None:
    rows = {"0": [1, 2, 3], "1": [2, 3, 1], "2": [1, 2, 3, 4, 5, 6, OWN_ID]}
    await put_and_settle(world, paths.topic("foo"), {"version": 1, "partitions": rows})
    assert len(world.state.partitions["foo"]) == 2
    await put_and_settle(world, paths.topic("foo"), {"version": 1, "partitions": rows | {"2": [1, OWN_ID]}})
    assert OWN_ID not in world.replicas("foo-2")


async def test_partitions_added_by_a_tool_are_led(world: Zookeeper) -> None:
    rows = {"0": [1, 2, 3], "1": [2, 3, 1], "2": [6, 5]}
    await put_and_settle(world, paths.topic("foo"), {"version": 1, "partitions": rows})
    assert world["foo-2"].leader == 6
    assert world.leaders("foo-2") == {6}


async def test_partitions_added_while_the_topic_moves_are_led_when_it_does_not(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    rows = {"0": [4, 2, 3, 1], "1": [2, 3, 1], "2": [6, 5]}
    before = {"adding_replicas": {"0": [4]}, "removing_replicas": {"0": [1]}}
    await put_and_settle(world, paths.topic("foo"), {"version": 3, "partitions": rows, **before})
    assert len(world.state.partitions["foo"]) == 2
    await world.until_idle()
    assert (world["foo-2"].leader, world.replicas("foo-0")) == (6, (4, 2, 3))


async def test_partitions_added_behind_a_write_are_found(world: Zookeeper) -> None:
    """A write that does not fit reads the topic anew, before the watch does."""
    rows = {"0": [1, 2, 3], "1": [2, 3, 1], "2": [6, 5]}
    await put(world.tree, paths.topic("foo"), {"version": 3, "partitions": rows})
    world.znodes.cache.observe_topic("foo", decode_topic(world.tree.nodes[paths.topic("foo")].data), 9)
    await settle(200)
    assert world["foo-2"].leader == 6


async def test_a_topic_with_partitions_that_wait_is_deleted(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    rows = {"0": [4, 2, 3, 1], "1": [2, 3, 1], "2": [6, 5]}
    before = {"adding_replicas": {"0": [4]}, "removing_replicas": {"0": [1]}}
    await put_and_settle(world, paths.topic("foo"), {"version": 3, "partitions": rows, **before})
    await world.delete("foo")
    await world.until(lambda: "foo" not in world.state.topics)
    await settle(200)
    assert not any("foo" in path for path in world.tree.nodes)


async def test_a_topic_that_a_tool_wants_deleted_is_deleted(world: Zookeeper) -> None:
    await put_and_settle(world, paths.delete_topic("foo"), b"")
    assert "foo" not in world.state.topics
    assert not any("foo" in path for path in world.tree.nodes)
    assert world.hosts("foo-0") == set()


async def test_an_order_to_delete_what_is_not_there_is_cleared_away(world: Zookeeper) -> None:
    await put_and_settle(world, paths.delete_topic("nothing"), b"")
    assert paths.delete_topic("nothing") not in world.tree.nodes


async def test_an_isr_is_read_when_a_notification_names_it(world: Zookeeper) -> None:
    await put_state(world.tree, "foo", 0, leader=1, isr=[1, 2])
    notice = {"version": 1, "partitions": [{"topic": "foo", "partition": 0}]}
    await put_and_settle(world, f"{paths.ISR_CHANGES}/isr_change_0000000000", notice)
    assert world["foo-0"].isr == (1, 2)
    assert await world.tree.children(paths.ISR_CHANGES) == []


async def test_a_config_that_a_write_of_ours_met_reaches_the_core(world: Zookeeper) -> None:
    await put(world.tree, paths.config("topics/foo"), {"version": 1, "config": {"min.insync.replicas": "2"}})
    change = ConfigChange("retention.ms", ConfigOp.SET, "5")
    await world.driver.submit(AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", [change])]))
    await settle(200)
    assert world.state.configs[ResourceType.TOPIC, "foo"] == {"min.insync.replicas": "2", "retention.ms": "5"}


async def test_configs_are_read_when_a_notification_names_them(world: Zookeeper) -> None:
    limit = "reassignment.max.concurrent.partition.movements"
    await put(world.tree, paths.config("brokers/<default>"), {"version": 1, "config": {limit: "3"}})
    await put_and_settle(
        world, f"{paths.CONFIG_CHANGES}/config_change_0000000007", encode_config_change("brokers/<default>")
    )
    assert world.state.config(ResourceType.BROKER, "", limit) == "3"
    assert world.state.backlog.usage.limits.partitions == 3


async def test_a_notification_is_read_once_though_it_stays(world: Zookeeper) -> None:
    read: list[str] = []
    get_all = world.tree.get_all

    async def noting(asked: Sequence[str]) -> list[Znode | None]:
        read.extend(asked)
        return await get_all(asked)

    world.tree.get_all = noting  # type: ignore[method-assign,assignment]
    notices = [f"{paths.CONFIG_CHANGES}/config_change_000000000{number}" for number in range(3)]
    for path in notices:
        await put_and_settle(world, path, encode_config_change("topics/foo"))
    assert [path for path in read if path in notices] == notices


async def test_a_preferred_election_is_held_and_cleared_away(world: Zookeeper) -> None:
    await world.stop_broker(1)
    await world.cluster.start_broker(1)
    await world.until(lambda: 1 in world["foo-0"].isr)
    assert world["foo-0"].leader != 1
    await put_and_settle(
        world, paths.PREFERRED_ELECTION, {"version": 1, "partitions": [{"topic": "foo", "partition": 0}]}
    )
    assert world["foo-0"].leader == 1
    assert paths.PREFERRED_ELECTION not in world.tree.nodes


async def test_an_election_of_a_leader_that_was_just_expelled_leaves_the_present_one(
    world: Zookeeper,
) -> None:
    await world.stop_broker(1)
    await world.cluster.start_broker(1)
    await world.until(lambda: 1 in world["foo-0"].isr)
    present = world["foo-0"]
    await put_state(
        world.tree, "foo", 0, leader=present.leader, leader_epoch=present.leader_epoch, isr=[present.leader]
    )
    await world.driver.submit(ElectLeaders(ElectionType.PREFERRED, [present.key]))
    await settle(200)
    assert world.failures == []
    assert world["foo-0"].leader == present.leader
    assert world["foo-0"].leader_epoch == present.leader_epoch + 1
    assert world.leaders("foo-0") == {present.leader}


@pytest.mark.parametrize(
    "path",
    [
        f"{paths.ISR_CHANGES}/isr_change_0000000000",
        f"{paths.LOG_DIR_EVENTS}/log_dir_event_0000000000",
        paths.PREFERRED_ELECTION,
    ],
)
async def test_garbage_is_cleared_away_with_a_line_in_the_log(
    world: Zookeeper, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    await put_and_settle(world, path, b"{garbage")
    assert path not in world.tree.nodes
    assert f"{path} is ignored: it is not JSON" in caplog.text


@pytest.mark.parametrize(
    "path", [paths.topic("bar"), paths.broker(7), f"{paths.CONFIG_CHANGES}/config_change_1"]
)
async def test_garbage_that_is_not_ours_to_clear_away_is_left(
    world: Zookeeper, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    await put_and_settle(world, path, b"{garbage")
    await world.alter({"foo-0": [4, 2, 3]})
    await world.until_idle()
    assert world.hosts("foo-0") == {2, 3, 4}
    assert path in world.tree.nodes
    assert "is ignored" in caplog.text


async def test_a_number_that_is_not_written_as_a_broker_s_is_no_broker(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9099)
    path = f"{paths.BROKERS}/001"
    await put_and_settle(world, path, encode_broker(Registration((endpoint,)), 0))
    assert world.state.brokers[1].port == 9092
    assert 1 in world.state.live
    assert f"{path} is ignored: its name is not a broker id" in caplog.text


async def test_a_broker_that_says_something_new_is_reached_there(world: Zookeeper) -> None:
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9097)
    world.network.listening[9097] = world.network.listening.pop(9092)
    await put_and_settle(world, paths.broker(1), encode_broker(Registration((endpoint,)), 0))
    assert world.state.brokers[1].port == 9097
    await world.alter({"foo-0": [1, 2, 4]})
    await world.until_idle()
    assert world.hosts("foo-0") == {1, 2, 4}


async def test_a_lost_log_directory_is_asked_about(world: Zookeeper) -> None:
    path = next(path for path, works in world.cluster.log_dirs(1).items() if works)
    failed = [str(key) for key in world.cluster.brokers[1].fail_log_dir(path)]
    await put_and_settle(
        world, f"{paths.LOG_DIR_EVENTS}/log_dir_event_0000000000", {"version": 1, "broker": 1, "event": 1}
    )
    assert failed
    assert all(1 not in world[name].isr for name in failed)


async def test_a_topic_removed_behind_our_back_ends_the_term(world: Zookeeper) -> None:
    gone = sorted((path for path in world.tree.nodes if path.startswith(paths.topic("foo"))), reverse=True)
    await world.tree.multi([Delete(path) for path in gone])
    await settle(200)
    assert [str(each) for each in world.failures] == [
        "topic foo was removed from ZooKeeper, but not by this controller"
    ]
    world.failures.clear()
