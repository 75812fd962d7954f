"""Garbage in any znode: a line that names it, a count, and everything else goes on."""

import hashlib
from collections.abc import AsyncIterator
from functools import partial

import pytest

from backends.zookeeper.admin.plans import LIMIT_BYTES, Entry, encode_plan
from backends.zookeeper.admin.watcher import DIGESTS, PlanFormat
from backends.zookeeper.session.tree import Create, Delete, ensure
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import encode
from common.clock import settle
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.trees import put, read
from tests.backends.zookeeper.world import OLD, Zookeeper

DEEP = b"[" * 100_000
"""Too deep for the parser."""
LARGE = b'{"version":1,"partitions":[' + b" " * 1_000_000
LONG_NUMBER = b'{"version":1,"partitions":[{"topic":"foo","partition":' + b"9" * 5_000 + b"}]}"
GARBAGE = [b"", b"\xff\xfe", b"{", b"[1.5]", b"null", b'"text"', DEEP, LARGE, LONG_NUMBER]

CONFIG = paths.config("topics/foo")
NOTICE = f"{paths.CONFIG_CHANGES}/config_change_0000000009"

WATCHED = {
    paths.REASSIGN: "reassign_partitions",
    paths.QUEUE: "reassign_partitions_queue",
    f"{paths.REASSIGNMENTS}/foo/0": "reassignments",
    paths.PREFERRED_ELECTION: "preferred_replica_election",
    paths.topic("foo"): "topic",
    paths.topic("new"): "topic",
    paths.broker(7): "broker",
    NOTICE: "config_change",
    f"{paths.ISR_CHANGES}/isr_change_0000000000": "isr_change_notification",
    f"{paths.LOG_DIR_EVENTS}/log_dir_event_0000000000": "log_dir_event_notification",
}


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    tree = MemoryTree()
    await ensure(tree, paths.REASSIGNMENTS)
    world = await Zookeeper(tree, version=OLD, form=PlanFormat(children=True)).start()
    await world.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 1]})
    yield world
    await world.stop()


async def goes_on(world: Zookeeper) -> None:
    """A partition still moves."""
    assert world.failures == []
    await world.alter({"foo-1": [4, 3, 1]})
    await world.until_idle()
    await settle(200)
    assert (world.hosts("foo-1"), world.failures) == ({1, 3, 4}, [])


