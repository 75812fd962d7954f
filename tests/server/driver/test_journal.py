"""Log lines about decisions: one per request or relevant event, none per partition."""

import asyncio
import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest

from common.clock import ManualClock
from common.error_codes import ErrorCode
from controller.gateway.events import Submitted, UpstreamPolled
from controller.messages.disk_events import CancelMoves, MoveDisks, OrderedMove
from controller.messages.event import AnyEvent, Requester
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
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Prioritize, RollBackJob, ThrottleJob
from controller.model.cluster import Reassignment, ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.modes import EMBEDDED, GATEWAY
from controller.state.state import Decision, State
from server.driver.journal import (
    PROGRESS_SECONDS,
    Journal,
    UpstreamJournal,
    progress,
    report_progress_periodically,
)
from server.events.hub import EventHub
from tests.builders import InMemoryController, key, partition, registration
from tests.controller.kraft import Gateway
from tests.server.rig import Rig, settle

P = "reassignment.max.concurrent.partition.movements"


class JournalRig:
    """A controller whose decisions are logged. `lines` returns the log lines of one event."""

    def __init__(self, controller: InMemoryController, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "server.driver.journal")
        self.controller, self._caplog = controller, caplog
        self._journal = Journal(controller.state)

    def lines(self, event: AnyEvent) -> list[str]:
        self._caplog.clear()
        self._journal.log_decision(event, self.controller.decide(event))
        return list(self._caplog.messages)

    def order(self, replicas: tuple[int, ...] | None, *partitions: int) -> AlterReassignments:
        rows = [AlterRow(number, replicas) for number in partitions]
        return AlterReassignments([AlterTopic("foo", rows)], requester=Requester("User:ann", "tool"))


@pytest.fixture
def journal(caplog: pytest.LogCaptureFixture) -> JournalRig:
    return JournalRig(
        InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(3))), caplog
    )


def test_an_accepted_job_is_logged(journal: JournalRig) -> None:
    lines = journal.lines(journal.order((3, 4), 0, 1))
    assert lines == ["job 1 accepted: 2 partitions, from User:ann tool"]


def test_an_ended_job_is_logged_with_its_result(journal: JournalRig) -> None:
    journal.lines(journal.order((3, 4), 0))
    journal.controller.now_ms += 48_000
    assert journal.lines(journal.order(None, 0)) == [
        "1 partition cancelled, from User:ann tool",
        "job 1 ended after 48 s: 1 rolled back",
    ]


def test_a_long_client_id_is_cut(journal: JournalRig) -> None:
    order = replace(journal.order((3, 4), 0), requester=Requester("User:ann", "x" * 30_000))
    assert journal.lines(order) == [f"job 1 accepted: 1 partition, from User:ann {'x' * 250}"]
    assert journal.lines(replace(order, topics=journal.order(None, 0).topics))[0].endswith(f" {'x' * 250}")


def test_each_cancelled_partition_counts_once(journal: JournalRig) -> None:
    journal.lines(journal.order((3, 4), 0, 1))
    lines = journal.lines(journal.order(None, 0, 1, 1, 2))
    assert lines[0] == "2 partitions cancelled, from User:ann tool"


def test_a_job_of_an_earlier_run_is_not_logged_as_accepted(
    journal: JournalRig, caplog: pytest.LogCaptureFixture
) -> None:
    journal.lines(journal.order((3, 4), 0))
    again = JournalRig(journal.controller, caplog)
    assert again.lines(Prioritize(1, 5)) == ["job 1 has priority 5"]
    assert again.lines(ThrottleJob(1, 5_000)) == ["job 1 has a throttle of 5 kB/s of its own"]
    assert again.lines(ThrottleJob(1, 0)) == ["job 1 has no throttle of its own"]


def test_a_rollback_names_the_job_that_it_reverses(journal: JournalRig) -> None:
    journal.lines(journal.order((3, 4), 0))
    assert journal.lines(RollBackJob(1)) == [
        "job 2 accepted: 1 partition, from User:ANONYMOUS, takes back job 1",
        "job 1 ended after 0 ms: 1 taken over",
        "job 2 ended after 0 ms: 1 rolled back",
    ]


@pytest.mark.parametrize("topics", [None, [AlterTopic("foo", None)]])
def test_a_cancel_of_all_counts_the_cancelled_partitions(
    journal: JournalRig, topics: list[AlterTopic] | None
) -> None:
    journal.lines(journal.order((3, 4), 0, 1))
    assert journal.lines(AlterReassignments(topics))[0] == "2 partitions cancelled, from User:ANONYMOUS"


def test_a_refused_request_is_not_logged(journal: JournalRig) -> None:
    assert journal.lines(journal.order(None, 0)) == []
    assert journal.lines(journal.order((9,), 0)) == []
    assert journal.lines(Pause(7, paused=True)) == []
    assert journal.lines(Prioritize(7, 1)) == journal.lines(ThrottleJob(7, 1)) == []
    assert journal.lines(DeleteTopics(["ghost"])) == []
    assert journal.lines(CreateTopics([NewTopic("foo", bytes(16), 1, 1)])) == []


