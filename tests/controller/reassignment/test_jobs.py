import pytest

from common.error_codes import ErrorCode
from controller.machine import decide
from controller.messages.event import Requester
from controller.messages.events import AlterReassignments, DeleteTopics
from controller.messages.job_events import (
    AlterRow,
    AlterTopic,
    LimitJob,
    Pause,
    PlannedSteps,
    Prioritize,
    Prune,
    Reorder,
    RollBackJob,
    ThrottleJob,
)
from controller.model.cluster import Ending, JobKind, ResourceType
from controller.model.configs import FOLLOWER_RATE
from controller.model.jobs import PlannedStep
from controller.model.limits import PlanLimits
from controller.reassignment.jobs import ROWS_PER_SLICE
from controller.state.state import Decision
from controller.views.jobs import waiting_reason
from tests.builders import InMemoryController, key, partition, planned_steps


def three(**limits: int) -> InMemoryController:
    names = ("foo-0", "foo-1", "foo-2")
    return (
        InMemoryController()
        .with_partitions(*(partition(name, [1, 2, 3]) for name in names))
        .with_limits(**limits)
    )


def roll_back(controller: InMemoryController, job: int) -> tuple[int, dict[str, str]]:
    reply = controller.do(RollBackJob(job)).reply
    return reply.job, {str(name): why for name, why in reply.skipped}


def test_an_accepted_request_is_a_job() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]}, requester=Requester("User:ann", "tool"))
    job = controller.state.orders.jobs[1]
    assert (job.kind, job.total, job.principal, job.client_id) == (JobKind.PLAN, 2, "User:ann", "tool")
    assert (job.created_ms, job.ended_ms) == (1_000, 0)


def test_a_request_that_changes_nothing_is_no_job() -> None:
    controller = three()
    controller.alter({"foo-0": [1, 2, 3], "nope-0": [1]})
    assert controller.state.orders.jobs == {}


def test_a_job_ends_with_its_last_partition() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    controller.isr("foo-0", [1, 2, 3, 4, 5, 6])
    assert controller.state.orders.jobs[1].ended_ms == 0
    controller.now_ms = 2_000
    controller.settle()
    assert controller.state.orders.jobs[1].ended_ms == 2_000


def test_a_job_of_reorders_ends_at_once() -> None:
    controller = three()
    controller.alter({"foo-0": [3, 2, 1]})
    assert controller.state.orders.jobs[1].ended_ms == 1_000


def test_a_partition_belongs_to_the_newest_job() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6]})
    controller.alter({"foo-0": [4, 5, 3]})
    assert controller.state.orders.finished[1][key("foo-0")].ending is Ending.TAKEN
    assert controller.state.orders.finished[1][key("foo-0")].taken_by == 2
    assert controller.state.orders.jobs[1].ended_ms


def test_a_rollback_of_a_job_includes_its_finished_partitions() -> None:
    controller = three()
    controller.alter({"foo-0": [6, 5, 4], "foo-1": [2, 3, 4]})
    controller.isr("foo-0", [1, 2, 3, 4, 5, 6])
    assert roll_back(controller, 1) == (2, {})
    controller.settle()
    assert [controller.replicas(name) for name in ("foo-0", "foo-1")] == [(1, 2, 3), (1, 2, 3)]
    assert controller.state.orders.open == {}


def test_a_rollback_starts_with_the_partition_finished_last() -> None:
    controller = three(partitions=1)
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    controller.settle()
    roll_back(controller, 1)
    assert controller.in_flight() == ["foo-1"]


def test_a_rollback_keeps_the_limits() -> None:
    controller = three(partitions=1)
    controller.alter({name: [4, 5, 6] for name in ("foo-0", "foo-1", "foo-2")})
    controller.settle()
    roll_back(controller, 1)
    while controller.state.in_flight:
        assert len(controller.in_flight()) == 1
        controller.catch_up()
    assert controller.replicas("foo-2") == (1, 2, 3)


def test_a_rollback_skips_and_names_partitions_of_later_jobs() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    controller.alter({"foo-0": [1, 5, 6]})
    job, skipped = roll_back(controller, 1)
    assert (job, skipped) == (3, {"foo-0": "taken over by job 2"})
    assert controller.settle().replicas("foo-0") == (1, 5, 6)


