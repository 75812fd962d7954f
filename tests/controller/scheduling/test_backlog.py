from controller.model.cluster import TopicPartition
from controller.model.jobs import PlannedStep
from controller.model.limits import PlanLimits
from controller.scheduling.backlog import SLACK, Backlog, StepCounts, StepPlans
from controller.scheduling.buckets import PASSES, Planned, Rank
from controller.scheduling.limits import Capacity, Cost, LimitKind, Windows
from tests.builders import InMemoryController, key, partition

UNLIMITED = PlanLimits()
NORMAL = Rank(0, True, True)
INTO_4 = Cost((4,), 1, False)
INTO_5 = Cost((5,), 2, False)


def waiting(*steps: tuple[str, Cost], limits: PlanLimits = UNLIMITED) -> Backlog:
    backlog = Backlog()
    backlog.change_limits(limits)
    for name, cost in steps:
        backlog.add(key(name), NORMAL, cost)
    return backlog


def started(backlog: Backlog) -> list[str]:
    """Start all that has room."""
    names = []
    for step in backlog.candidates():
        if step is not None:
            backlog.charge(*step)
            names.append(str(step[0]))
    return names


def test_steps_start_in_order() -> None:
    assert started(waiting(("a-0", INTO_4), ("a-1", INTO_4), ("a-2", INTO_4))) == ["a-0", "a-1", "a-2"]


def test_buckets_of_different_brokers_alternate() -> None:
    backlog = waiting(("a-0", INTO_4), ("a-1", INTO_4), ("b-0", INTO_5))
    assert started(backlog) == ["a-0", "b-0", "a-1"]


def test_a_smaller_rank_starts_first() -> None:
    backlog = waiting(("a-0", INTO_4))
    backlog.add(key("urgent-0"), Rank(-5, True, True), INTO_4)
    backlog.add(key("broken-0"), Rank(0, False, True), INTO_4)
    assert started(backlog) == ["urgent-0", "broken-0", "a-0"]


def test_steps_of_the_least_busy_brokers_start_first() -> None:
    backlog = waiting(("a-0", INTO_4), ("b-0", INTO_5), ("c-0", Cost((9,), 3, False)))
    backlog.charge(key("d-0"), Cost((4, 5, 6), 7, False))
    backlog.charge(key("d-1"), INTO_4)
    assert started(backlog) == ["c-0", "b-0", "a-0"]


def test_a_bucket_that_was_emptied_by_compaction_has_one_position() -> None:
    backlog = waiting(("a-0", INTO_4), limits=PlanLimits(partitions=1))
    backlog.charge(key("b-0"), INTO_4)
    assert started(backlog) == []
    for turn in range(2 * SLACK):
        backlog.add(key("a-0"), NORMAL, (INTO_5, INTO_4)[turn % 2])
    assert started(backlog) == []
    backlog.release(key("b-0"))
    assert started(backlog) == ["a-0"]
    backlog.release(key("a-0"))
    assert started(backlog) == []


def test_an_exhausted_broker_delays_only_its_own_steps() -> None:
    backlog = waiting(("a-0", INTO_4), ("a-1", INTO_4), ("b-0", INTO_5), limits=PlanLimits(per_broker=1))
    assert started(backlog) == ["a-0", "b-0"]
    bucket = backlog.bucket_of(key("a-1"))
    assert bucket is not None
    assert bucket.parked_at == Capacity(LimitKind.INCOMING, 4)


def test_a_step_that_ends_releases_capacity_for_the_next() -> None:
    backlog = waiting(("a-0", INTO_4), ("a-1", INTO_4), limits=PlanLimits(partitions=1))
    assert started(backlog) == ["a-0"]
    backlog.release(key("a-0"))
    assert started(backlog) == ["a-1"]


