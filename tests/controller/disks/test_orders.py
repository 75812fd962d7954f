"""Orders of moves between directories, their cancel and their rollback."""

import pytest

from controller.messages.job_events import Pause, Prune
from controller.model.configs import CORDONED_LOG_DIRS, EXCLUDED_DIRS, ResourceType, ThrottleLease
from controller.model.disks import BrokerDir, MoveStage
from controller.model.jobs import Ending, JobKind
from controller.state.cluster import Disk
from tests.controller.disks.directories import Directories


@pytest.fixture
def here() -> Directories:
    return Directories()


def test_moves_are_one_job(here: Directories) -> None:
    assert here.order(("foo-0", 1, "/b"), ("foo-0", 2, "/c")).job == 1
    job = here.controller.state.orders.jobs[1]
    assert (job.kind, job.total, job.ended_ms) == (JobKind.DISKS, 2, 0)
    assert here.controller.state.orders.open == {1: 2}


def test_nothing_is_ordered_if_a_row_is_refused(here: Directories) -> None:
    reply = here.order(("foo-0", 1, "/b"), ("foo-9", 1, "/b"))
    assert (reply.job, [str(replica) for replica, _ in reply.refused]) == (0, ["foo-9 on broker 1"])
    assert not here.controller.state.disks.open
    assert not here.controller.state.orders.jobs


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (("foo-9", 1, "/b"), "there is no such partition"),
        (("foo-1", 4, "/b"), "broker 4 has no replica of it"),
        (("foo-1", 1, "/a"), "it is to stay in /a"),
        (("foo-0", 1, "/c"), "job 1 moves it to /b"),
        (("foo-1", 1, "/d"), "broker 1 has no log directory /d: it has /a, /b"),
    ],
)
def test_a_refusal_names_the_reason(here: Directories, row: tuple[str, int, str], why: str) -> None:
    here.controller.state.cluster.measure({}, {1: [Disk(path, 9, 9, 0) for path in ("/a", "/b")]}, {})
    here.order(("foo-0", 1, "/b"))
    assert [reason for _, reason in here.order(row).refused] == [why]


def test_a_replica_is_named_once(here: Directories) -> None:
    reply = here.order(("foo-0", 1, "/b"), ("foo-0", 1, "/c"))
    assert [reason for _, reason in reply.refused] == ["it is named twice"]


