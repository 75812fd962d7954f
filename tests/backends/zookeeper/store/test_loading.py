"""Loading of znodes that reassignd or a Kafka controller has written."""

import pytest

from backends.zookeeper.store.loading import load
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from controller.model.cluster import (
    Config,
    ControllerEpoch,
    Partition,
    Reassignment,
    Record,
    ResourceType,
    Topic,
)
from controller.modes import EMBEDDED
from controller.state.state import State
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.trees import open_store, read_json, tree_with, write_json


async def records(tree: MemoryTree, kind: type[Record]) -> list[Record]:
    return [each for each in (await load(tree)).records(5) if type(each) is kind]


async def test_topics_are_loaded_with_leaders_and_isrs() -> None:
    tree = await tree_with(foo=[[1, 2], [2]])
    assert await records(tree, Topic) == [Topic("foo", bytes(16))]
    assert await records(tree, Partition) == [
        Partition("foo", 0, (1, 2), (1, 2), 1),
        Partition("foo", 1, (2,), (2,), 2),
    ]
    assert await records(tree, ControllerEpoch) == [ControllerEpoch(4)]


async def test_a_topic_to_be_deleted_is_marked() -> None:
    tree = await tree_with(foo=[[1]])
    await write_json(tree, paths.delete_topic("foo"), b"")
    await write_json(tree, paths.delete_topic("gone"), b"")
    assert await records(tree, Topic) == [Topic("foo", bytes(16), deleting=True)]


async def test_reassignments_of_another_controller_are_loaded() -> None:
    tree = await tree_with(foo=[[3, 1, 2]])
    topic = {"partitions": {"0": [3, 1, 2]}, "adding_replicas": {"0": [3]}, "removing_replicas": {"0": [1]}}
    await write_json(tree, paths.topic("foo"), topic)
    assert await records(tree, Reassignment) == [Reassignment("foo", 0, (1, 2), (3, 2))]


async def test_a_target_in_the_state_is_a_step_in_flight() -> None:
    tree = await tree_with(foo=[[1, 2]])
    state = {**read_json(tree, paths.state("foo", 0)), "targetReplicas": [2, 3]}
    await write_json(tree, paths.state("foo", 0), state)
    [partition] = (await load(tree)).cache.topics["foo"].partitions
    assert (partition.replicas, partition.adding, partition.removing) == ((2, 3, 1), (3,), (1,))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (paths.topic("bad"), b"{"),
        (paths.topic("bad"), {"partitions": {"0": [], "1": [2]}}),
        (paths.topic("bad"), {"partitions": {"1": [2]}}),
        (paths.state("bad", 0), b"nonsense"),
        (paths.state("bad", 0), {"leader": "1"}),
    ],
)
async def test_an_invalid_topic_is_left_out(
    path: str, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    tree = await tree_with(foo=[[1]], bad=[[1], [2]])
    await write_json(tree, path, value)
    assert await records(tree, Topic) == [Topic("foo", bytes(16))]
    assert "/brokers/topics/bad is left out" in caplog.text


async def test_invalid_configs_are_ignored() -> None:
    tree = await tree_with(foo=[[1]])
    values = {"reassignment.max.concurrent.partition.movements": "many", "num.partitions": "2"}
    await write_json(tree, paths.config("brokers/<default>"), {"version": 1, "config": values})
    await write_json(tree, paths.config("topics/foo"), b"{")
    assert await records(tree, Config) == [Config(ResourceType.BROKER, "", "num.partitions", "2")]


async def test_an_invalid_chunk_is_not_ignored() -> None:
    tree = await tree_with()
    await write_json(tree, "/reassignd/jobs/0000000000", b"{")
    with pytest.raises(ZnodeError, match="/reassignd/jobs/0000000000: it is not JSON; restore the znode"):
        await load(tree)


async def test_reassignments_of_a_deleted_topic_are_loaded() -> None:
    tree = await tree_with(foo=[[1]])
    written = await open_store(tree)
    await written.commit([Reassignment("foo", 0, (1,), (2,), 1), Reassignment("gone", 0, (1,), (2,), 1)])
    state = State(mode=EMBEDDED)
    state.apply((await load(tree)).records(1))
    assert state.orders.open == {1: 2}
    await written.close()


async def test_topics_without_states_have_no_leader() -> None:
    tree = await tree_with()
    await write_json(tree, paths.topic("foo"), {"partitions": {"0": [1, 2]}})
    [partition] = (await load(tree)).cache.topics["foo"].partitions
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (-1, -1, -1)
