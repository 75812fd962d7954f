"""Log lines about decisions: one a request or event that matters, none a partition."""

import asyncio
import logging
from dataclasses import replace

import pytest

from common.clock import ManualClock
from controller.messages.event import AnyEvent
from controller.messages.events import (
    AlterConfigs,
    AlterReassignments,
    BrokerStarted,
    BrokerStopped,
    ControllerStarted,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    LogDirFailed,
    NewPartitions,
    NewTopic,
    ResourceChanges,
    Stalled,
)
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Prioritize, RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from server.driver.journal import PROGRESS_SECONDS, Journal, progress, report_progress_periodically
from tests.builders import InMemoryController, key, partition, registration
from tests.server.rig import Rig, settle

P = "reassignment.max.concurrent.partition.movements"


class Noted:
    """A world whose decisions are noted; `lines` are those since the last look."""

    def __init__(self, controller: InMemoryController, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "server.driver.journal")
        self.controller, self._caplog = controller, caplog
        self._journal = Journal(controller.state)

    def lines(self, event: AnyEvent) -> list[str]:
        self._caplog.clear()
        self._journal.note(event, self.controller.decide(event))
        return list(self._caplog.messages)

    def order(self, replicas: tuple[int, ...] | None, *partitions: int) -> AlterReassignments:
        rows = [AlterRow(number, replicas) for number in partitions]
        return AlterReassignments([AlterTopic("foo", rows)], principal="User:ann", client_id="tool")


@pytest.fixture
def noted(caplog: pytest.LogCaptureFixture) -> Noted:
    return Noted(
        InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(3))), caplog
    )


def test_a_job_is_told_when_it_is_accepted(noted: Noted) -> None:
    lines = noted.lines(noted.order((3, 4), 0, 1))
    assert lines == ["job 1 accepted: 2 partitions, from User:ann tool"]


def test_a_job_is_told_when_it_has_ended_and_how(noted: Noted) -> None:
    noted.lines(noted.order((3, 4), 0))
    noted.controller.now_ms += 48_000
    assert noted.lines(noted.order(None, 0)) == [
        "1 partition cancelled, from User:ann tool",
        "job 1 ended after 48 s: 1 rolled back",
    ]


def test_a_job_of_an_earlier_run_is_not_accepted_again(
    noted: Noted, caplog: pytest.LogCaptureFixture
) -> None:
    noted.lines(noted.order((3, 4), 0))
    again = Noted(noted.controller, caplog)
    assert again.lines(Prioritize(1, 5)) == ["job 1 has priority 5"]


def test_a_roll_back_names_the_job_that_it_takes_back(noted: Noted) -> None:
    noted.lines(noted.order((3, 4), 0))
    assert noted.lines(RollBackJob(1)) == [
        "job 2 accepted: 1 partition, from User:ANONYMOUS, takes back job 1",
        "job 1 ended after 0 ms: 1 taken over",
        "job 2 ended after 0 ms: 1 rolled back",
    ]


@pytest.mark.parametrize("topics", [None, [AlterTopic("foo", None)]])
def test_a_cancel_of_all_counts_what_was_cancelled(noted: Noted, topics: list[AlterTopic] | None) -> None:
    noted.lines(noted.order((3, 4), 0, 1))
    assert noted.lines(AlterReassignments(topics))[0] == "2 partitions cancelled, from User:ANONYMOUS"


def test_what_is_refused_is_not_told(noted: Noted) -> None:
    assert noted.lines(noted.order(None, 0)) == []
    assert noted.lines(noted.order((9,), 0)) == []
    assert noted.lines(Pause(7, paused=True)) == []
    assert noted.lines(Prioritize(7, 1)) == []
    assert noted.lines(DeleteTopics(["ghost"])) == []
    assert noted.lines(CreateTopics([NewTopic("foo", bytes(16), 1, 1)])) == []


def test_changed_configs_are_told_with_their_resource(noted: Noted) -> None:
    set_, unset = ConfigChange(P, ConfigOp.SET, "2"), ConfigChange(P, ConfigOp.DELETE, None)
    cluster = ResourceChanges(ResourceType.BROKER, "", [set_])
    topic = ResourceChanges(
        ResourceType.TOPIC, "foo", [ConfigChange("min.insync.replicas", ConfigOp.SET, "2")]
    )
    assert noted.lines(AlterConfigs([cluster, topic])) == [
        f"configs changed: cluster-wide {P}=2, topic foo min.insync.replicas=2"
    ]
    lines = noted.lines(AlterConfigs([cluster._replace(changes=[unset])]))
    assert lines == [f"configs changed: cluster-wide {P} unset"]
    assert noted.lines(AlterConfigs([cluster], validate_only=True)) == []


