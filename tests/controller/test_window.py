from hypothesis import given, settings
from hypothesis import strategies as st

from controller.execution.throttle import throttle_rate
from controller.machine import STEPS_PER_DECISION, fill
from controller.messages.events import AlterReassignments, Continue, PeriodChanged
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Config, ResourceType, TopicPartition
from controller.model.configs import SCHEDULE
from controller.reassignment.phases import Phase
from controller.scheduling.buckets import Rank
from controller.scheduling.limits import Capacity, Cost, LimitKind
from controller.state.state import Decision
from tests.builders import InMemoryController, partition
from tests.examples import examples

MANY = 2 * STEPS_PER_DECISION + 1


def crowded() -> InMemoryController:
    """Many orders, each accepted and not more than one decision's worth begun."""
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(MANY)))
    controller.decide(AlterReassignments([AlterTopic("foo", [AlterRow(n, (3, 4)) for n in range(MANY)])]))
    return controller


def moving(controller: InMemoryController) -> int:
    return sum(now.moving for now in controller.state.cluster.all_partitions())


def test_a_large_request_is_answered_before_its_steps_start() -> None:
    controller = crowded()
    assert (len(controller.state.orders.reassignments), moving(controller)) == (MANY, 0)
    assert controller.state.woken


def test_a_small_request_starts_its_steps_in_its_own_decision() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    controller.decide(AlterReassignments([AlterTopic("foo", [AlterRow(0, (3, 4))])]))
    assert moving(controller) == 1


def test_a_decision_starts_a_limited_number_of_steps_and_requests_a_wake() -> None:
    controller = crowded()
    assert controller.decide(Continue()).more
    assert moving(controller) == STEPS_PER_DECISION
    assert controller.phase(f"foo-{MANY - 1}") is Phase.QUEUED


def test_wakes_are_requested_until_all_steps_have_started() -> None:
    controller = crowded()
    assert [controller.decide(Continue()).more for _ in range(3)] == [True, True, False]
    assert moving(controller) == MANY
    assert not controller.state.woken


def test_a_pending_wake_is_not_requested_again() -> None:
    controller = crowded()
    assert not controller.decide(AlterReassignments([])).more


def test_steps_start_in_the_order_of_acceptance() -> None:
    controller = crowded()
    controller.decide(Continue())
    assert controller["foo-0"].moving
    assert controller[f"foo-{STEPS_PER_DECISION - 1}"].moving
    assert not controller[f"foo-{STEPS_PER_DECISION}"].moving


def test_a_step_that_was_cancelled_in_the_backlog_never_starts() -> None:
    controller = crowded()
    last = f"foo-{MANY - 1}"
    assert controller.alter({last: None})[last].ok
    controller.do(Continue())
    assert moving(controller) == MANY - 1
    assert controller.published(last) == []


def test_stale_entries_count_so_that_a_decision_stays_short() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    for number in range(10):
        controller.state.backlog.add(controller["foo-0"].key, Rank(number, True, True), Cost((), 1, False))
    d = Decision(controller.state)
    d.rows = STEPS_PER_DECISION - 4
    fill(d)
    assert sum(1 for _ in controller.state.backlog.candidates()) == 6
    assert d.more
    assert d.effects == []


def test_the_entry_of_a_deleted_topic_is_skipped() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    controller.state.backlog.add(TopicPartition("gone", 0), Rank(0, True, True), Cost((), 1, False))
    assert controller.alter({"foo-0": (3, 4)})["foo-0"].ok
    assert controller["foo-0"].moving


def reordered(count: int, leaders: int) -> InMemoryController:
    controller = InMemoryController().with_limits(per_partition=1, leaders=leaders)
    return controller.with_partitions(*(partition(f"foo-{n}", (1, 2, 3)) for n in range(count)))


def test_a_decision_moves_at_most_l_leaders_without_data() -> None:
    controller = reordered(20, leaders=3)
    rows = [AlterRow(n, (2, 1, 3)) for n in range(20)]
    d = controller.decide(AlterReassignments([AlterTopic("foo", rows)]))
    led = []
    while d.more:
        led.append(sum(p.leader == 2 for p in controller.state.cluster.all_partitions()))
        d = controller.decide(Continue())
    assert led == [3, 6, 9, 12, 15, 18]
    assert not controller.state.orders.reassignments


def test_steps_that_elect_a_preferred_leader_keep_limit_l() -> None:
    controller = reordered(2, leaders=1)
    rows = [AlterRow(0, (2, 1, 4)), AlterRow(1, (2, 1, 5))]
    controller.decide(AlterReassignments([AlterTopic("foo", rows)]))
    assert sorted(p.leader for p in controller.state.cluster.all_partitions()) == [1, 2]
    controller.decide(Continue())
    assert controller.settle().state.orders.reassignments == {}