def test_partitions_that_were_changed_since_are_skipped() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6]})
    controller.settle().alter({"foo-0": [4, 5]})
    assert roll_back(controller, 1) == (
        0,
        {"foo-0": "its replicas are [4, 5], not the [4, 5, 6] that the job left"},
    )


def test_a_rollback_to_a_broker_that_is_gone_is_refused_as_an_order_to_it_is() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [2, 3, 4]})
    controller.settle().unregister(1)
    refused = controller.alter({"foo-0": [1, 2, 3]})["foo-0"].message
    assert roll_back(controller, 1) == (0, {"foo-0": refused, "foo-1": refused})


def test_a_broker_that_is_gone_does_not_hinder_a_rollback_to_the_replicas_that_are_there() -> None:
    controller = three(partitions=1)
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    controller.unregister(1)
    assert roll_back(controller, 1) == (2, {})
    assert [controller.settle().replicas(name) for name in ("foo-0", "foo-1")] == [(1, 2, 3)] * 2


def test_a_rollback_can_be_rolled_back() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    controller.isr("foo-0", [1, 2, 3, 4, 5, 6])
    roll_back(controller, 1)
    roll_back(controller.settle(), 2)
    controller.settle()
    assert [controller.replicas(name) for name in ("foo-0", "foo-1")] == [(4, 5, 6), (4, 5, 6)]


def test_an_unknown_job_is_refused_by_name() -> None:
    outcome = three().do(RollBackJob(7)).reply.outcome
    assert outcome.error is ErrorCode.RESOURCE_NOT_FOUND
    assert "no job 7" in outcome.message


def test_a_paused_job_finishes_its_steps_and_starts_none() -> None:
    controller = three(partitions=1)
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    controller.do(Pause(1, True))
    controller.settle()
    assert (controller.replicas("foo-0"), controller.replicas("foo-1")) == ((4, 5, 6), (1, 2, 3))
    controller.do(Pause(1, False))
    assert controller.settle().replicas("foo-1") == (4, 5, 6)


def test_another_job_runs_while_one_is_paused() -> None:
    controller = three(partitions=1)
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    controller.do(Pause(1, True))
    controller.alter({"foo-2": [4, 5, 6]})
    assert controller.settle().replicas("foo-2") == (4, 5, 6)


def test_a_pause_of_everything_survives_a_restart() -> None:
    controller = three()
    controller.do(Pause(None, True))
    controller.alter({"foo-0": [4, 5, 6]})
    again = controller.restart()
    assert again.in_flight() == []
    again.do(Pause(None, False))
    assert again.in_flight() == ["foo-0"]


def test_a_higher_priority_starts_first() -> None:
    controller = three(partitions=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.alter({"foo-1": [4, 5, 6]})
    controller.alter({"foo-2": [4, 5, 6]})
    controller.do(Prioritize(3, 10))
    controller.catch_up()
    assert controller.in_flight() == ["foo-2"]


def test_the_throttle_of_a_running_job_is_changed_and_removed() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6]}, throttle=1_000)
    rates = [controller.state.settings.config(ResourceType.BROKER, "4", FOLLOWER_RATE)]
    for throttle in (9_000, 0):
        assert controller.do(ThrottleJob(1, throttle)).reply.ok
        rates.append(controller.state.settings.config(ResourceType.BROKER, "4", FOLLOWER_RATE))
    assert rates == ["1000", "9000", None]
    assert controller.restart().state.orders.jobs[1].throttle == 0


def test_only_a_job_that_runs_has_a_throttle_to_change() -> None:
    controller = three()
    controller.alter({"foo-0": [3, 2, 1]})
    assert not controller.do(ThrottleJob(1, 5)).reply.ok
    assert not controller.do(ThrottleJob(7, 5)).reply.ok
    assert controller.state.throttle.rates == {}


def test_the_limits_of_a_job_apply_to_its_steps_alone() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]}, limits=PlanLimits(partitions=1))
    controller.alter({"foo-2": [4, 5, 6]})
    assert controller.in_flight() == ["foo-0", "foo-2"]
    reason = waiting_reason(controller.state, controller.state.orders.reassignments[key("foo-1")])
    assert reason == "limit P: 1 of 1 partition movements of job 1"