def test_a_job_ends_with_its_last_move(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"))
    here.settle()
    state = here.controller.state
    assert here.where("foo-0", 1) == here.where("foo-1", 1) == "/b"
    assert state.orders.jobs[1].ended_ms
    assert state.disks.endings(1) == {Ending.DONE: 2}


def test_a_cancel_takes_back_what_is_under_way(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"), ("foo-2", 1, "/b"))
    here.look()
    here.copy()
    here.look()
    assert here.cancel(1) == 2
    here.copy(1)
    here.settle()
    done, back = MoveStage.DONE, MoveStage.ROLLED_BACK
    assert here.stages() == {"foo-0@1": done, "foo-1@1": back, "foo-2@1": back}
    assert not here.brokers[1].futures


def test_a_cancel_of_all_concerns_each_job_once(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.order(("foo-1", 2, "/b"))
    here.look()
    assert [here.cancel(None), here.cancel(None)] == [2, 0]
    here.settle()
    assert not here.controller.state.orders.open


def test_what_arrived_before_a_cancel_is_done(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.look()
    here.cancel(1)
    here.copy()
    here.look()
    assert here.stage() is MoveStage.DONE


def test_a_rollback_takes_back_what_has_arrived(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/c"), ("foo-2", 2, "/c"), throttle=5)
    here.settle()
    assert here.roll_back(1).job == 2
    here.settle()
    assert {here.where(name, 1) for name in here.names} == {"/a"}
    rollback = here.controller.state.orders.jobs[2]
    assert (rollback.kind, rollback.undoes, rollback.throttle) == (JobKind.DISKS, 1, 5)
    assert rollback.ended_ms


def test_a_rollback_of_a_running_job_cancels_the_rest(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"), ("foo-2", 1, "/b"))
    here.look()
    here.copy()
    here.look()
    assert here.roll_back(1).job == 2
    here.settle()
    assert {here.where(name, 1) for name in here.names} == {"/a"}
    assert len(here.stages(2)) == 1


def test_a_rollback_of_a_rollback_leads_to_the_targets(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.settle()
    for job in (1, 2):
        here.roll_back(job)
        here.settle()
    assert here.where("foo-0", 1) == "/b"


def test_a_rollback_skips_what_a_later_job_moves(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.settle()
    here.order(("foo-0", 1, "/c"), source="/b")
    reply = here.roll_back(1)
    assert (reply.job, [why for _, why in reply.skipped]) == (0, ["job 2 moves it to /c"])


def test_a_paused_job_starts_nothing(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), paused=True)
    assert here.look() == []
    here.controller.do(Pause(1, False))
    assert len(here.look()) == 1


def test_old_jobs_are_deleted_with_their_moves(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.settle()
    here.order(("foo-1", 1, "/b"))
    here.settle()
    here.controller.do(Prune(1 << 60, 10))
    assert (list(here.controller.state.orders.jobs), list(here.controller.state.disks.moves)) == ([2], [2])


def test_a_restart_goes_on_where_the_moves_are(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"))
    here.look()
    here.copy(3)
    here.controller = here.controller.restart()
    assert here.stages() == {"foo-0@1": MoveStage.MOVING, "foo-1@1": MoveStage.WAITING}
    here.settle()
    assert here.controller.state.disks.endings(1) == {Ending.DONE: 2}


# ---- directories that are emptied -------------------------------------------------------------------------

EMPTIED = [BrokerDir(1, "/a"), BrokerDir(2, "/a")]


def excluded(here: Directories) -> list[str]:
    dirs = here.controller.state.settings.excluded_dirs
    return [str(BrokerDir(broker, path)) for broker, paths in dirs.items() for path in paths]


def test_emptied_directories_get_nothing_new_also_after_the_job(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), emptied=EMPTIED)
    assert excluded(here) == ["1:/a", "2:/a"]
    here.settle()
    assert excluded(here) == ["1:/a", "2:/a"]


def test_a_refused_order_excludes_nothing(here: Directories) -> None:
    here.order(("foo-9", 1, "/b"), emptied=EMPTIED)
    assert excluded(here) == []


def test_a_path_that_a_list_cannot_have_is_not_excluded(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), emptied=[BrokerDir(1, "/a,b"), BrokerDir(1, "/a")])
    assert excluded(here) == ["1:/a"]


@pytest.mark.parametrize("end", ["cancel", "rollback"])
def test_directories_that_replicas_return_to_are_allowed_again(here: Directories, end: str) -> None:
    here.order(("foo-0", 1, "/b"), emptied=EMPTIED)
    if end == "cancel":
        here.cancel(1)
    else:
        here.settle()
        here.roll_back(1)
    assert excluded(here) == ["2:/a"]


def test_a_cancel_elsewhere_leaves_them(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), emptied=EMPTIED)
    here.order(("foo-1", 3, "/b"))
    here.cancel(2)
    assert excluded(here) == ["1:/a", "2:/a"]


def test_a_list_of_the_settings_is_replaced_by_an_empty_one(here: Directories) -> None:
    here.controller.state.settings.set_static({EXCLUDED_DIRS: "1:/a"})
    here.order(("foo-0", 1, "/b"))
    here.cancel(1)
    assert excluded(here) == []


def test_a_return_waits_until_its_directory_is_not_cordoned_any_more(here: Directories) -> None:
    """Kafka refuses a request for a cordoned directory, also for the one that the replica is in."""
    here.order(("foo-0", 1, "/b"), emptied=EMPTIED)
    here.look()
    lease = ThrottleLease(ResourceType.BROKER, "1", CORDONED_LOG_DIRS, "/a", None)
    here.brokers[1].cordoned = {"/a"}
    here.controller.put(lease)
    here.cancel(1)
    assert here.look() == []
    here.brokers[1].cordoned = set()
    assert [ask.path for ask in here.look()] == ["/a"]
    here.look()
    assert here.stage() is MoveStage.ROLLED_BACK
