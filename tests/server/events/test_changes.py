"""Which events a decision has."""

import pytest

from controller.messages.event import AnyEvent
from controller.messages.events import AlterConfigs, AlterReassignments, PeriodChanged, ResourceChanges
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Prune
from controller.model.cluster import ResourceType
from controller.model.configs import SCHEDULE, ConfigChange, ConfigOp
from server.events import changes
from server.events.changes import events_of
from server.events.models import (
    Event,
    JobDeleted,
    JobEvent,
    ManyPartitions,
    PartitionEvent,
    PausedEvent,
    ScheduleEvent,
)
from tests.builders import InMemoryController, partition


class Watched:
    """A controller with partition foo-0 on broker 1 and foo-1 on broker 2."""

    def __init__(self) -> None:
        self.controller = InMemoryController().with_partitions(
            partition("foo-0", [1]), partition("foo-1", [2])
        )

    def do(self, event: AnyEvent) -> list[Event]:
        return list(events_of(self.controller.state, self.controller.do(event)))

    def order(self, *targets: list[int] | None) -> list[Event]:
        rows = [
            AlterRow(number, None if each is None else tuple(each)) for number, each in enumerate(targets)
        ]
        return self.do(AlterReassignments([AlterTopic("foo", rows)]))

    def set_schedule(self, text: str | None) -> list[Event]:
        change = ConfigChange(SCHEDULE, ConfigOp.DELETE if text is None else ConfigOp.SET, text)
        return self.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", [change])]))


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_an_order_has_its_job_before_its_partitions(watched: Watched) -> None:
    job, moving = watched.order([3])
    assert isinstance(job, JobEvent)
    assert (job.job, job.state, job.total, job.ended_ms, job.endings) == (1, "running", 1, None, {})
    assert moving == PartitionEvent("foo", 0, 1, "moving", (1,), (3,))


def test_a_waiting_partition_has_an_event(watched: Watched) -> None:
    watched.controller.with_limits(partitions=1)
    _, *parts = watched.order([3], [3])
    assert sorted(part.state for part in parts if isinstance(part, PartitionEvent)) == ["moving", "queued"]


def test_the_end_of_a_job_follows_that_of_its_partitions(watched: Watched) -> None:
    watched.order([3])
    ended, job = watched.order(None)
    assert isinstance(ended, PartitionEvent)
    assert ended.state == "rolled back"
    assert isinstance(job, JobEvent)
    assert (job.state, job.endings) == ("ended", {"rolled back": 1})


def test_a_pause_and_the_deletion_of_a_job_have_events(watched: Watched) -> None:
    assert watched.do(Pause(None, True)) == [PausedEvent(True)]
    for _ in range(2):
        watched.order([3])
        watched.order(None)
    assert JobDeleted(1) in watched.do(Prune(10**15, 1))


def test_the_start_and_the_end_of_a_period_have_an_event(watched: Watched) -> None:
    outside = ScheduleEvent(False, 5, 3_600_000, "outside of the schedule until 01:00 (UTC)")
    assert watched.set_schedule("01:00-02:00 throttle=5") == [outside]
    assert watched.do(PeriodChanged()) == []
    watched.controller.now_ms = 3_600_000
    assert watched.do(PeriodChanged()) == [ScheduleEvent(True, 5, 7_200_000, None)]
    watched.controller.now_ms = 7_200_000
    (ended,) = watched.do(PeriodChanged())
    assert isinstance(ended, ScheduleEvent)
    assert not ended.open


def test_the_steps_that_a_period_starts_follow_its_event(watched: Watched) -> None:
    watched.set_schedule("01:00-02:00")
    _, waiting = watched.order([3])
    assert waiting == PartitionEvent("foo", 0, 1, "waiting", (1,), (3,))
    watched.controller.now_ms = 3_600_000
    opened, moving = watched.do(PeriodChanged())
    assert isinstance(opened, ScheduleEvent)
    assert moving == PartitionEvent("foo", 0, 1, "moving", (1,), (3,))


def test_the_removal_of_the_schedule_has_an_event(watched: Watched) -> None:
    watched.set_schedule("01:00-02:00")
    assert watched.set_schedule(None) == [ScheduleEvent(True, None, None, None)]
    assert watched.set_schedule(None) == []


def test_isr_changes_of_other_partitions_have_no_event(watched: Watched) -> None:
    assert watched.do(AlterReassignments([])) == []


def test_too_many_partitions_are_only_counted(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MOST", 1)
    events = watched.order([3], [3])
    assert [type(each) for each in events] == [JobEvent, ManyPartitions]