def test_a_higher_limit_lets_more_steps_start() -> None:
    backlog = waiting(*[(f"a-{n}", INTO_4) for n in range(9)], limits=PlanLimits(partitions=2))
    started(backlog)
    backlog.change_limits(PlanLimits(partitions=5))
    assert len(started(backlog)) == 3
    assert len(backlog.costs) == 5


def test_a_lower_limit_does_not_end_steps_in_flight() -> None:
    backlog = waiting(*[(f"a-{n}", INTO_4) for n in range(9)], limits=PlanLimits(partitions=5))
    started(backlog)
    backlog.change_limits(PlanLimits(partitions=2))
    backlog.release(key("a-0"))
    assert started(backlog) == []
    assert len(backlog.costs) == 4


def test_a_large_step_is_not_starved() -> None:
    both = Cost((4, 5), 3, False)
    backlog = waiting(("a-0", INTO_4), ("big-0", both), ("a-1", INTO_4), limits=PlanLimits(replicas=2))
    assert started(backlog) == ["a-0", "a-1"]
    backlog.release(key("a-0"))
    assert started(backlog) == []
    backlog.release(key("a-1"))
    assert started(backlog) == ["big-0"]


def test_a_search_costs_the_same_for_any_number_of_waiting_steps() -> None:
    backlog = waiting(*[(f"a-{n}", INTO_4) for n in range(5_000)], limits=PlanLimits(partitions=1))
    started(backlog)
    backlog.release(key("a-0"))
    looks = 0
    for step in backlog.candidates():
        looks += 1
        if step is not None:
            backlog.charge(*step)
    assert looks <= 3


def test_a_backlog_is_idle_when_no_step_fits() -> None:
    backlog = waiting(("a-0", INTO_4), ("a-1", INTO_4), limits=PlanLimits(partitions=1))
    assert not backlog.idle
    started(backlog)
    assert backlog.idle


def test_a_step_is_charged_once() -> None:
    backlog = waiting()
    backlog.charge(TopicPartition("a", 0), INTO_4)
    backlog.charge(TopicPartition("a", 0), INTO_5)
    assert backlog.usage.brokers() == {2, 5}


def test_a_step_that_changed_its_bucket_is_offered_once() -> None:
    backlog = waiting(("a-0", INTO_4))
    backlog.add(key("a-0"), Rank(-1, True, True), INTO_4)
    assert started(backlog) == ["a-0"]


def test_obsolete_entries_are_removed() -> None:
    backlog = waiting()
    for change in range(50):
        for number in range(100):
            backlog.add(TopicPartition("a", number), Rank(change, True, True), INTO_4)
    assert backlog.size <= 2 * 100 + SLACK
    assert len(started(backlog)) == 100


def test_a_partition_is_enqueued_once() -> None:
    backlog = waiting()
    for _ in range(3):
        backlog.enqueue(key("a-0"))
    assert [str(name) for name, _ in backlog.next_steps(10)] == ["a-0"]
    assert list(backlog.next_steps(10)) == []


def test_the_only_partition_to_be_planned_needs_no_position() -> None:
    backlog = waiting()
    backlog.enqueue(key("a-0"))
    assert list(backlog.next_steps(10)) == [(key("a-0"), True)]
    assert backlog.idle


def test_at_most_the_given_number_of_partitions_is_planned() -> None:
    backlog = waiting()
    backlog.enqueue_all([key("a-0"), key("a-1"), key("a-2")])
    assert [list(backlog.next_steps(most)) for most in (-1, 0, 1)] == [[], [], [(key("a-0"), False)]]
    assert list(backlog.to_plan) == [key("a-1"), key("a-2")]


def test_a_partition_among_others_needs_a_position() -> None:
    two = waiting()
    two.enqueue_all([key("a-0"), key("a-1")])
    behind_another = waiting(("b-0", INTO_4))
    behind_another.enqueue(key("a-0"))
    planned = waiting()
    planned.planned.put(key("a-0"), [PlannedStep(3, (1, 4))])
    planned.enqueue(key("a-0"))
    assert [next(backlog.next_steps(1)) for backlog in (two, behind_another, planned)] == [
        (key("a-0"), False)
    ] * 3