def test_the_limits_of_a_running_job_are_changed_and_removed() -> None:
    controller = three()
    controller.alter({f"foo-{n}": [4, 5, 6] for n in range(3)}, limits=PlanLimits(partitions=1))
    assert controller.do(LimitJob(1, {"partitions": 2})).reply.ok
    assert controller.in_flight() == ["foo-0", "foo-1"]
    assert controller.restart().state.orders.jobs[1].limits == PlanLimits(partitions=2)
    assert controller.do(LimitJob(1, {"partitions": None})).reply.ok
    assert controller.in_flight() == ["foo-0", "foo-1", "foo-2"]


def test_limits_of_a_job_that_had_none_count_its_steps_in_flight() -> None:
    controller = three(partitions=2)
    controller.alter({f"foo-{n}": [4, 5, 6] for n in range(3)})
    controller.do(LimitJob(1, {"partitions": 1}))
    controller.isr("foo-0", [1, 2, 3, 4, 5, 6])
    assert controller.in_flight() == ["foo-1"]
    controller.isr("foo-1", [1, 2, 3, 4, 5, 6])
    assert controller.in_flight() == ["foo-2"]


def test_a_job_moves_as_many_leaders_in_a_decision_as_its_own_limit_allows() -> None:
    controller = three()
    rows = [AlterTopic("foo", [AlterRow(n, (2, 1, 3)) for n in range(3)])]
    controller.decide(AlterReassignments(rows, limits=PlanLimits(leaders=1), elects=True))
    leaders = [controller[f"foo-{n}"].leader for n in range(3)]
    assert sorted(leaders) == [1, 1, 2]


def test_the_limits_of_a_job_end_with_it() -> None:
    controller = three()
    controller.alter({"foo-0": [4, 5, 6]}, limits=PlanLimits(partitions=1))
    controller.settle()
    assert controller.state.backlog.usage.jobs == {}
    assert not controller.do(LimitJob(1, {"partitions": 2})).reply.ok


def test_old_jobs_are_deleted_by_age() -> None:
    controller = three()
    controller.alter({"foo-0": [3, 2, 1]})
    controller.now_ms = 5_000
    controller.alter({"foo-1": [3, 2, 1]})
    controller.do(Prune(ended_before_ms=5_000, keep=100))
    assert list(controller.state.orders.jobs) == [2]
    assert list(controller.state.orders.finished) == [2]


def test_old_jobs_are_deleted_by_number_except_the_newest() -> None:
    controller = three()
    for replicas in ([3, 2, 1], [2, 1, 3], [1, 2, 3]):
        controller.alter({"foo-0": replicas})
    controller.do(Prune(ended_before_ms=0, keep=0))
    assert list(controller.state.orders.jobs) == [3]
    assert controller.restart().state.orders.last_job == 3


def test_a_job_of_lower_priority_starts_after_the_others() -> None:
    controller = three(partitions=1).with_partitions(partition("bar-0", [1, 2, 3]))
    controller.alter({name: [4, 5, 6] for name in ("foo-0", "foo-1", "foo-2")})
    controller.alter({"bar-0": [4, 5, 6]})
    controller.do(Prioritize(1, -5))
    controller.catch_up()
    assert controller.in_flight() == ["bar-0"]


def test_an_override_keeps_the_limits() -> None:
    controller = (
        InMemoryController()
        .with_partitions(partition("foo-0", [1, 2]), partition("foo-1", [2, 1]))
        .with_limits(per_broker=1)
    )
    controller.alter({"foo-0": [1, 4], "foo-1": [2, 5]})
    controller.alter({"foo-1": [2, 4]})
    assert (controller.in_flight(), controller.replicas("foo-1")) == (["foo-0"], (2, 1))
    assert controller.settle().replicas("foo-1") == (2, 4)


def test_a_job_is_kept_as_long_as_its_rollback() -> None:
    controller = three()
    controller.alter({"foo-0": [3, 2, 1]})
    roll_back(controller, 1)
    controller.alter({"foo-1": [3, 2, 1]})
    controller.do(Prune(ended_before_ms=10**9, keep=0))
    assert list(controller.state.orders.jobs) == [1, 3]


def test_partitions_of_a_topic_that_is_being_deleted_are_not_rolled_back() -> None:
    controller = three()
    controller.alter({"foo-0": [3, 2, 1], "foo-1": [4, 5, 6]})
    controller.do(DeleteTopics(["foo"]))
    assert roll_back(controller, 1) == (
        0,
        {"foo-0": "the topic was deleted", "foo-1": "the topic was deleted"},
    )
    controller.settle()
    assert controller.state.cluster.topics == {}


