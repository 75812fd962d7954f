"""Commits on a memory tree: writes, conflicts, and crashes."""

from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import ZookeeperError
from backends.zookeeper.store import multis
from backends.zookeeper.store.loading import load
from backends.zookeeper.store.records import REDO
from backends.zookeeper.store.store import DeposedError, ZkStore
from backends.zookeeper.store.znode_cache import StaleError
from backends.zookeeper.znodes import paths
from controller.model.cluster import (
    NO_ID,
    Change,
    Config,
    Deleted,
    Job,
    JobKind,
    Partition,
    Reassignment,
    ResourceType,
    Topic,
    TopicPartition,
)
from tests.backends.zookeeper import memory_tree
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.trees import elect, open_store, read_json, tree_with, write_json, write_state

FOO = Partition("foo", 0, (1, 2), (1, 2), 1, 0, 0)
NEXT = FOO._replace(leader=2, leader_epoch=1, partition_epoch=1)


@pytest.fixture
async def tree() -> MemoryTree:
    return await tree_with(foo=[[1, 2], [2, 3]])


@pytest.fixture
async def written(tree: MemoryTree) -> AsyncIterator[ZkStore]:
    opened = await open_store(tree)
    yield opened
    await opened.close()


def jobs(count: int) -> list[Change]:
    return [Job(number, JobKind.PLAN, 0, "x" * 50, None) for number in range(count)]


async def test_a_new_leader_is_written_to_the_state_only(tree: MemoryTree, written: ZkStore) -> None:
    await written.commit([NEXT])
    assert read_json(tree, paths.state("foo", 0)) == {
        "controller_epoch": 1, "leader": 2, "version": 1, "leader_epoch": 1, "isr": [1, 2],
    }  # fmt: skip
    assert tree.nodes[paths.topic("foo")].version == 0
    assert written.stored(NEXT) == NEXT


@pytest.mark.parametrize(("with_ids", "topic_id"), [(True, "BQUFBQUFBQUFBQUFBQUFBQ"), (False, None)])
async def test_a_topic_gets_its_id_when_brokers_support_ids(
    tree: MemoryTree, with_ids: bool, topic_id: str | None
) -> None:
    loaded = await load(tree)
    written = ZkStore(tree, await elect(tree), loaded, with_topic_ids=with_ids)
    await written.commit(loaded.assign_topic_ids(lambda: b"\5" * 16))
    stored = read_json(tree, paths.topic("foo"))
    assert (stored.get("topic_id"), stored["partitions"]) == (topic_id, {"0": [1, 2], "1": [2, 3]})
    assert (await load(tree)).assign_topic_ids(lambda: NO_ID) == ([] if with_ids else [Topic("foo", NO_ID)])
    await written.close()


async def test_many_large_topics_get_their_ids_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multis, "MULTI_BYTES", 20_000)
    monkeypatch.setattr(memory_tree, "LIMIT_BYTES", 40_000)
    tree = await tree_with()
    rows = {str(number): [1001, 1002, 1003] for number in range(100)}
    for number in range(30):
        await write_json(tree, paths.topic(f"t{number}"), {"version": 3, "partitions": rows})
    loaded = await load(tree)
    written = ZkStore(tree, await elect(tree), loaded, with_topic_ids=True)
    await written.commit(loaded.assign_topic_ids(lambda: b"\5" * 16))
    assert (await load(tree)).assign_topic_ids(lambda: NO_ID) == []
    await written.close()


async def test_a_step_is_written_to_topic_and_state_in_one_multi(tree: MemoryTree, written: ZkStore) -> None:
    before = len(tree.log)
    step = FOO._replace(replicas=(3, 1, 2), adding=(3,), removing=(1,), leader_epoch=1, partition_epoch=1)
    await written.commit([step, Reassignment("foo", 0, (1, 2), (3, 2), 1)])
    assert len(tree.log) == before + 1
    topic = read_json(tree, paths.topic("foo"))
    assert (topic["partitions"], topic["adding_replicas"]) == ({"0": [3, 1, 2], "1": [2, 3]}, {"0": [3]})
    assert read_json(tree, "/reassignd/reassignments/0000000000")["records"] == [
        ["foo", 0, [1, 2], [3, 2], 1, "", ""]
    ]


async def test_two_decisions_in_one_multi_increment_the_version_twice(
    tree: MemoryTree, written: ZkStore
) -> None:
    again = NEXT._replace(leader=1, leader_epoch=2, partition_epoch=2)
    first, second = written.commit([NEXT]), written.commit([again])
    await first
    await second
    assert tree.nodes[paths.state("foo", 0)].version == 2
    assert written.stored(again) == again


async def test_an_isr_that_a_leader_has_stored_is_merged_and_reported(
    tree: MemoryTree, written: ZkStore
) -> None:
    merged: list[Partition] = []
    written.on_merged = merged.extend
    await write_state(tree, "foo", 0, leader=1, isr=[2])
    await written.commit([NEXT])
    stored = NEXT._replace(isr=(2,), partition_epoch=2)
    assert merged == [stored]
    assert read_json(tree, paths.state("foo", 0))["isr"] == [2]
    assert written.stored(NEXT) == stored