def test_steps_that_keep_the_leader_do_not_count_against_limit_l() -> None:
    controller = InMemoryController(range(1, 9)).with_limits(leaders=1)
    controller.with_partitions(*(partition(f"foo-{n}", (1, 2, 3)) for n in range(4)))
    controller.alter({f"foo-{n}": (4, 1, 2) for n in range(4)})
    assert len(controller.in_flight()) == 4


def test_the_sent_data_is_counted_at_the_present_leader() -> None:
    controller = (
        InMemoryController()
        .with_limits(per_broker=1)
        .with_partitions(partition("foo-0", (4, 2)), partition("foo-1", (2, 3)))
    )
    controller.alter({"foo-0": (5, 2)})
    controller.stop(4)
    controller.alter({"foo-1": (6, 3)})
    assert controller.in_flight() == ["foo-0"]
    assert controller.state.backlog.usage.taken(Capacity(LimitKind.OUTGOING, 2)) == 1


# ---- the schedule ------------------------------------------------------------------------------------------

NIGHT = "00:00-06:00 throttle=5MB"
"""1970-01-01, where the times of these tests begin, is a Thursday."""
HOUR = 3_600_000


def scheduled(hour: int, text: str = NIGHT) -> InMemoryController:
    """Return a controller at this hour whose partitions may move one at a time, by the schedule."""
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(3)))
    controller.now_ms = hour * HOUR
    controller.with_limits(partitions=1).default(SCHEDULE, text)
    controller.alter({f"foo-{n}": (3, 4) for n in range(3)})
    return controller


def later(controller: InMemoryController, hour: int) -> InMemoryController:
    controller.now_ms = hour * HOUR
    controller.do(PeriodChanged())
    return controller


def test_steps_start_within_a_period_only() -> None:
    assert moving(scheduled(1)) == 1
    assert moving(scheduled(7)) == 0


def test_steps_start_when_a_period_begins() -> None:
    controller = scheduled(7)
    assert moving(later(controller, 23)) == 0
    assert moving(later(controller, 24)) == 1


def test_a_step_in_flight_continues_after_the_period_and_no_other_starts() -> None:
    controller = later(scheduled(5), 6)
    assert controller.in_flight() == ["foo-0"]
    controller.settle()
    assert (controller.in_flight(), len(controller.state.orders.reassignments)) == ([], 2)


def test_a_cancel_is_carried_out_outside_of_the_schedule() -> None:
    controller = later(scheduled(5), 6)
    controller.alter({"foo-0": None})
    assert (controller.in_flight(), controller.replicas("foo-0")) == ([], (1, 2))


def test_the_controller_asks_to_be_woken_at_each_change_once() -> None:
    controller = scheduled(1)
    assert controller.wakes == [6 * HOUR]
    later(controller, 6)
    assert controller.wakes == [6 * HOUR, 24 * HOUR]


def test_without_a_schedule_there_is_no_timer_and_everything_starts() -> None:
    controller = scheduled(7)
    controller.default(SCHEDULE, None)
    assert moving(controller) == 1
    controller.wakes.clear()
    assert later(controller, 24).wakes == []


def test_an_empty_schedule_is_none() -> None:
    assert moving(scheduled(7, "")) == 1


def test_a_clock_that_is_set_back_is_followed() -> None:
    assert moving(later(scheduled(31), 25)) == 1


def test_after_a_restart_the_schedule_applies_from_the_first_decision_on() -> None:
    controller = scheduled(7)
    assert moving(controller.restart()) == 0
    controller.now_ms = 25 * HOUR
    restarted = controller.restart()
    assert (moving(restarted), 30 * HOUR in restarted.wakes) == (1, True)


def test_a_schedule_that_cannot_be_read_lets_nothing_start() -> None:
    controller = scheduled(1, "")
    controller.settle()
    controller.put(Config(ResourceType.BROKER, "", SCHEDULE, "at night"))
    controller.alter({"foo-0": (5, 6)})
    assert moving(controller) == 0


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["wait", "catch up", "move", "restart"]))))
def test_no_step_starts_outside_of_the_schedule_and_the_throttle_is_that_of_the_time(
    actions: list[tuple[int, str]],
) -> None:
    controller = scheduled(0, "00:00-06:00 throttle=5MB; 20:00-22:00 throttle=1MB")
    for number, (hours, action) in enumerate(actions):
        controller.now_ms += hours * HOUR
        before = set(controller.in_flight())
        match action:
            case "wait":
                controller.do(PeriodChanged())
            case "catch up":
                controller.catch_up()
            case "move":
                controller.alter({f"foo-{number % 3}": (3, 4) if number % 2 else (1, 2)})
            case "restart":
                controller = controller.restart()
        if action != "move":  # An order may turn a step in flight at any time.
            controller.do(PeriodChanged())
            hour = controller.now_ms // HOUR % 24
            started = set(controller.in_flight()) - before
            assert not started or hour < 6 or 20 <= hour < 22
            assert throttle_rate(controller.state) == (1_000_000 if hour >= 20 else 5_000_000)
