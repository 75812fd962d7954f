import pytest

from backends.embedded.log_dirs import SERVED, LogDirs
from backends.embedded.replication import Log
from controller.model.cluster import TopicPartition
from tests.builders import key

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