def test_a_request_s_topics_are_told_in_one_line(noted: Noted) -> None:
    topics = [NewTopic(f"t{n}", bytes([n]) * 16, 2, 1) for n in range(1, 8)]
    assert noted.lines(CreateTopics(topics, validate_only=True)) == []
    assert noted.lines(CreateTopics(topics)) == [
        "7 topics created: t1, t2, t3, t4, t5 and 2 more; 14 partitions"
    ]
    assert noted.lines(DeleteTopics(["t1"])) == ["1 topic deleted: t1"]
    noted.lines(noted.order((3, 4), 0))
    assert noted.lines(DeleteTopics(["t7", "foo"])) == [
        "1 topic deleted: t7",
        "1 topic to be deleted when nothing of it moves and the brokers with its replicas are there: foo",
    ]
    more = CreatePartitions([NewPartitions("t2", 4)])
    assert noted.lines(replace(more, validate_only=True)) == []
    assert noted.lines(more) == ["1 topic given more partitions: t2"]


def test_brokers_are_told_as_they_go_and_come(noted: Noted) -> None:
    noted.lines(BrokerStopped(1))
    assert noted.lines(BrokerStopped(2)) == ["broker 2 lost: 3 partitions offline"]
    assert noted.lines(BrokerStopped(2)) == []
    (line,) = noted.lines(BrokerStarted(registration(2)))
    assert line.startswith("broker 2 registered: ")
    assert line.endswith("; 0 partitions offline")


def test_failures_of_disks_and_steps_are_told(noted: Noted) -> None:
    assert noted.lines(LogDirFailed(2, [key("foo-0")])) == ["broker 2: a log directory failed with 1 replica"]
    noted.lines(noted.order((3, 4), 1))
    assert noted.lines(Stalled([key("foo-1")]))[0] == "1 step made no progress for too long: foo-1"


def test_pauses_are_told(noted: Noted) -> None:
    noted.lines(noted.order((3, 4), 0))
    assert noted.lines(Pause(None, paused=True)) == ["everything paused"]
    assert noted.lines(Pause(1, paused=False)) == ["job 1 resumed"]


def test_a_start_tells_what_it_takes_up_and_who_is_missing(noted: Noted) -> None:
    noted.lines(noted.order((3, 6), 0))
    state = noted.controller.state
    state.live.clear()
    assert noted.lines(ControllerStarted([registration(1), registration(2), registration(3)])) == [
        "resuming 1 reassignment, 1 step in flight; 0 waiting",
        "the records know brokers 4, 5, 6 that were not started: 0 partitions offline",
    ]


def test_a_start_on_nothing_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    assert Noted(InMemoryController(()), caplog).lines(ControllerStarted([registration(1)])) == []


def test_progress_tells_what_moves_and_why_the_rest_does_not(noted: Noted) -> None:
    assert progress(noted.controller.state) == ""
    noted.controller.with_limits(partitions=1)
    noted.lines(BrokerStopped(6))
    noted.lines(noted.order((3, 4), 0, 1))
    noted.lines(noted.order((6, 1), 2))
    text = "3 of 3 partitions left, 1 moving, 1 queued, 1 waiting: offline: broker 6 (1)"
    assert progress(noted.controller.state) == text
    noted.lines(Pause(None, paused=True))
    assert ", paused, " in progress(noted.controller.state)


async def test_progress_is_told_again_only_when_it_has_changed(
    noted: Noted, caplog: pytest.LogCaptureFixture
) -> None:
    noted.lines(noted.order((3, 4), 0, 1))
    caplog.clear()
    clock = ManualClock()
    task = asyncio.create_task(report_progress_periodically(noted.controller.state, clock))
    for _ in range(10):
        await clock.advance(PROGRESS_SECONDS)
    task.cancel()
    assert caplog.messages == ["2 of 2 partitions left, 2 moving"]


async def test_a_decision_is_noted_when_it_is_durable() -> None:
    rig = Rig()
    rig.driver.start()
    noted: list[tuple[AnyEvent, object]] = []
    rig.driver.note = lambda event, decision: noted.append((event, decision.reply))
    rig.store.hold()
    reply = rig.submit(7)
    await settle()
    assert noted == []
    rig.store.release(1)
    await reply
    assert noted == [(BrokerStopped(7), 7)]
    await rig.driver.stop()
