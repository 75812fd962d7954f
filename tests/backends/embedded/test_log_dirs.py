import pytest

from backends.embedded.log_dirs import SERVED, VOLUME_BYTES, LogDirs
from backends.embedded.replication import Log
from controller.model.cluster import TopicPartition
from protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.backends.embedded.brokers import FAILED, NOT_LEADER, SIZE, UNKNOWN, BrokerRig
from tests.builders import key, partition

FOO = key("foo-0")


@pytest.fixture
def dirs() -> LogDirs:
    return LogDirs(["a", "b"])


def size(_: TopicPartition, log: Log) -> float:
    return 1_000.0 if log.position is None else log.position


def test_replicas_spread_over_the_directories(dirs: LogDirs) -> None:
    for index in range(4):
        dirs.create(key(f"foo-{index}"), new=True)
    assert [len(logs) for logs in dirs.placed.values()] == [2, 2]


def test_a_new_replica_is_created_in_the_wanted_directory(dirs: LogDirs) -> None:
    assert not dirs.want(FOO, "b")
    dirs.create(FOO, new=True)
    assert dirs.find(FOO) == "b"


def test_a_move_runs_at_disk_speed(dirs: LogDirs) -> None:
    dirs.create(FOO, new=True)
    assert dirs.want(FOO, "b")
    dirs.tick(600.0, size)
    assert [(found, future.path, future.log.position) for found, future in dirs.futures()] == [
        (FOO, "b", 600.0)
    ]
    assert dirs.find(FOO) == "a"
    dirs.tick(600.0, size)
    assert dirs.find(FOO) == "b"
    assert list(dirs.futures()) == []


def test_a_move_to_the_current_directory_cancels_the_move(dirs: LogDirs) -> None:
    dirs.create(FOO, new=True)
    dirs.want(FOO, "b")
    assert dirs.want(FOO, "a")
    assert list(dirs.futures()) == []


def test_a_move_that_is_requested_again_continues_and_one_to_a_third_directory_begins_anew() -> None:
    dirs = LogDirs(["a", "b", "c"])
    dirs.create(FOO, new=True)
    for wanted, position in (("b", 300.0), ("b", 600.0), ("c", 300.0)):
        dirs.want(FOO, wanted)
        dirs.tick(300.0, size)
        assert [(future.path, future.log.position) for _, future in dirs.futures()] == [(wanted, position)]


def test_a_tick_copies_a_bounded_number_of_logs(dirs: LogDirs) -> None:
    for index in range(SERVED + 1):
        found = key(f"foo-{index}")
        dirs.create(found, new=True)
        dirs.want(found, "b" if dirs.find(found) == "a" else "a")
    dirs.tick(1.0, size)
    assert sum(future.log.position != 0.0 for _, future in dirs.futures()) == SERVED


def test_a_failed_disk_loses_its_replicas_and_the_moves_to_it(dirs: LogDirs) -> None:
    for name in ("foo-0", "foo-1"):
        dirs.create(key(name), new=True)
    dirs.want(FOO, "b")
    assert dirs.fail("b") == [key("foo-1")]
    assert dirs.log(key("foo-1")) is None
    assert dirs.log(FOO) is not None
    assert list(dirs.futures()) == []


def test_a_move_from_a_failed_disk_ends(dirs: LogDirs) -> None:
    dirs.create(FOO, new=True)
    dirs.want(FOO, "b")
    dirs.fail("a")
    dirs.tick(9_999.0, size)
    assert dirs.find(FOO) == "a"


def test_with_a_failed_disk_only_a_new_replica_is_created(dirs: LogDirs) -> None:
    dirs.fail("a")
    assert dirs.create(FOO, new=False) is None
    assert dirs.create(FOO, new=True) is not None
    assert dirs.find(FOO) == "b"


def test_without_a_working_disk_no_replica_is_created(dirs: LogDirs) -> None:
    dirs.fail("a")
    dirs.fail("b")
    assert dirs.create(FOO, new=True) is None


def test_replaced_disks_are_empty(dirs: LogDirs) -> None:
    dirs.create(FOO, new=True)
    dirs.fail("a")
    dirs.replace_failed()
    assert dirs.find(FOO) is None
    assert dirs.create(FOO, new=False) is not None


NOT_HERE, NO_DIR = 9, 57


@pytest.fixture
def rig() -> BrokerRig:
    """It leads foo-0 in directory a, and follows foo-1 in b, of which it has nothing yet."""
    rig = BrokerRig()
    rig.leader_and_isr(partition("foo-0", [1, 2]), partition("foo-1", [2, 1], isr=(2,)))
    return rig


