"""Invalid data in each znode: it is logged, counted, and has no other effect."""

import hashlib
from collections.abc import AsyncIterator
from functools import partial

import pytest

from backends.zookeeper.admin.orders import LIMIT_BYTES, Entry, encode_plan
from backends.zookeeper.admin.watcher import DIGESTS, PlanFormat
from backends.zookeeper.session.tree import Create, Delete, ensure
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import encode
from common.clock import settle
from tests.backends.zookeeper.harness import OLD, ZookeeperHarness
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.trees import read_json, write_json

DEEP = b"[" * 100_000
"""JSON that is nested too deeply for the parser."""
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
async def harness() -> AsyncIterator[ZookeeperHarness]:
    tree = MemoryTree()
    await ensure(tree, paths.REASSIGNMENTS)
    harness = await ZookeeperHarness(tree, version=OLD, form=PlanFormat(children=True)).start()
    await harness.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 1]})
    yield harness
    await harness.stop()


async def goes_on(harness: ZookeeperHarness) -> None:
    """Check that a reassignment completes."""
    assert harness.failures == []
    await harness.alter({"foo-1": [4, 3, 1]})
    await harness.until_idle()
    await settle(200)
    assert (harness.hosts("foo-1"), harness.failures) == ({1, 3, 4}, [])


