from controller.model.jobs import PlannedStep
from controller.scheduling.step_plans import StepCounts, StepPlans
from tests.builders import key

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