@pytest.mark.parametrize("path", WATCHED)
async def test_garbage_in_a_watched_znode_is_told_counted_and_harmless(
    world: Zookeeper, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number, data in enumerate(GARBAGE):
        caplog.clear()
        await ensure(world.tree, path.rpartition("/")[0])
        # What a notification says is read once, and no two have the same name.
        await put(world.tree, f"{path}{number}" if path == NOTICE else path, data)
        await settle(200)
        assert path in caplog.text
        assert "Traceback" not in caplog.text
    assert world.rejections.documents == {WATCHED[path]: len(GARBAGE)}
    await goes_on(world)


@pytest.mark.parametrize("path", [f"{paths.BROKERS}/seven", f"{paths.REASSIGNMENTS}/foo/first"])
async def test_a_name_that_is_no_number_is_passed_over(
    world: Zookeeper, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure(world.tree, path)
    await settle(200)
    assert f"{path} is ignored" in caplog.text
    await goes_on(world)


async def test_a_state_of_a_moving_partition_that_makes_no_sense_is_written_over(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    for data in GARBAGE:
        await put(world.tree, paths.state("foo", 0), data)
        await settle(200)
    await world.stop_broker(1, controlled=False)
    await world.cluster.start_broker(1)
    await world.until_idle()
    assert read(world.tree, paths.state("foo", 0))["isr"] == list(world["foo-0"].isr)
    assert world.rejections.documents["partition_state"] == len(GARBAGE)
    await goes_on(world)


async def test_a_topic_that_makes_no_sense_is_written_over_by_the_next_step(world: Zookeeper) -> None:
    await put(world.tree, paths.topic("foo"), b"{garbage")
    await goes_on(world)
    assert read(world.tree, paths.topic("foo"))["partitions"]["1"] == [4, 3, 1]


async def test_configs_that_make_no_sense_keep_their_values_until_they_are_set_again(
    world: Zookeeper,
) -> None:
    limit = "reassignment.max.concurrent.partition.movements"
    await world.configure(**{limit: "3"})
    await put(world.tree, paths.config("brokers/<default>"), b"{garbage")
    await put(world.tree, NOTICE, {"version": 2, "entity_path": "brokers/<default>"})
    await settle(200)
    assert world.state.backlog.usage.limits.partitions == 3
    await world.configure(**{limit: "4"})
    assert read(world.tree, paths.config("brokers/<default>"))["config"] == {limit: "4"}
    assert world.rejections.documents == {"config": 1}


@pytest.mark.parametrize("entity", ["topics/../..", "topics/a b", "brokers/one", "nothing", "topics/."])
async def test_a_change_of_what_has_no_configs_is_passed_over(world: Zookeeper, entity: str) -> None:
    await put(world.tree, NOTICE, {"version": 2, "entity_path": entity})
    await settle(200)
    assert world.rejections.documents == {"config_change": 1}
    await goes_on(world)


async def test_an_isr_notice_of_a_partition_that_is_not_there_is_cleared_away(world: Zookeeper) -> None:
    path = f"{paths.ISR_CHANGES}/isr_change_0000000000"
    rows = [{"topic": "a/../b\0", "partition": 0}, {"topic": "foo", "partition": 99}]
    await put(world.tree, path, {"version": 1, "partitions": rows})
    await settle(200)
    assert path not in world.tree.nodes
    await goes_on(world)


async def test_unknown_brokers_and_partitions_in_a_plan_are_counted_row_by_row(world: Zookeeper) -> None:
    rows = [
        Entry("foo", 0, (98, 99)),
        Entry("foo", 7, (1,)),
        Entry("gone", 0, (1,)),
        Entry("foo", 1, (4, 3, 1)),
    ]
    await put(world.tree, paths.REASSIGN, encode_plan(rows))
    await settle(200)
    await world.until_idle()
    await settle(200)
    assert world.rejections.entries == {"reassign_partitions": 3}
    assert (world.hosts("foo-1"), read(world.tree, paths.REASSIGN)) == ({1, 3, 4}, None)


async def test_a_topic_that_is_mended_is_taken_in_by_a_new_term(world: Zookeeper) -> None:
    await put(world.tree, paths.topic("new"), b"{garbage")
    await ensure(world.tree, paths.partition("new", 0))
    state = {"version": 1, "leader": 1, "leader_epoch": 3, "isr": [1], "controller_epoch": 1}
    await put(world.tree, paths.state("new", 0), state)
    await settle(200)
    assert "new" not in world.state.topics
    await put(world.tree, paths.topic("new"), {"version": 3, "partitions": {"0": [1]}})
    await settle(200)
    assert [str(each) for each in world.failures] == [
        "topic new was invalid and is valid now: loading all topics again"
    ]
    world.failures.clear()


async def test_a_second_controller_that_ignores_the_election_ends_the_term(world: Zookeeper) -> None:
    holder = world.tree.nodes[paths.CONTROLLER]
    rogue = Create(paths.CONTROLLER, encode({"version": 1, "brokerid": 3, "timestamp": "1"}), ephemeral=True)
    await world.tree.connect().multi([Delete(paths.CONTROLLER, holder.version), rogue])
    await settle(200)
    assert [str(each) for each in world.failures] == ["another controller was elected"]
    world.failures.clear()


async def test_a_large_plan_and_a_large_queue_are_written_in_one_go() -> None:
    """ZooKeeper takes a megabyte in one transaction, and both are in one."""
    world = await Zookeeper().start()
    topic, count = "x" * 200, 2_200
    await world.having({f"{topic}-{n}": [1, 2] for n in range(count)})
    await world.configure(**{"reassignment.max.concurrent.partition.movements": "1"})
    for path, to in ((paths.REASSIGN, (3, 2)), (paths.QUEUE, (4, 2))):
        data = encode_plan(Entry(topic, n, to) for n in range(count))
        assert len(data) > LIMIT_BYTES / 2
        await put(world.tree, path, data)
        await world.until(partial(_ours, world, path))
    assert world.failures == []
    await world.stop()
    assert sum(len(world.tree.nodes[path].data or b"") for path in (paths.REASSIGN, paths.QUEUE)) < 10**6


def _ours(world: Zookeeper, path: str) -> bool:
    """The document was taken, and written by us."""
    digest = hashlib.sha256(world.tree.nodes[path].data or b"").hexdigest()
    return bool((read(world.tree, DIGESTS) or {}).get(path) == digest and world.tree.nodes[path].version)