@pytest.mark.parametrize("path", WATCHED)
async def test_invalid_data_in_a_watched_znode_is_logged_and_counted(
    harness: ZookeeperHarness, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number, data in enumerate(GARBAGE):
        caplog.clear()
        await ensure(harness.tree, path.rpartition("/")[0])
        # A notification is read once, and all have different names.
        await write_json(harness.tree, f"{path}{number}" if path == NOTICE else path, data)
        await settle(200)
        assert path in caplog.text
        assert "Traceback" not in caplog.text
    assert harness.rejections.documents == {WATCHED[path]: len(GARBAGE)}
    await goes_on(harness)


@pytest.mark.parametrize("path", [f"{paths.BROKERS}/seven", f"{paths.REASSIGNMENTS}/foo/first"])
async def test_a_name_that_is_no_number_is_ignored(
    harness: ZookeeperHarness, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure(harness.tree, path)
    await settle(200)
    assert f"{path} is ignored" in caplog.text
    await goes_on(harness)


async def test_an_invalid_state_of_a_moving_partition_is_overwritten(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    for data in GARBAGE:
        await write_json(harness.tree, paths.state("foo", 0), data)
        await settle(200)
    await harness.stop_broker(1, controlled=False)
    await harness.cluster.start_broker(1)
    await harness.until_idle()
    assert read_json(harness.tree, paths.state("foo", 0))["isr"] == list(harness["foo-0"].isr)
    assert harness.rejections.documents["partition_state"] == len(GARBAGE)
    await goes_on(harness)


async def test_an_invalid_topic_is_overwritten_by_the_next_step(harness: ZookeeperHarness) -> None:
    await write_json(harness.tree, paths.topic("foo"), b"{garbage")
    await goes_on(harness)
    assert read_json(harness.tree, paths.topic("foo"))["partitions"]["1"] == [4, 3, 1]


async def test_invalid_configs_keep_their_values_until_they_are_set_again(
    harness: ZookeeperHarness,
) -> None:
    limit = "reassignment.max.concurrent.partition.movements"
    await harness.configure(**{limit: "3"})
    await write_json(harness.tree, paths.config("brokers/<default>"), b"{garbage")
    await write_json(harness.tree, NOTICE, {"version": 2, "entity_path": "brokers/<default>"})
    await settle(200)
    assert harness.state.backlog.usage.limits.partitions == 3
    await harness.configure(**{limit: "4"})
    assert read_json(harness.tree, paths.config("brokers/<default>"))["config"] == {limit: "4"}
    assert harness.rejections.documents == {"config": 1}


@pytest.mark.parametrize("entity", ["topics/../..", "topics/a b", "brokers/one", "nothing", "topics/."])
async def test_a_config_change_of_an_unknown_entity_is_ignored(
    harness: ZookeeperHarness, entity: str
) -> None:
    await write_json(harness.tree, NOTICE, {"version": 2, "entity_path": entity})
    await settle(200)
    assert harness.rejections.documents == {"config_change": 1}
    await goes_on(harness)


async def test_an_isr_notification_of_an_unknown_partition_is_deleted(harness: ZookeeperHarness) -> None:
    path = f"{paths.ISR_CHANGES}/isr_change_0000000000"
    rows = [{"topic": "a/../b\0", "partition": 0}, {"topic": "foo", "partition": 99}]
    await write_json(harness.tree, path, {"version": 1, "partitions": rows})
    await settle(200)
    assert path not in harness.tree.nodes
    await goes_on(harness)


async def test_unknown_brokers_and_partitions_in_a_plan_are_counted_row_by_row(
    harness: ZookeeperHarness,
) -> None:
    rows = [
        Entry("foo", 0, (98, 99)),
        Entry("foo", 7, (1,)),
        Entry("gone", 0, (1,)),
        Entry("foo", 1, (4, 3, 1)),
    ]
    await write_json(harness.tree, paths.REASSIGN, encode_plan(rows))
    await settle(200)
    await harness.until_idle()
    await settle(200)
    assert harness.rejections.entries == {"reassign_partitions": 3}
    assert (harness.hosts("foo-1"), read_json(harness.tree, paths.REASSIGN)) == ({1, 3, 4}, None)


async def test_a_corrected_topic_is_loaded_by_a_new_term(harness: ZookeeperHarness) -> None:
    await write_json(harness.tree, paths.topic("new"), b"{garbage")
    await ensure(harness.tree, paths.partition("new", 0))
    state = {"version": 1, "leader": 1, "leader_epoch": 3, "isr": [1], "controller_epoch": 1}
    await write_json(harness.tree, paths.state("new", 0), state)
    await settle(200)
    assert "new" not in harness.state.cluster.topics
    await write_json(harness.tree, paths.topic("new"), {"version": 3, "partitions": {"0": [1]}})
    await settle(200)
    assert [str(each) for each in harness.failures] == [
        "topic new was invalid and is valid now: loading all topics again"
    ]
    harness.failures.clear()


async def test_writes_of_a_controller_that_ignores_the_election_end_the_term(
    harness: ZookeeperHarness,
) -> None:
    holder = harness.tree.nodes[paths.CONTROLLER]
    rogue = Create(paths.CONTROLLER, encode({"version": 1, "brokerid": 3, "timestamp": "1"}), ephemeral=True)
    await harness.tree.connect().multi([Delete(paths.CONTROLLER, holder.version), rogue])
    await settle(200)
    assert [str(each) for each in harness.failures] == ["another controller was elected"]
    harness.failures.clear()


async def test_a_large_plan_and_a_large_queue_are_written_in_one_multi() -> None:
    """Both znodes are written in one multi, which ZooKeeper limits to 1 MB."""
    harness = await ZookeeperHarness().start()
    topic, count = "x" * 200, 2_200
    await harness.having({f"{topic}-{n}": [1, 2] for n in range(count)})
    await harness.configure(**{"reassignment.max.concurrent.partition.movements": "1"})
    for path, to in ((paths.REASSIGN, (3, 2)), (paths.QUEUE, (4, 2))):
        data = encode_plan(Entry(topic, n, to) for n in range(count))
        assert len(data) > LIMIT_BYTES / 2
        await write_json(harness.tree, path, data)
        await harness.until(partial(_ours, harness, path))
    assert harness.failures == []
    await harness.stop()
    assert sum(len(harness.tree.nodes[path].data or b"") for path in (paths.REASSIGN, paths.QUEUE)) < 10**6


def _ours(harness: ZookeeperHarness, path: str) -> bool:
    """Return whether the plan was accepted and rewritten."""
    digest = hashlib.sha256(harness.tree.nodes[path].data or b"").hexdigest()
    return bool(
        (read_json(harness.tree, DIGESTS) or {}).get(path) == digest and harness.tree.nodes[path].version
    )
