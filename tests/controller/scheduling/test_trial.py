from controller.model.cluster import TopicPartition
from controller.model.limits import PlanLimits
from controller.scheduling.backlog import Backlog
from controller.scheduling.buckets import Planned, Rank
from controller.scheduling.limits import Cost
from controller.scheduling.trial import Trial

RANK = Rank(0, True, True)


def key(number: int) -> TopicPartition:
    return TopicPartition("foo", number)


def crowded() -> Backlog:
    """One step is in flight, the limit, and steps 1 to 9 wait in three buckets; 9 has a wave of a plan."""
    backlog = Backlog()
    backlog.change_limits(PlanLimits(partitions=1))
    backlog.charge(key(0), Cost((4,), 1, leads=False))
    for number in range(1, 9):
        backlog.add(key(number), RANK, Cost((4 + number % 3,), 1, leads=False))
    backlog.add(key(9), RANK, Cost((4,), 1, leads=False), Planned(1, 0))
    assert not any(backlog.candidates())
    return backlog


def started(backlog: Backlog) -> list[TopicPartition]:
    """Take and charge steps as the controller does; return their partitions."""
    found = []
    for step in backlog.candidates():
        if step is not None:
            backlog.charge(*step)
            found.append(step[0])
    return found


def test_it_takes_the_steps_that_the_backlog_would_take() -> None:
    for limits in (PlanLimits(partitions=5), PlanLimits(partitions=7, per_broker=3), PlanLimits()):
        trial = started(Trial(crowded(), limits))
        backlog = crowded()
        backlog.change_limits(limits)
        assert sorted(trial) == sorted(started(backlog))


def test_the_backlog_does_not_change() -> None:
    backlog = crowded()
    assert len(started(Trial(backlog, PlanLimits()))) == 9
    assert (backlog.size, len(backlog.costs), started(backlog)) == (9, 1, [])
    backlog.change_limits(PlanLimits())
    assert len(started(backlog)) == 9


def test_a_void_entry_is_left_out() -> None:
    backlog = crowded()
    backlog.add(key(1), RANK, Cost((9,), 1, leads=False))
    assert sorted(started(Trial(backlog, PlanLimits()))) == [key(number) for number in range(1, 10)]


def test_a_step_that_is_added_again_is_taken_again() -> None:
    trial = Trial(crowded(), PlanLimits(partitions=2))
    step = next(step for step in trial.candidates() if step is not None)
    trial.add(step[0], RANK, step[1])
    assert len(started(trial)) == 1


def test_steps_in_flight_count() -> None:
    assert started(Trial(crowded(), PlanLimits(partitions=1))) == []
    assert len(started(Trial(crowded(), PlanLimits(partitions=2)))) == 1