async def test_a_leader_that_left_the_isr_is_not_elected_and_reported(
    tree: MemoryTree, written: ZkStore
) -> None:
    merged: list[Partition] = []
    written.on_merged = merged.extend
    await write_state(tree, "foo", 0, leader=1, isr=[1])
    await written.commit([NEXT])
    kept = NEXT._replace(leader=1, isr=(1,), partition_epoch=2)
    assert merged == [kept]
    assert written.stored(NEXT) == kept
    state = read_json(tree, paths.state("foo", 0))
    assert (state["leader"], state["isr"], state["leader_epoch"]) == (1, [1], 1)


async def test_electing_a_leader_out_of_the_isr_ends_the_term(tree: MemoryTree, written: ZkStore) -> None:
    await write_state(tree, "foo", 0, leader=1, isr=[1])
    dead = NEXT._replace(isr=(2,))
    with pytest.raises(StaleError):
        await written.commit([dead])
    with pytest.raises(StaleError):
        await written.commit([])


async def test_a_deposed_controller_writes_nothing(tree: MemoryTree, written: ZkStore) -> None:
    await elect(tree)
    before = dict(tree.nodes)
    for changes in ([NEXT], jobs(1)):
        with pytest.raises(DeposedError):
            await written.commit(changes)
    assert tree.nodes == before


async def test_without_a_connection_commits_fail(tree: MemoryTree, written: ZkStore) -> None:
    tree.lost = True
    with pytest.raises(ZookeeperError):
        await written.commit([NEXT])


async def test_partitions_that_others_have_added_are_kept(tree: MemoryTree, written: ZkStore) -> None:
    await write_json(
        tree, paths.topic("foo"), {"version": 3, "partitions": {"0": [1, 2], "1": [2, 3], "2": [3, 1]}}
    )
    await written.commit([FOO._replace(replicas=(2, 1))])
    assert read_json(tree, paths.topic("foo"))["partitions"] == {"0": [2, 1], "1": [2, 3], "2": [3, 1]}


async def test_a_topic_is_created_enlarged_and_deleted_with_all_its_znodes(
    tree: MemoryTree, written: ZkStore
) -> None:
    before = set(tree.nodes)
    bar = [Partition("bar", number, (1,), (1,), 1) for number in range(3)]
    await written.commit(
        [Topic("bar", NO_ID), Config(ResourceType.TOPIC, "bar", "retention.ms", "5"), *bar[:2]]
    )
    await written.commit([bar[2]])
    assert read_json(tree, paths.topic("bar"))["partitions"] == {"0": [1], "1": [1], "2": [1]}
    assert read_json(tree, paths.config("topics/bar"))["config"] == {"retention.ms": "5"}
    gone = [Deleted(Partition, each.key) for each in reversed(bar)]
    await written.commit([Topic("bar", NO_ID, deleting=True)])
    assert paths.delete_topic("bar") in tree.nodes
    config = Deleted(Config, (ResourceType.TOPIC, "bar", "retention.ms"))
    await written.commit([*gone, config, Deleted(Topic, "bar")])
    assert {path for path in tree.nodes if "config_change_" not in path} == before
    assert "bar" not in written.cache.topics


async def test_configs_are_merged_with_changes_of_others(tree: MemoryTree, written: ZkStore) -> None:
    await write_json(
        tree, paths.config("brokers/<default>"), {"version": 1, "config": {"log.cleaner.threads": "2"}}
    )
    await written.commit([Config(ResourceType.BROKER, "", "num.partitions", "3")])
    values = {"log.cleaner.threads": "2", "num.partitions": "3"}
    assert read_json(tree, paths.config("brokers/<default>"))["config"] == values
    assert read_json(tree, "/config/changes/config_change_0000000000")["entity_path"] == "brokers/<default>"
    assert await written.read_config("brokers/<default>") == values
    assert await written.read_config("brokers/<default>") is None


async def test_merged_configs_are_returned_after_our_next_write(tree: MemoryTree, written: ZkStore) -> None:
    await write_json(tree, paths.config("topics/foo"), {"version": 1, "config": {"retention.ms": "5"}})
    ours = written.commit([Config(ResourceType.TOPIC, "foo", "min.insync.replicas", "2")])
    told = [await written.read_config("topics/foo")]
    await ours
    told.append(await written.read_config("topics/foo"))
    assert told[-1] == {"retention.ms": "5", "min.insync.replicas": "2"}


async def test_configs_that_only_we_changed_are_not_returned(tree: MemoryTree, written: ZkStore) -> None:
    await written.commit([Config(ResourceType.BROKER, "", "num.partitions", "3")])
    assert await written.read_config("brokers/<default>") is None


async def test_configs_that_others_changed_are_returned_once(tree: MemoryTree, written: ZkStore) -> None:
    await write_json(tree, paths.config("topics/foo"), {"version": 1, "config": {"retention.ms": "5"}})
    assert await written.read_config("topics/foo") == {"retention.ms": "5"}
    assert await written.read_config("topics/foo") is None


async def test_a_large_commit_is_atomic(
    tree: MemoryTree, written: ZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multis, "MULTI_BYTES", 20_000)
    first = len(tree.log)
    await written.commit(jobs(2_000))
    for count in range(first, len(tree.log) + 1):
        left = tree.survived(count)
        there = len(list((await load(left)).chunks.records()))
        complete = any("complete" in path for nodes in tree.log[:count] for path in nodes)
        assert there == (2_000 if complete else 0)
        assert await left.children(REDO) == []


async def test_an_external_reassignment_can_be_deleted(tree: MemoryTree, written: ZkStore) -> None:
    before = dict(tree.nodes)
    await written.commit([Deleted(Reassignment, TopicPartition("foo", 0))])
    assert tree.nodes == before