def test_a_rollback_visits_reassignments_in_slices() -> None:
    count = ROWS_PER_SLICE
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1]) for n in range(count + 1)))
    controller.alter({"foo-0": [2]})
    controller.alter({f"foo-{n}": [2] for n in range(1, count + 1)})
    slices = decide(Decision(controller.state), RollBackJob(1))
    assert len(list(slices)) == 1


def ordered(controller: InMemoryController, **waves: list[int]) -> int:
    """Put partitions, named as `foo_0`, in the order of these waves, as they are now."""
    rows = [planned_steps(controller, name.replace("_", "-"), its) for name, its in waves.items()]
    taken: int = controller.do(Reorder(1, rows)).reply
    return taken


def started_in_turn(controller: InMemoryController) -> list[str]:
    """The partitions in the order of their steps, one at a time."""
    names = controller.in_flight()
    while controller.state.in_flight:
        controller.catch_up()
        names += controller.in_flight()
    return names


def test_a_reorder_sets_which_partition_starts_next() -> None:
    controller = three(partitions=1)
    controller.alter({name: [4, 5, 6] for name in ("foo-0", "foo-1", "foo-2")})
    assert ordered(controller, foo_1=[1], foo_2=[0]) == 2
    assert started_in_turn(controller) == ["foo-0", "foo-2", "foo-1"]


def test_a_reorder_applies_to_every_step_of_a_partition() -> None:
    controller = three(partitions=1, per_partition=1)
    controller.do(Pause(None, True))
    controller.alter({name: [1, 4, 5] for name in ("foo-0", "foo-1")})
    ordered(controller, foo_0=[2, 3], foo_1=[0, 1])
    controller.do(Pause(None, False))
    assert started_in_turn(controller) == ["foo-1", "foo-1", "foo-0", "foo-0"]
    assert list(controller.state.backlog.planned) == []


def test_a_reorder_skips_partitions_that_have_changed() -> None:
    controller = three(partitions=1)
    controller.alter({name: [4, 5, 6] for name in ("foo-0", "foo-1")})
    controller.alter({"foo-2": [4, 5, 6]})
    stale = PlannedSteps(key("foo-1"), (1, 2), [PlannedStep(0, (4, 5, 6))])
    gone = PlannedSteps(key("nope-0"), (1, 2, 3), [PlannedStep(0, (4, 5, 6))])
    assert controller.do(Reorder(1, [stale, gone])).reply == 0
    assert ordered(controller, foo_2=[0]) == 0
    assert list(controller.state.backlog.planned) == []


def test_a_reorder_applies_after_the_step_in_flight() -> None:
    controller = three(partitions=1, per_partition=1)
    controller.alter({name: [1, 4, 5] for name in ("foo-0", "foo-1")})
    assert ordered(controller, foo_0=[2], foo_1=[0, 1]) == 2
    assert started_in_turn(controller) == ["foo-0", "foo-1", "foo-1", "foo-0"]


def test_a_new_target_removes_the_waves_of_a_partition() -> None:
    controller = three(partitions=1)
    controller.alter({name: [4, 5, 6] for name in ("foo-0", "foo-1", "foo-2")})
    ordered(controller, foo_1=[3], foo_2=[7])
    controller.alter({"foo-1": [6, 5, 4], "foo-2": None})
    assert list(controller.state.backlog.planned) == []


def test_waves_are_kept_during_a_pause() -> None:
    controller = three(partitions=1)
    controller.do(Pause(None, True))
    controller.alter({name: [4, 5, 6] for name in ("foo-0", "foo-1")})
    ordered(controller, foo_0=[1], foo_1=[0])
    assert controller.in_flight() == []
    controller.do(Pause(None, False))
    assert started_in_turn(controller) == ["foo-1", "foo-0"]


@pytest.mark.parametrize(("partitions", "left"), [(4, [1, 2, 3]), (3, [2, 3]), (2, [3]), (1, [3]), (0, [3])])
def test_old_jobs_are_deleted_by_their_number_of_partitions(partitions: int, left: list[int]) -> None:
    controller = three()
    for names in (["foo-0"], ["foo-1", "foo-2"], ["foo-0"]):
        controller.alter({name: list(reversed(controller.replicas(name))) for name in names})
        controller.settle()
    controller.do(Prune(ended_before_ms=0, keep=100, partitions=partitions))
    assert list(controller.state.orders.jobs) == left