def test_changed_configs_are_logged_with_their_resource(journal: JournalRig) -> None:
    set_, unset = ConfigChange(P, ConfigOp.SET, "2"), ConfigChange(P, ConfigOp.DELETE, None)
    cluster = ResourceChanges(ResourceType.BROKER, "", [set_])
    topic = ResourceChanges(
        ResourceType.TOPIC, "foo", [ConfigChange("min.insync.replicas", ConfigOp.SET, "2")]
    )
    assert journal.lines(AlterConfigs([cluster, topic])) == [
        f"configs changed: cluster-wide {P}=2, topic foo min.insync.replicas=2"
    ]
    lines = journal.lines(AlterConfigs([cluster._replace(changes=[unset])]))
    assert lines == [f"configs changed: cluster-wide {P} unset"]
    assert journal.lines(AlterConfigs([cluster], validate_only=True)) == []


def test_the_topics_of_a_request_are_logged_in_one_line(journal: JournalRig) -> None:
    topics = [NewTopic(f"t{n}", bytes([n]) * 16, 2, 1) for n in range(1, 8)]
    assert journal.lines(CreateTopics(topics, validate_only=True)) == []
    assert journal.lines(CreateTopics(topics)) == [
        "7 topics created: t1, t2, t3, t4, t5 and 2 more; 14 partitions"
    ]
    assert journal.lines(DeleteTopics(["t1"])) == ["1 topic deleted: t1"]
    journal.lines(journal.order((3, 4), 0))
    assert journal.lines(DeleteTopics(["t7", "foo"])) == [
        "1 topic deleted: t7",
        "1 topic to be deleted when nothing of it moves and the brokers with its replicas are there: foo",
    ]
    more = CreatePartitions([NewPartitions("t2", 4)])
    assert journal.lines(replace(more, validate_only=True)) == []
    assert journal.lines(more) == ["1 topic given more partitions: t2"]


def test_stopped_and_started_brokers_are_logged(journal: JournalRig) -> None:
    journal.lines(BrokerStopped(1))
    assert journal.lines(BrokerStopped(2)) == ["broker 2 lost: 3 partitions offline"]
    assert journal.lines(BrokerStopped(2)) == []
    (line,) = journal.lines(BrokerStarted(registration(2)))
    assert line.startswith("broker 2 registered: ")
    assert line.endswith("; 0 partitions offline")


def test_disk_failures_and_stalled_steps_are_logged(journal: JournalRig) -> None:
    assert journal.lines(LogDirFailed(2, [key("foo-0")])) == [
        "broker 2: a log directory failed with 1 replica"
    ]
    journal.lines(journal.order((3, 4), 1))
    assert journal.lines(Stalled([key("foo-1")]))[0] == "1 step made no progress for too long: foo-1"


def test_pauses_are_logged(journal: JournalRig) -> None:
    journal.lines(journal.order((3, 4), 0))
    assert journal.lines(Pause(None, paused=True)) == ["everything paused"]
    assert journal.lines(Pause(1, paused=False)) == ["job 1 resumed"]


def test_a_start_logs_ongoing_work_and_missing_brokers(journal: JournalRig) -> None:
    journal.lines(journal.order((3, 6), 0))
    state = journal.controller.state
    state.cluster.live.clear()
    assert journal.lines(ControllerStarted([registration(1), registration(2), registration(3)])) == [
        "resuming 1 reassignment, 1 step in flight; 0 waiting",
        "the records know brokers 4, 5, 6 that were not started: 0 partitions offline",
    ]


def test_the_first_poll_of_a_gateway_logs_ongoing_work_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "server.driver.journal")
    gateway = Gateway(("foo-0", (1, 2)))
    gateway.alter({"foo-0": (3, 4)})
    journal = Journal(gateway.state)
    for _ in range(2):
        journal.log_decision(UpstreamPolled([], [], {}, False), Decision(gateway.state))
    assert caplog.messages == ["resuming 1 reassignment, 1 step in flight; 0 waiting"]


def test_a_start_without_records_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert JournalRig(InMemoryController(()), caplog).lines(ControllerStarted([registration(1)])) == []


def test_progress_is_logged_with_the_reasons_of_waiting_partitions(journal: JournalRig) -> None:
    assert progress(journal.controller.state) == ""
    journal.controller.with_limits(partitions=1)
    journal.lines(BrokerStopped(6))
    journal.lines(journal.order((3, 4), 0, 1))
    journal.lines(journal.order((6, 1), 2))
    text = "3 of 3 partitions left, 1 moving, 1 queued, 1 waiting: offline: broker 6 (1)"
    assert progress(journal.controller.state) == text
    journal.lines(Pause(None, paused=True))
    assert ", paused, " in progress(journal.controller.state)
    journal.controller.state.throttle.note_unlisted((ResourceType.TOPIC, "foo", "list"), 7)
    assert progress(journal.controller.state).endswith("7 replicas not throttled: full lists of foo")


