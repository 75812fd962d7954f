"""Znodes of tools and brokers become events, and are deleted where Kafka deletes them."""

from collections.abc import AsyncIterator, Sequence

import pytest

from backends.zookeeper.session.tree import Create, Delete, Znode
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
from tests.backends.zookeeper.harness import OLD, OWN_ID, ZookeeperHarness
from tests.backends.zookeeper.trees import read_json, write_json, write_state


@pytest.fixture
async def harness() -> AsyncIterator[ZookeeperHarness]:
    harness = await ZookeeperHarness(version=OLD).start()
    await harness.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 1]})
    yield harness
    await harness.stop()


async def put_and_settle(harness: ZookeeperHarness, path: str, value: object) -> None:
    await write_json(harness.tree, path, value)
    await settle(200)


async def test_a_topic_created_by_a_tool_gets_leaders(harness: ZookeeperHarness) -> None:
    await put_and_settle(harness, paths.topic("bar"), {"version": 1, "partitions": {"0": [3, 4]}})
    assert (harness["bar-0"].leader, harness["bar-0"].isr, harness["bar-0"].partition_epoch) == (3, (3, 4), 0)
    assert harness.leaders("bar-0") == {3}


async def test_new_replicas_on_the_controller_go_to_other_brokers(
    harness: ZookeeperHarness,
) -> None:
    await put_and_settle(harness, paths.topic("bar"), {"version": 1, "partitions": {"0": [OWN_ID]}})
    assert harness["bar-0"].leader in harness.state.cluster.live
    assert read_json(harness.tree, paths.topic("bar"))["partitions"]["0"] == list(harness["bar-0"].replicas)


WIDE = {"version": 1, "partitions": {"0": [1, 2, 3, 4, 5, 6, OWN_ID]}}
"""An assignment with more replicas than the brokers 1 to 6."""


