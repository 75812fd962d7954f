"""What is shown of moves between log directories: states, reasons, and the order."""

from controller.messages.job_events import Pause
from controller.model.configs import DISK_MOVES, STEP_TIMEOUT
from controller.model.disks import BrokerReplica
from controller.views.disk_moves import move_state, moves_in_order, why_not_moving
from controller.views.reason_kinds import DISK, LIMIT, REFUSED, reason_kind
from tests.builders import key
from tests.controller.disks.directories import Directories


def reason(here: Directories, name: str = "foo-0") -> str:
    state = here.controller.state
    return why_not_moving(state, state.disks.open[BrokerReplica(*key(name), 1)], here.controller.now_ms)


def test_a_move_that_waits_for_another_one_names_the_limit() -> None:
    here = Directories()
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"))
    here.look()
    assert reason(here) == ""
    assert reason(here, "foo-1") == "limit of moves between log directories of broker 1: 1"
    assert reason_kind(reason(here, "foo-1")) == LIMIT


def test_the_limit_in_force_is_named_and_not_what_moves() -> None:
    here = Directories()
    here.controller.default(DISK_MOVES, "2")
    here.order(*((name, 1, "/b") for name in here.names))
    here.look()
    here.controller.default(DISK_MOVES, "1")
    assert reason(here, "foo-2") == "limit of moves between log directories of broker 1: 1"


def test_a_pause_is_the_reason() -> None:
    here = Directories()
    here.order(("foo-0", 1, "/b"))
    assert reason(here) == "waits for its turn"
    here.controller.do(Pause(1, True))
    assert reason(here) == "job 1 is paused"
    here.controller.do(Pause(None, True))
    assert reason(here) == "all reassignments are paused"


def test_a_copy_that_does_not_grow_is_stalled() -> None:
    here = Directories()
    here.controller.default(STEP_TIMEOUT, "5000")
    here.order(("foo-0", 1, "/b"))
    here.look()
    here.copy(3)
    here.look(seconds=4)
    assert reason(here) == ""
    here.look(seconds=2)
    assert reason(here) == "the log directory receives no data: /b of broker 1"
    here.copy(1)
    here.look()
    assert reason(here) == ""


def test_the_kinds_of_reasons_are_known() -> None:
    assert reason_kind("broker 1: /b would be 95% full, 90% is the most") == DISK
    assert reason_kind("refused by broker 1: KAFKA_STORAGE_ERROR") == REFUSED


def test_moves_under_way_are_first_and_ended_ones_last() -> None:
    here = Directories([f"foo-{number}" for number in range(5)])
    here.order(*((name, 1, "/c" if name == "foo-3" else "/b") for name in here.names))
    here.brokers[1].cordoned = {"/c"}
    here.look()
    here.copy()
    here.look()
    state = here.controller.state
    shown = list(moves_in_order(state, 1))
    assert [(move.partition, part.value) for move, part in shown] == [
        (1, "moving"),
        (3, "waiting"),
        (2, "queued"),
        (4, "queued"),
        (0, "done"),
    ]
    assert all(move_state(state, move) is part for move, part in shown)