def test_moves_between_directories_are_logged_from_order_to_end(journal: JournalRig) -> None:
    rows = [OrderedMove("foo", number, 1, "/a", "/b") for number in (0, 1)]
    assert journal.lines(MoveDisks(rows)) == ["job 1 accepted: 2 replicas, from User:ANONYMOUS"]
    text = "2 replicas left to move between log directories, 0 moving"
    assert progress(journal.controller.state) == text
    assert journal.lines(CancelMoves(None)) == [
        "2 moves between log directories cancelled, from User:ANONYMOUS",
        "job 1 ended after 0 ms: 2 rolled back",
    ]
    assert progress(journal.controller.state) == ""


async def test_unchanged_progress_is_not_logged_again(
    journal: JournalRig, caplog: pytest.LogCaptureFixture
) -> None:
    journal.lines(journal.order((3, 4), 0, 1))
    caplog.clear()
    clock = ManualClock()
    task = asyncio.create_task(report_progress_periodically(journal.controller.state, clock))
    for _ in range(10):
        await clock.advance(PROGRESS_SECONDS)
    task.cancel()
    assert caplog.messages == ["2 of 2 partitions left, 2 moving"]


async def test_a_decision_is_logged_after_its_commit() -> None:
    rig = Rig()
    async with rig.running():
        rig.store.hold()
        reply = rig.submit(7)
        await settle()
        assert rig.decided == []
        rig.store.release(1)
        await reply
        assert rig.decided == [(BrokerStopped(7), 7)]


async def test_decisions_are_published_to_readers_only() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    hub = EventHub(controller.state, lambda: "cluster-1")
    journal = Journal(controller.state, hub)
    pauses = [Pause(None, True), Pause(None, False)]
    journal.log_decision(pauses[0], controller.decide(pauses[0]))
    reader = hub.open()
    journal.log_decision(pauses[1], controller.decide(pauses[1]))
    hub.stop()
    told = b"".join([frame async for frame in reader.frames(str)])
    assert told.count(b"event: paused") == 1


def test_every_event_is_documented() -> None:
    folder = Path(__file__).parents[3]
    source = (folder / "server" / "driver" / "journal.py").read_text("utf-8")
    events = set(re.findall(r'"event": "([a-z_]+)"', source)) | {
        "job_accepted",
        "job_queued",
        "paused",
        "resumed",
    }
    text = (folder / "docs" / "observability.md").read_text("utf-8")
    assert len(events) > 15
    assert {event for event in events if f"`{event}`" not in text} == set()


def test_a_problem_and_its_end_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    state = State(mode=EMBEDDED)
    journal = UpstreamJournal(state)
    for trouble in ("missing: broker 5", "missing: broker 5", ""):
        state.gateway.health_problem = trouble
        journal.trouble()
    assert caplog.messages == [
        "the cluster is unhealthy, only steps that repair it start: missing: broker 5",
        "the health guard lets steps start again",
    ]


def test_an_upstream_that_cannot_be_polled_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    state = State(GATEWAY)
    state.gateway.lost("connection refused", 0)
    state.gateway.set_health("connection refused")
    UpstreamJournal(state).trouble()
    assert caplog.messages == ["nothing starts, the upstream cannot be polled: connection refused"]


def test_blocked_partitions_are_named_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    decision = Decision(State(mode=EMBEDDED))
    decision.changes += [
        Reassignment("foo", n, (1,), (2,), 1, "cancelled by another client") for n in range(7)
    ]
    UpstreamJournal(decision.state).observed(decision)
    names = "foo-0, foo-1, foo-2, foo-3, foo-4"
    assert caplog.messages == [
        f"{names} and 2 more: cancelled by another client; submit it again, cancel it, or resume its job"
    ]


def test_refused_rows_are_counted_by_reason(caplog: pytest.LogCaptureFixture) -> None:
    refused = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker")
    UpstreamJournal(State(mode=EMBEDDED)).submitted(
        Submitted([(key("foo-0"), (1,), refused), (key("foo-1"), (1,), Outcome())])
    )
    assert caplog.messages == ["the upstream refused 1 of 2 rows: no such broker"]


def test_rows_without_an_answer_are_not_logged_as_refused(caplog: pytest.LogCaptureFixture) -> None:
    lost = Outcome(ErrorCode.REQUEST_TIMED_OUT, "kafka1:9092 did not answer")
    refused = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker")
    UpstreamJournal(State(mode=EMBEDDED)).submitted(
        Submitted([(key("foo-0"), (1,), lost), (key("foo-1"), None, lost), (key("foo-2"), (1,), refused)])
    )
    assert caplog.messages == ["the upstream refused 1 of 3 rows: no such broker"]


def test_a_step_that_completed_before_its_undo_is_not_logged_as_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    over = Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    UpstreamJournal(State(mode=EMBEDDED)).submitted(Submitted([(key("foo-0"), None, over)]))
    assert caplog.messages == []