async def test_a_topic_with_more_replicas_than_brokers_is_rejected(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await put_and_settle(harness, paths.topic("bar"), WIDE)
    assert "bar" not in harness.state.cluster.topics
    assert "/brokers/topics/bar is ignored: partition 0 has 7 replicas" in caplog.text
    assert read_json(harness.tree, paths.topic("bar")) == WIDE


async def test_the_name_of_a_rejected_topic_is_in_use_until_it_is_deleted(harness: ZookeeperHarness) -> None:
    for bad in (WIDE, {"version": 1}):
        await put_and_settle(harness, paths.topic("bar"), bad)
        [refused] = await harness.driver.submit(CreateTopics([NewTopic("bar", bytes(16), 1, 1)]))
        assert refused.outcome.error is ErrorCode.TOPIC_ALREADY_EXISTS
        harness.tree.write([Delete(paths.topic("bar"))], session=9)
        await settle(200)
        [made] = await harness.driver.submit(CreateTopics([NewTopic("bar", bytes(16), 1, 1)]))
        assert made.outcome.ok
        await harness.delete("bar")
        await harness.until(lambda: "bar" not in harness.state.cluster.topics)


async def test_a_rejected_topic_can_be_deleted(harness: ZookeeperHarness) -> None:
    await write_json(harness.tree, paths.config("topics/bar"), {"version": 1, "config": {}})
    await put_and_settle(harness, paths.topic("bar"), WIDE)
    await put_and_settle(harness, paths.delete_topic("bar"), b"")
    assert not any("bar" in path for path in harness.tree.nodes)


async def test_a_rejected_topic_is_added_when_there_are_enough_brokers(harness: ZookeeperHarness) -> None:
    await harness.stop_broker(6)
    rows = {"0": [1, 2, 3, 4, 5, OWN_ID]}
    await put_and_settle(harness, paths.topic("bar"), {"version": 1, "partitions": rows})
    assert "bar" not in harness.state.cluster.topics
    await harness.cluster.start_broker(6)
    await settle(200)
    assert harness.replicas("bar-0") == (1, 2, 3, 4, 5, 6)


async def test_new_partitions_with_more_replicas_than_brokers_are_rejected(harness: ZookeeperHarness) -> None:
    rows = {"0": [1, 2, 3], "1": [2, 3, 1], "2": [1, 2, 3, 4, 5, 6, OWN_ID]}
    await put_and_settle(harness, paths.topic("foo"), {"version": 1, "partitions": rows})
    assert len(harness.state.cluster.partitions["foo"]) == 2
    await put_and_settle(harness, paths.topic("foo"), {"version": 1, "partitions": rows | {"2": [1, OWN_ID]}})
    assert OWN_ID not in harness.replicas("foo-2")


async def test_partitions_added_by_a_tool_get_leaders(harness: ZookeeperHarness) -> None:
    rows = {"0": [1, 2, 3], "1": [2, 3, 1], "2": [6, 5]}
    await put_and_settle(harness, paths.topic("foo"), {"version": 1, "partitions": rows})
    assert harness["foo-2"].leader == 6
    assert harness.leaders("foo-2") == {6}


async def test_partitions_added_during_a_reassignment_get_leaders_after_it(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    rows = {"0": [4, 2, 3, 1], "1": [2, 3, 1], "2": [6, 5]}
    before = {"adding_replicas": {"0": [4]}, "removing_replicas": {"0": [1]}}
    await put_and_settle(harness, paths.topic("foo"), {"version": 3, "partitions": rows, **before})
    assert len(harness.state.cluster.partitions["foo"]) == 2
    await harness.until_idle()
    assert (harness["foo-2"].leader, harness.replicas("foo-0")) == (6, (4, 2, 3))


async def test_partitions_added_during_a_write_are_found(harness: ZookeeperHarness) -> None:
    """A conflicting write reads the topic again before the watch does."""
    rows = {"0": [1, 2, 3], "1": [2, 3, 1], "2": [6, 5]}
    await write_json(harness.tree, paths.topic("foo"), {"version": 3, "partitions": rows})
    harness.zk_store.cache.observe_topic("foo", decode_topic(harness.tree.nodes[paths.topic("foo")].data), 9)
    await settle(200)
    assert harness["foo-2"].leader == 6


async def test_a_topic_with_delayed_partitions_is_deleted(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    rows = {"0": [4, 2, 3, 1], "1": [2, 3, 1], "2": [6, 5]}
    before = {"adding_replicas": {"0": [4]}, "removing_replicas": {"0": [1]}}
    await put_and_settle(harness, paths.topic("foo"), {"version": 3, "partitions": rows, **before})
    await harness.delete("foo")
    await harness.until(lambda: "foo" not in harness.state.cluster.topics)
    await settle(200)
    assert not any("foo" in path for path in harness.tree.nodes)


async def test_a_deletion_requested_by_a_tool_is_carried_out(harness: ZookeeperHarness) -> None:
    await put_and_settle(harness, paths.delete_topic("foo"), b"")
    assert "foo" not in harness.state.cluster.topics
    assert not any("foo" in path for path in harness.tree.nodes)
    assert harness.hosts("foo-0") == set()


async def test_a_request_to_delete_an_unknown_topic_is_deleted(harness: ZookeeperHarness) -> None:
    await put_and_settle(harness, paths.delete_topic("nothing"), b"")
    assert paths.delete_topic("nothing") not in harness.tree.nodes


async def test_an_isr_is_read_when_a_notification_names_it(harness: ZookeeperHarness) -> None:
    await write_state(harness.tree, "foo", 0, leader=1, isr=[1, 2])
    notice = {"version": 1, "partitions": [{"topic": "foo", "partition": 0}]}
    await put_and_settle(harness, f"{paths.ISR_CHANGES}/isr_change_0000000000", notice)
    assert harness["foo-0"].isr == (1, 2)
    assert await harness.tree.children(paths.ISR_CHANGES) == []


async def test_a_merged_config_reaches_the_controller(harness: ZookeeperHarness) -> None:
    await write_json(
        harness.tree, paths.config("topics/foo"), {"version": 1, "config": {"min.insync.replicas": "2"}}
    )
    change = ConfigChange("retention.ms", ConfigOp.SET, "5")
    await harness.driver.submit(AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", [change])]))
    await settle(200)
    assert harness.state.settings.configs[ResourceType.TOPIC, "foo"] == {
        "min.insync.replicas": "2",
        "retention.ms": "5",
    }


async def test_configs_are_read_when_a_notification_names_them(harness: ZookeeperHarness) -> None:
    limit = "reassignment.max.concurrent.partition.movements"
    await write_json(harness.tree, paths.config("brokers/<default>"), {"version": 1, "config": {limit: "3"}})
    await put_and_settle(
        harness, f"{paths.CONFIG_CHANGES}/config_change_0000000007", encode_config_change("brokers/<default>")
    )
    assert harness.state.settings.config(ResourceType.BROKER, "", limit) == "3"
    assert harness.state.backlog.usage.limits.partitions == 3


async def test_an_existing_notification_is_read_once(harness: ZookeeperHarness) -> None:
    read: list[str] = []
    get_all = harness.tree.get_all

    async def noting(asked: Sequence[str]) -> list[Znode | None]:
        read.extend(asked)
        return await get_all(asked)

    harness.tree.get_all = noting  # type: ignore[method-assign,assignment]
    notices = [f"{paths.CONFIG_CHANGES}/config_change_000000000{number}" for number in range(3)]
    for path in notices:
        await put_and_settle(harness, path, encode_config_change("topics/foo"))
    assert [path for path in read if path in notices] == notices


async def test_a_preferred_election_is_held_and_its_znode_deleted(harness: ZookeeperHarness) -> None:
    await harness.stop_broker(1)
    await harness.cluster.start_broker(1)
    await harness.until(lambda: 1 in harness["foo-0"].isr)
    assert harness["foo-0"].leader != 1
    await put_and_settle(
        harness, paths.PREFERRED_ELECTION, {"version": 1, "partitions": [{"topic": "foo", "partition": 0}]}
    )
    assert harness["foo-0"].leader == 1
    assert paths.PREFERRED_ELECTION not in harness.tree.nodes


async def test_an_election_of_a_replica_that_left_the_isr_keeps_the_leader(
    harness: ZookeeperHarness,
) -> None:
    await harness.stop_broker(1)
    await harness.cluster.start_broker(1)
    await harness.until(lambda: 1 in harness["foo-0"].isr)
    present = harness["foo-0"]
    await write_state(
        harness.tree, "foo", 0, leader=present.leader, leader_epoch=present.leader_epoch, isr=[present.leader]
    )
    await harness.driver.submit(ElectLeaders(ElectionType.PREFERRED, [present.key]))
    await settle(200)
    assert harness.failures == []
    assert harness["foo-0"].leader == present.leader
    assert harness["foo-0"].leader_epoch == present.leader_epoch + 1
    assert harness.leaders("foo-0") == {present.leader}


@pytest.mark.parametrize(
    "path",
    [
        f"{paths.ISR_CHANGES}/isr_change_0000000000",
        f"{paths.LOG_DIR_EVENTS}/log_dir_event_0000000000",
        paths.PREFERRED_ELECTION,
    ],
)
async def test_an_invalid_notification_is_logged_and_deleted(
    harness: ZookeeperHarness, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    await put_and_settle(harness, path, b"{garbage")
    assert path not in harness.tree.nodes
    assert f"{path} is ignored: it is not JSON" in caplog.text


@pytest.mark.parametrize(
    "path", [paths.topic("bar"), paths.broker(7), f"{paths.CONFIG_CHANGES}/config_change_1"]
)
async def test_an_invalid_znode_of_others_is_logged_and_kept(
    harness: ZookeeperHarness, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    await put_and_settle(harness, path, b"{garbage")
    await harness.alter({"foo-0": [4, 2, 3]})
    await harness.until_idle()
    assert harness.hosts("foo-0") == {2, 3, 4}
    assert path in harness.tree.nodes
    assert "is ignored" in caplog.text


async def test_a_name_with_leading_zeros_is_no_broker(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9099)
    path = f"{paths.BROKERS}/001"
    await put_and_settle(harness, path, encode_broker(Registration((endpoint,)), 0))
    assert harness.state.cluster.brokers[1].port == 9092
    assert 1 in harness.state.cluster.live
    assert f"{path} is ignored: its name is not a broker id" in caplog.text


async def test_a_changed_registration_changes_the_address(harness: ZookeeperHarness) -> None:
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9097)
    harness.network.listening[9097] = harness.network.listening.pop(9092)
    await put_and_settle(harness, paths.broker(1), encode_broker(Registration((endpoint,)), 0))
    assert harness.state.cluster.brokers[1].port == 9097
    await harness.alter({"foo-0": [1, 2, 4]})
    await harness.until_idle()
    assert harness.hosts("foo-0") == {1, 2, 4}


async def test_a_broker_without_a_session_gets_no_new_partitions_until_it_registers_again(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    path = paths.broker(3)
    registration = harness.tree.nodes[path].data
    harness.tree.write([Delete(path)], session=9)
    await settle(200)
    assert 3 not in await brokers_of_new_topic(harness, "early")
    assert "broker 3 is not registered any more: it gets no new partitions" in caplog.text
    await harness.tree.multi([Create(path, registration, ephemeral=True)])
    await settle(200)
    assert 3 in await brokers_of_new_topic(harness, "late")


async def brokers_of_new_topic(harness: ZookeeperHarness, name: str) -> set[int]:
    await harness.driver.submit(CreateTopics([NewTopic(name, name.encode().ljust(16), 12, 2)]))
    return {broker for partition in harness.state.cluster.partitions[name] for broker in partition.replicas}


async def test_a_log_dir_event_sends_leader_and_isr(harness: ZookeeperHarness) -> None:
    path = next(path for path, works in harness.cluster.log_dirs(1).items() if works)
    failed = [str(key) for key in harness.cluster.brokers[1].fail_log_dir(path)]
    await put_and_settle(
        harness, f"{paths.LOG_DIR_EVENTS}/log_dir_event_0000000000", {"version": 1, "broker": 1, "event": 1}
    )
    assert failed
    assert all(1 not in harness[name].isr for name in failed)


async def test_a_topic_deleted_by_others_ends_the_term(harness: ZookeeperHarness) -> None:
    gone = sorted((path for path in harness.tree.nodes if path.startswith(paths.topic("foo"))), reverse=True)
    await harness.tree.multi([Delete(path) for path in gone])
    await settle(200)
    assert [str(each) for each in harness.failures] == [
        "topic foo was removed from ZooKeeper, but not by this controller"
    ]
    harness.failures.clear()
