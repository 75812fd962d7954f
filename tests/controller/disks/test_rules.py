"""How moves between directories go on: limits, room, obstacles, and what others do."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.disks.rules import LOOKED_AT, NEXT, RETRY_MS, Sight, to_look_at
from controller.messages.disk_events import MovesRefused, SeenLog
from controller.model.configs import DISK_MOVES, MAX_DISK_USAGE
from controller.model.disks import MoveStage
from controller.model.limits import PlanLimits
from controller.state.cluster import Disk
from tests.builders import key
from tests.controller.disks.directories import CAPACITY, DIRS, SIZE, Directories
from tests.examples import examples

FOUR = ("foo-0", "foo-1", "foo-2", "foo-3")


@pytest.fixture
def here() -> Directories:
    return Directories(FOUR)


def test_each_open_stage_has_a_rule_for_each_sight() -> None:
    stages = [stage for stage in MoveStage if stage.is_open]
    assert NEXT.keys() == set(product(stages, Sight))


def test_one_replica_of_a_broker_moves_at_a_time(here: Directories) -> None:
    here.order(*((name, broker, "/b") for name in FOUR for broker in (1, 2)))
    asked = [ask.replica.broker for ask in here.look()]
    assert sorted(asked) == [1, 2]
    here.settle()
    assert {broker.most for broker in here.brokers.values()} == {0, 1}


@pytest.mark.parametrize(("cluster", "own", "most"), [("3", 2, 2), ("2", 3, 2), (None, 3, 3), ("2", None, 2)])
def test_the_lower_limit_of_job_and_cluster_holds(
    here: Directories, cluster: str | None, own: int | None, most: int
) -> None:
    here.controller.default(DISK_MOVES, cluster)
    limits = PlanLimits() if own is None else PlanLimits(per_broker=own)
    here.order(*((name, 1, "/b") for name in FOUR), limits=limits)
    assert len(here.look()) == most


def test_a_job_of_higher_priority_starts_first(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.order(("foo-1", 1, "/b"), priority=1)
    assert [ask.replica.partition for ask in here.look()] == [1]


def test_many_moves_that_wait_or_are_paused_keep_no_other_back() -> None:
    names = [f"foo-{number}" for number in range(3 * LOOKED_AT)]
    here = Directories(names)
    here.order(*((name, 1, "/b") for name in names[:LOOKED_AT]), paused=True)
    here.order(*((name, 1, "/b") for name in names[LOOKED_AT:-1]))
    here.order((names[-1], 1, "/b"), priority=1)
    [ask] = here.look(seconds=0, turn=0)
    assert ask.replica.partition == len(names) - 1
    here.copy()
    [ask] = here.look(seconds=0, turn=0)
    assert ask.replica.partition == LOOKED_AT


def test_all_waiting_moves_take_turns() -> None:
    here = Directories([f"foo-{number}" for number in range(2 * LOOKED_AT)])
    here.order(*((name, 1, "/b") for name in here.names), paused=True)
    state = here.controller.state
    first, second = (to_look_at(state, 1, turn) for turn in (0, LOOKED_AT))
    assert [len(first), len(second), len({*first, *second})] == [LOOKED_AT, LOOKED_AT, 2 * LOOKED_AT]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("cordoned", "the log directory /b of broker 1 is cordoned"),
        ("failed", "the log directory /b of broker 1 has failed"),
    ],
)
def test_a_directory_that_cannot_take_a_replica_is_not_asked_for(
    here: Directories, kind: str, why: str
) -> None:
    getattr(here.brokers[1], kind).add("/b")
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/c"))
    assert [ask.path for ask in here.look()] == ["/c"]
    assert here.reason("foo-0", 1) == why


def test_an_unknown_directory_is_named(here: Directories) -> None:
    here.order(("foo-0", 1, "/z"))
    assert here.look() == []
    assert here.reason("foo-0", 1) == "the log directory /z of broker 1 does not exist"


def test_room_is_kept_for_what_is_still_to_arrive(here: Directories) -> None:
    """/b is to be 25 % full at most: two replicas fit, and the third waits for room."""
    here.controller.default(MAX_DISK_USAGE, "0.25")
    here.controller.default(DISK_MOVES, "10")
    here.order(*((name, 1, "/b") for name in FOUR))
    assert len(here.look()) == 2
    here.copy(3)
    here.look()
    assert here.reason("foo-2", 1) == "broker 1: /b would be 30% full, 25% is the most"
    here.controller.default(MAX_DISK_USAGE, "0.9")
    here.settle()
    assert here.brokers[1].used("/b") == 4 * SIZE


def test_a_replica_that_is_reassigned_waits(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.controller.unregister(2)
    here.controller.put(here.controller["foo-0"]._replace(removing=(1,)))
    assert here.look() == []
    assert here.reason("foo-0", 1) == "the partition is being reassigned"


def test_a_replica_that_has_left_the_broker_ends_its_move(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.look()
    here.controller.put(here.controller["foo-0"]._replace(replicas=(2, 3), isr=(2, 3), leader=2))
    here.look()
    move = next(iter(here.controller.state.disks.moves[1].values()))
    assert (move.stage, move.reason) == (MoveStage.TAKEN, "the replica has left broker 1")


def test_a_replica_that_others_have_moved_ends_its_move(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.brokers[1].logs[key("foo-0")] = SeenLog("/c", SIZE)
    here.look()
    move = next(iter(here.controller.state.disks.moves[1].values()))
    assert (move.stage, move.reason) == (MoveStage.TAKEN, "it was moved to /c")


def test_a_move_of_others_ends_ours(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.look()
    here.brokers[1].futures[key("foo-0")] = SeenLog("/c", 1)
    here.look()
    move = next(iter(here.controller.state.disks.moves[1].values()))
    assert (move.stage, move.reason) == (MoveStage.TAKEN, "another client moves it to /c")


def test_a_broker_that_forgot_the_copy_is_asked_again(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.look()
    here.brokers[1].futures.clear()
    assert len(here.look()) == 1
    assert here.stage() is MoveStage.MOVING


def test_a_target_that_fails_makes_way_for_other_moves(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/c"))
    here.look()
    here.brokers[1].failed.add("/b")
    here.brokers[1].futures.clear()
    assert [ask.replica.partition for ask in here.look()] == [1]
    assert here.stages() == {"foo-0@1": MoveStage.WAITING, "foo-1@1": MoveStage.MOVING}


def test_a_stopped_broker_is_waited_for(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.look()
    here.brokers[1].answers = False
    assert here.look() == []
    assert (here.stage(), here.reason("foo-0", 1)) == (MoveStage.MOVING, "offline: broker 1")
    here.brokers[1].answers = True
    here.settle()
    assert here.stage() is MoveStage.DONE


def test_a_failed_source_gives_way_to_other_moves(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/c"))
    here.brokers[1].logs[key("foo-1")] = SeenLog("/b", SIZE)
    here.look()
    here.brokers[1].failed.add("/a")
    here.look()
    assert here.stages()["foo-0@1"] is MoveStage.WAITING
    assert here.reason("foo-0", 1) == "the log directory /a of broker 1 has failed"


def test_what_a_broker_refuses_is_tried_again_later(
    here: Directories, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"))
    broker = here.brokers[1]
    shown, broker.cordoned = broker.show(), {"/b"}
    monkeypatch.setattr(broker, "show", lambda: shown)
    here.look()
    assert here.reason("foo-0", 1) == "refused by broker 1: KAFKA_STORAGE_ERROR"
    assert [ask.replica.partition for ask in here.look()] == [1], "others may start meanwhile"
    broker.cordoned = set()
    assert here.look(seconds=RETRY_MS // 1000) == []
    assert [ask.replica.partition for ask in here.look()] == [0]


def test_a_move_that_has_started_without_an_answer_goes_on(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"))
    here.controller.do(MovesRefused([(ask, "no answer of broker 1: timed out") for ask in here.look()]))
    assert (here.stage(), here.reason("foo-0", 1)) == (MoveStage.WAITING, "no answer of broker 1: timed out")
    here.look()
    assert (here.stage(), here.reason("foo-0", 1)) == (MoveStage.MOVING, "")


def test_the_lowest_throttle_of_a_broker_holds(here: Directories) -> None:
    here.controller.default(DISK_MOVES, "4")
    for number, (broker, rate) in enumerate(((1, 9), (1, 7), (2, 8))):
        here.order((f"foo-{number}", broker, "/b"), throttle=rate)
    assert here.controller.state.disks.throttles() == {}
    here.look()
    assert here.controller.state.disks.throttles() == {1: 7, 2: 8}
    here.settle()
    assert here.controller.state.disks.throttles() == {}
    assert here.controller.state.throttle.rates == {}, "reassignments are not slowed"


def test_an_arrival_is_known_before_the_next_measurement(here: Directories) -> None:
    cluster = here.controller.state.cluster
    cluster.measure({}, {1: [Disk("/a", CAPACITY, 60, 4), Disk("/b", CAPACITY, 100, 0)]}, {})
    here.order(("foo-0", 1, "/b"))
    here.settle()
    stored = cluster.stored[key("foo-0")].on(1)
    assert stored is not None
    assert (stored.log_dir, stored.bytes) == ("/b", SIZE)
    assert cluster.disks[1] == [Disk("/a", CAPACITY, 70, 3), Disk("/b", CAPACITY, 90, 1)]


def test_replicas_that_are_not_counted_stay_so(here: Directories) -> None:
    cluster = here.controller.state.cluster
    cluster.measure({}, {1: [Disk("/a", CAPACITY, 60, 0), Disk("/b", CAPACITY, 100, 0)]}, {})
    here.order(("foo-0", 1, "/b"))
    here.settle()
    assert [disk.replicas for disk in cluster.disks[1]] == [0, 0]


WISHES = st.lists(
    st.tuples(st.sampled_from(FOUR), st.sampled_from((1, 2, 3)), st.sampled_from(DIRS[1:])),
    max_size=12,
    unique_by=lambda wish: wish[:2],
)
TROUBLES = st.lists(
    st.tuples(
        st.sampled_from(("forget", "stop", "start", "fail", "mend", "cordon", "restart", "cancel", "copy")),
        st.sampled_from((1, 2, 3)),
        st.sampled_from(DIRS),
    ),
    max_size=12,
)


def trouble(here: Directories, what: str, number: int, path: str) -> None:
    broker = here.brokers[number]
    match what:
        case "forget":
            broker.futures.clear()
        case "stop" | "start":
            broker.answers = what == "start"
        case "fail":
            broker.fail(path)
        case "mend":
            broker.failed.discard(path)
        case "cordon":
            broker.cordoned.symmetric_difference_update({path})
        case "restart":
            here.controller = here.controller.restart()
        case "cancel":
            here.cancel(None)
        case "copy":
            here.copy(4)


@settings(max_examples=examples(300), deadline=None)
@given(WISHES, TROUBLES, st.integers(1, 3), st.sampled_from(("0.15", "0.25", "0.9")))
def test_limits_and_room_hold_whatever_happens_and_every_move_ends(
    wishes: list[tuple[str, int, str]], troubles: list[tuple[str, int, str]], most: int, usage: str
) -> None:
    here = Directories(FOUR)
    here.controller.default(DISK_MOVES, str(most))
    here.controller.default(MAX_DISK_USAGE, usage)
    here.order(*wishes)
    for what in troubles:
        trouble(here, *what)
        here.look()
        for broker in here.brokers.values():
            assert len(broker.futures) <= most
            assert all(broker.used(path) <= float(usage) * CAPACITY for path in DIRS[1:])
    for broker in here.brokers.values():
        broker.answers, broker.failed, broker.cordoned = True, set(), set()
    here.controller.default(MAX_DISK_USAGE, "0.9")
    here.settle()
    assert not here.controller.state.orders.open