def test_steps_that_may_start_follow_the_partitions_to_be_planned() -> None:
    backlog = waiting(("b-0", INTO_4), ("b-1", INTO_5))
    backlog.enqueue(key("a-0"))
    assert list(backlog.next_steps(1)) == [(key("a-0"), False), (key("b-0"), True)]


def test_a_parked_step_starts_before_a_later_step_of_lower_rank() -> None:
    backlog = waiting(("first-0", INTO_4), limits=PlanLimits(partitions=1))
    backlog.add(key("urgent-0"), Rank(-1, True, False), INTO_5)
    started(backlog)
    backlog.add(key("urgent-1"), Rank(-1, True, False), INTO_5)
    assert started(backlog) == []
    backlog.add(key("late-0"), NORMAL, Cost((6,), 3, False))
    backlog.release(key("urgent-0"))
    assert started(backlog) == ["urgent-1"]


def test_a_step_may_change_within_the_capacity_it_has() -> None:
    backlog = waiting(("a-0", INTO_4), limits=PlanLimits(partitions=1, per_broker=1))
    started(backlog)
    assert backlog.fits(key("a-0"), INTO_5)
    assert not backlog.fits(key("b-0"), INTO_5)


def test_a_step_may_go_on_with_what_it_takes_although_the_limits_are_lower_now() -> None:
    backlog = waiting(("a-0", INTO_4), ("b-0", INTO_4))
    started(backlog)
    backlog.pace(Windows({}, others=1, cluster=1))
    assert backlog.fits(key("a-0"), INTO_4)
    assert not backlog.fits(key("a-0"), Cost((4, 5), 1, False))


def test_planned_waves_precede_the_order_of_arrival() -> None:
    backlog = waiting(("a-0", INTO_4), ("a-1", INTO_4), ("b-0", INTO_5))
    for name, wave in (("a-0", 2), ("a-1", 0), ("b-0", 1)):
        backlog.place_in_wave(key(name), Planned(1, wave))
    assert started(backlog) == ["a-1", "b-0", "a-0"]


def test_a_planned_step_gets_its_wave_when_it_is_added() -> None:
    backlog = waiting()
    for name, wave in (("a-0", 9), ("a-1", 5), ("b-0", 7)):
        backlog.add(key(name), NORMAL, INTO_5 if name == "b-0" else INTO_4, Planned(1, wave))
    assert started(backlog) == ["a-1", "b-0", "a-0"]


def test_a_parked_bucket_moves_up_with_its_first_planned_step() -> None:
    backlog = waiting(*((f"{t}-{n}", c) for t, c in (("a", INTO_4), ("b", INTO_5)) for n in range(3)))
    backlog.change_limits(PlanLimits(partitions=1))
    assert started(backlog) == ["a-0"]
    backlog.place_in_wave(key("b-2"), Planned(1, 0))
    backlog.place_in_wave(key("b-1"), Planned(1, 1))
    started(backlog)
    bucket = backlog.bucket_of(key("b-1"))
    assert bucket is not None
    assert bucket.parked_at == Capacity(LimitKind.PARTITIONS)
    backlog.change_limits(PlanLimits())
    assert started(backlog) == ["b-0", "a-1", "b-2", "a-2", "b-1"]


def test_a_step_that_does_not_wait_gets_no_wave() -> None:
    backlog = waiting()
    backlog.place_in_wave(key("a-0"), Planned(1, 0))
    assert started(backlog) == []


def test_a_long_plan_with_waves_does_not_delay_a_small_one() -> None:
    backlog = waiting()
    for number in range(100):
        backlog.add(TopicPartition("long", number), NORMAL, INTO_4, Planned(1, number))
    backlog.change_limits(PlanLimits(partitions=1))
    names = []
    for turn in range(6):
        names += started(backlog)
        backlog.release(key(names[-1]))
        if turn == 1:
            backlog.add(key("small-0"), NORMAL, INTO_5)
            backlog.add(key("small-1"), NORMAL, INTO_5)
    assert names == ["long-0", "long-1", "long-2", "small-0", "long-3", "small-1"]