def described(rig: BrokerRig, *indexes: int) -> dict[str, list[tuple[int, ...]]]:
    topics = [DescribableLogDirTopic("foo", indexes)] if indexes else None
    response = rig.broker.describe_log_dirs(DescribeLogDirsRequest(topics))
    return {
        result.log_dir: [tuple(row) for topic in result.topics for row in topic.partitions]
        for result in response.results
        if not result.error_code
    }


def moved(rig: BrokerRig, name: str, path: str) -> int:
    topic, index = key(name)
    request = AlterReplicaLogDirsRequest(
        [AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, (index,))])]
    )
    [result] = rig.broker.alter_replica_log_dirs(request).results
    return result.partitions[0].error_code


def offset(rig: BrokerRig, name: str, timestamp: int) -> tuple[int, int]:
    topic, index = key(name)
    request = ListOffsetsRequest(
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(index, -1, timestamp)])]
    )
    [answer] = rig.broker.list_offsets(request).topics
    return answer.partitions[0].error_code, answer.partitions[0].offset


def test_sizes_and_lags_are_described_by_directory(rig: BrokerRig) -> None:
    assert described(rig) == {"a": [(0, int(SIZE), 0, False)], "b": [(1, 0, 10, False)]}


def test_only_requested_partitions_are_described(rig: BrokerRig) -> None:
    assert described(rig, 1, 7) == {"a": [], "b": [(1, 0, 10, False)]}


def test_a_moving_replica_has_a_row_in_each_directory(rig: BrokerRig) -> None:
    assert moved(rig, "foo-0", "b") == 0
    rig.broker.log_dirs.tick(2_048.0, rig.broker.size)
    assert described(rig, 0) == {"a": [(0, int(SIZE), 0, False)], "b": [(0, 2_048, 8, True)]}


def test_a_failed_directory_has_an_error(rig: BrokerRig) -> None:
    rig.broker.fail_log_dir("b")
    results = rig.broker.describe_log_dirs(DescribeLogDirsRequest(None)).results
    assert [(result.log_dir, result.error_code) for result in results] == [("a", 0), ("b", FAILED)]


def test_volumes_have_total_and_usable_bytes(rig: BrokerRig) -> None:
    first, _ = rig.broker.describe_log_dirs(DescribeLogDirsRequest(None)).results
    assert (first.total_bytes, first.usable_bytes) == (VOLUME_BYTES, VOLUME_BYTES - int(SIZE))


def test_impossible_moves_have_an_error_by_row(rig: BrokerRig) -> None:
    rig.broker.fail_log_dir("b")
    moves = [("foo-0", "c"), ("foo-0", "b"), ("foo-1", "a"), ("bar-0", "a")]
    assert [moved(rig, *move) for move in moves] == [NO_DIR, FAILED, FAILED, NOT_HERE]


@pytest.mark.parametrize(("timestamp", "expected"), [(-1, 10), (-2, 0), (1_700_000_000_000, -1), (-3, -1)])
def test_a_leader_returns_the_ends_of_its_log(rig: BrokerRig, timestamp: int, expected: int) -> None:
    assert offset(rig, "foo-0", timestamp) == (0, expected)


def test_a_broker_that_is_not_the_leader_returns_an_error(rig: BrokerRig) -> None:
    assert offset(rig, "foo-1", -1) == (NOT_LEADER, -1)
    assert offset(rig, "bar-0", -1) == (UNKNOWN, -1)


def test_cordoned_directories_are_described_and_get_no_new_replica() -> None:
    rig = BrokerRig()
    value: list[str | None] = [None]
    rig.broker.log_dirs = LogDirs(["a", "b"], lambda: value[0])
    answer = rig.broker.describe_log_dirs(DescribeLogDirsRequest(None))
    assert [row.is_cordoned for row in answer.results] == [False, False]
    value[0] = "a"
    answer = rig.broker.describe_log_dirs(DescribeLogDirsRequest(None))
    assert [row.is_cordoned for row in answer.results] == [True, False]
    for number in range(3):
        rig.broker.log_dirs.create(TopicPartition("foo", number), new=True)
    assert (len(rig.broker.log_dirs.placed["a"]), len(rig.broker.log_dirs.placed["b"])) == (0, 3)
    value[0] = "*"
    assert rig.broker.log_dirs.create(TopicPartition("foo", 3), new=True) is not None