def test_a_stream_of_small_plans_does_not_delay_a_plan_with_waves() -> None:
    backlog = waiting(("long-0", INTO_4), limits=PlanLimits(partitions=1))
    backlog.place_in_wave(key("long-0"), Planned(1, 10))
    names: list[str] = []
    while "long-0" not in names:
        backlog.add(TopicPartition("small", len(names)), NORMAL, INTO_5)
        names += started(backlog)
        backlog.release(key(names[-1]))
    assert len(names) <= 12


def test_the_waves_of_a_later_plan_begin_at_the_present_wave() -> None:
    backlog = waiting(("a-0", INTO_4), ("a-1", INTO_4), ("a-2", INTO_4), limits=PlanLimits(partitions=1))
    for number in range(3):
        backlog.place_in_wave(TopicPartition("a", number), Planned(1, number))
    assert started(backlog) == ["a-0"]
    backlog.add(key("b-0"), NORMAL, INTO_5, Planned(2, 0))
    backlog.add(key("b-1"), NORMAL, INTO_5, Planned(2, 1))
    backlog.change_limits(PlanLimits())
    assert sorted(started(backlog)[:2]) == ["a-1", "b-0"]


def test_the_first_wave_of_an_ended_job_is_forgotten() -> None:
    backlog = waiting(*((f"a-{n}", INTO_4) for n in range(3)))
    backlog.add(key("b-0"), NORMAL, INTO_5, Planned(1, 0))
    started(backlog)
    backlog.first_waves.pop(1)
    backlog.add(key("c-0"), NORMAL, INTO_4)
    backlog.add(key("b-1"), NORMAL, INTO_5, Planned(1, 0))
    assert started(backlog) == ["c-0", "b-1"]


def test_partitions_whose_reassignments_have_ended_take_no_capacity() -> None:
    backlog = Backlog()
    cost = Cost((3,), 1, leads=False)
    for name in ("foo-0", "foo-1", "foo-2"):
        backlog.charge(key(name), cost)
    backlog.planned.put(key("foo-0"), [PlannedStep(4, (1, 3))])
    backlog.forget_all([key("foo-0"), key("foo-1"), key("foo-9")])
    assert (backlog.costs, list(backlog.planned)) == ({key("foo-2"): cost}, [])
    assert backlog.usage.taken(Capacity(LimitKind.PARTITIONS)) == 1


LARGE = Cost((4, 5, 6), 1, False)
SMALL = Cost((7,), 2, False)
THREE = PlanLimits(replicas=3)


def crowded(*more: str) -> Backlog:
    """One replica of three moves; a step of three waits, and small ones behind it."""
    backlog = waiting(("large-0", LARGE), limits=THREE)
    backlog.charge(key("first-0"), SMALL)
    assert started(backlog) == []
    for name in more:
        backlog.add(key(name), next(iter(backlog._buckets))[0], SMALL)
    return backlog


def test_a_smaller_step_that_fits_does_not_wait_behind_a_larger_one() -> None:
    backlog = crowded("small-0", "small-1", "small-2")
    assert started(backlog) == ["small-0", "small-1"]
    backlog.release(key("first-0"))
    assert started(backlog) == ["small-2"]


def test_the_larger_step_starts_when_it_fits() -> None:
    backlog = crowded()
    backlog.release(key("first-0"))
    assert started(backlog) == ["large-0"]


def test_smaller_steps_do_not_starve_a_larger_one() -> None:
    names = [f"small-{n}" for n in range(3 * PASSES)]
    backlog = crowded(*names)
    flying: list[str] = ["first-0"]
    order: list[str] = []
    while "large-0" not in order:
        new = started(backlog)
        order, flying = order + new, flying + new
        backlog.release(key(flying.pop(0)))
    assert order.index("large-0") == PASSES
    assert order == [*names[:PASSES], "large-0"]


def test_kept_capacity_is_kept_from_later_steps_too() -> None:
    backlog = crowded(*(f"small-{n}" for n in range(PASSES)))
    flying = ["first-0"]
    while flying:
        flying += started(backlog)
        if backlog.size == 1:
            break
        backlog.release(key(flying.pop(0)))
    backlog.add(key("late-0"), next(iter(backlog._buckets))[0], Cost((8,), 3, False))
    assert started(backlog) == []


def test_void_positions_keep_no_capacity() -> None:
    backlog = crowded("small-0")
    backlog.add(key("large-0"), next(iter(backlog._buckets))[0], SMALL)
    assert started(backlog) == ["small-0", "large-0"]


def test_released_capacity_is_given_to_a_later_step_that_fits() -> None:
    controller = InMemoryController(range(1, 13)).with_limits(replicas=3)
    controller.with_partitions(
        partition("foo-0", (1, 2)), partition("foo-1", (3, 4)), partition("foo-2", (5, 6, 7))
    )
    controller.with_partitions(partition("foo-3", (8, 9)))
    controller.alter({"foo-0": (10, 2), "foo-1": (11, 12), "foo-2": (1, 2, 3), "foo-3": (8, 10)})
    assert controller.in_flight() == ["foo-0", "foo-1"]
    controller.isr("foo-0", controller.replicas("foo-0"))
    assert controller.in_flight() == ["foo-1", "foo-3"]


def test_of_the_steps_that_fit_the_one_with_the_highest_priority_starts() -> None:
    controller = InMemoryController(range(1, 6)).with_partitions(
        *(
            partition(name, replicas)
            for name, replicas in (("bar-0", (4,)), ("bar-1", (2,)), ("bar-2", (2,)))
        ),
        partition("foo-0", (1, 4, 2)),
    )
    controller.alter({"bar-0": (3, 2, 5), "bar-1": (3, 2)})
    controller.with_limits(per_broker=2)
    controller.alter({"foo-0": (5, 3, 1)}, priority=-1)  # waits for broker 3
    controller.alter({"bar-2": (1, 5, 2)}, priority=0)  # waits for broker 2
    controller.isr("bar-1", (2, 3))  # frees both
    assert controller.in_flight() == ["bar-0", "bar-2"]


FOO = key("foo-0")


def planned() -> StepPlans:
    plans = StepPlans()
    plans.put(FOO, [PlannedStep(2, (4, 2)), PlannedStep(5, (4, 5))])
    return plans


def test_a_step_with_the_planned_list_is_the_same_and_the_next_one_follows() -> None:
    plans = planned()
    assert plans.wave_of(FOO) == 2
    plans.begun(FOO, (4, 2))
    assert (plans.wave_of(FOO), plans.counts) == (5, StepCounts(same=1))
    plans.begun(FOO, (4, 5))
    assert (list(plans), plans.counts) == ([], StepCounts(same=2))


def test_after_a_step_that_differs_the_rest_is_planned_again() -> None:
    plans = planned()
    for replicas in ((4, 1), (4, 5)):
        plans.begun(FOO, replicas)
    assert (plans.wave_of(FOO), plans.counts) == (None, StepCounts(differs=1, replanned=1))


def test_after_a_step_that_was_turned_the_rest_is_planned_again() -> None:
    plans = planned()
    plans.turned(FOO)
    plans.begun(FOO, (4, 2))
    assert plans.counts == StepCounts(replanned=1)


def test_a_partition_without_a_plan_counts_nothing() -> None:
    plans = planned()
    plans.discard(FOO)
    plans.turned(FOO)
    plans.begun(FOO, (4, 2))
    assert (len(plans), plans.counts) == (0, StepCounts())
