"""The decisions with an audit entry, and the content of the entry."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from controller.machine import decide
from controller.messages.disk_events import CancelMoves, MoveDisks, OrderedMove
from controller.messages.event import AnyEvent, Requester
from controller.messages.events import AlterConfigs, AlterReassignments, BrokerStopped, ResourceChanges
from controller.messages.held_events import DecideHeld, Hold, SubmitHeld
from controller.messages.job_events import (
    AlterRow,
    AlterTopic,
    Pause,
    Prioritize,
    Queue,
    RollBackJob,
    ThrottleJob,
)
from controller.model.audit import AuditAction, AuditEntry
from controller.model.cluster import Paused, ResourceType
from controller.model.configs import THROTTLE, ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.model.held_requests import HeldRequest
from controller.state.state import Decision
from server.audit.detail import LENGTH, NAMED
from server.audit.trail import AuditTrail
from tests.builders import InMemoryController, partition

ANN = Requester("User:ann", "tool")
LIMIT = "reassignment.max.concurrent.partition.movements"


class Audited:
    """A controller with partitions foo-0 and foo-1 on broker 1, and the trail of its decisions."""

    def __init__(self) -> None:
        self.controller = InMemoryController().with_partitions(
            partition("foo-0", [1]), partition("foo-1", [1])
        )
        self.trail = AuditTrail(self.controller.state)

    def do(self, event: AnyEvent) -> AuditEntry | None:
        return self.trail.entry(event, self.controller.do(event))

    def order(self, *targets: list[int] | None) -> AuditEntry | None:
        rows = [
            AlterRow(number, None if target is None else tuple(target))
            for number, target in enumerate(targets)
        ]
        return self.do(AlterReassignments([AlterTopic("foo", rows)], requester=Requester("User:ann", "tool")))


@pytest.fixture
def audited() -> Audited:
    return Audited()


def told(entry: AuditEntry | None) -> tuple[str, str, str | None, int, Any]:
    """Action, principal, client id, job and detail."""
    assert entry is not None
    return entry.action.value, entry.principal, entry.client_id, entry.job, json.loads(entry.detail)


def test_an_order_has_its_numbers(audited: Audited) -> None:
    assert told(audited.order([2], [2])) == (
        "order", "User:ann", "tool", 1,
        {"requested": 2, "partitions": 2, "topics": ["foo"], "topic_count": 1},
    )  # fmt: skip


def test_a_cancel_has_no_job(audited: Audited) -> None:
    audited.order([2], [2])
    action, _, _, job, detail = told(audited.order(None))
    assert (action, job, detail["cancelled"]) == ("cancel", 0, 1)


def test_an_order_with_a_cancel_counts_both(audited: Audited) -> None:
    audited.order([2])
    action, _, _, job, detail = told(audited.order(None, [2]))
    assert (action, job, detail["partitions"], detail["cancelled"]) == ("order", 2, 1, 1)


def test_a_cancel_of_everything_is_counted(audited: Audited) -> None:
    audited.order([2], [2])
    assert told(audited.do(AlterReassignments(None)))[4]["cancelled"] == 2


def test_refused_requests_have_no_entry(audited: Audited) -> None:
    assert audited.order([99]) is None
    assert audited.order(None) is None
    assert audited.do(Pause(7, True, ANN)) is None
    assert audited.do(RollBackJob(7)) is None


def test_a_queued_plan_and_its_rollback_have_entries(audited: Audited) -> None:
    topics = [AlterTopic("foo", [AlterRow(0, (2,))])]
    assert told(audited.do(Queue(topics, requester=Requester("User:ann"))))[:4] == (
        "queue",
        "User:ann",
        None,
        1,
    )
    action, _, _, job, detail = told(audited.do(RollBackJob(1, Requester("User:ann"))))
    assert (action, job, detail["rolled_back"]) == ("rollback", 2, 1)


def test_pause_resume_and_priority_name_the_requester(audited: Audited) -> None:
    audited.order([2])
    assert told(audited.do(Pause(None, True, ANN))) == ("pause", *ANN[:2], 0, {"left": 1})
    assert told(audited.do(Pause(1, False, ANN))) == ("resume", *ANN[:2], 1, {"left": 1})
    assert told(audited.do(Prioritize(1, 5, ANN))) == ("priority", *ANN[:2], 1, {"priority": 5})
    assert told(audited.do(ThrottleJob(1, 5, ANN))) == ("limits", *ANN[:2], 1, {"configs": {THROTTLE: "5"}})


BOB = Requester("User:bob", "tool")


def held(audited: Audited, body: str = "") -> AuditEntry | None:
    """Let Ann ask for a rebalance."""
    request = HeldRequest(0, 0, "rebalance", "dryrun=false", body, "10.0.0.1", "User:ann")
    return audited.do(Hold(request, ANN))


def reviewed(entry: AuditEntry | None) -> tuple[str, Any]:
    action, principal, _, job, detail = told(entry)
    assert (action, job) == ("review", 0)
    return principal, detail


def test_held_requests_have_entries_when_they_are_held_decided_and_carried_out(audited: Audited) -> None:
    asked = "of User:ann: REBALANCE?dryrun=false"
    assert reviewed(held(audited)) == ("User:ann", {"reviewed": [f"held 1 {asked}"], "changed": 1})
    held(audited)
    decided = reviewed(audited.do(DecideHeld([1], [2], "fine", BOB)))
    texts = [f"approved 1 {asked}", f"discarded 2 {asked}"]
    assert decided == ("User:bob", {"reviewed": texts, "changed": 2, "reason": "fine"})
    done = reviewed(audited.do(SubmitHeld(1, "rebalance", ANN)))
    assert done == ("User:ann", {"reviewed": [f"carried out 1 {asked}"], "changed": 1})


def test_refused_decisions_about_held_requests_have_no_entry(audited: Audited) -> None:
    held(audited)
    assert audited.do(DecideHeld([1], [], "fine", ANN)) is None
    assert audited.do(SubmitHeld(1, "rebalance", ANN)) is None


def test_an_entry_names_the_first_held_requests_and_a_part_of_each(audited: Audited) -> None:
    for _ in range(NAMED + 2):
        held(audited, "x" * LENGTH)
    _, detail = reviewed(audited.do(DecideHeld([], range(1, NAMED + 3), "y" * 2 * LENGTH, BOB)))
    assert (len(detail["reviewed"]), detail["changed"]) == (NAMED, NAMED + 2)
    assert {len(each) for each in (*detail["reviewed"], detail["reason"])} == {LENGTH}


def test_the_instance_that_forwarded_a_request_is_named(audited: Audited) -> None:
    via = ANN._replace(via="standby")
    assert told(
        audited.do(
            AlterReassignments([AlterTopic("foo", [AlterRow(0, (2,))])], requester=Requester(via="standby"))
        )
    )[4]["via"] == ("standby")
    assert told(audited.do(Pause(None, True, via)))[4] == {"left": 1, "via": "standby"}
    assert told(audited.do(RollBackJob(1, requester=Requester(via="standby"))))[4]["via"] == "standby"


def config(name: str, value: str | None, op: ConfigOp = ConfigOp.SET) -> ResourceChanges:
    return ResourceChanges(ResourceType.BROKER, "", [ConfigChange(name, op, value)])


def test_a_limit_is_named_by_its_config(audited: Audited) -> None:
    short = AlterConfigs([config("reassignment.parallel.partition.count", "3")], requester=ANN)
    assert told(audited.do(short)) == ("limits", *ANN[:2], 0, {"configs": {LIMIT: "3"}})
    reset = AlterConfigs([config(LIMIT, None, ConfigOp.DELETE)], requester=ANN)
    assert told(audited.do(reset))[4] == {"configs": {LIMIT: None}}


def test_a_change_has_the_values_before_it(audited: Audited) -> None:
    audited.order([2])
    decide_audited = audited.trail.audited(decide)

    def detail(event: AnyEvent) -> Any:
        decision = Decision(audited.controller.state)
        list(decide_audited(decision, event))
        entry = decision.changes[-1]
        assert isinstance(entry, AuditEntry)
        return json.loads(entry.detail)

    first = AlterConfigs([config("reassignment.parallel.partition.count", "3")], requester=ANN)
    assert detail(first) == {"configs": {LIMIT: "3"}, "before": {LIMIT: None}}
    assert detail(AlterConfigs([config(LIMIT, "8")], requester=ANN))["before"] == {LIMIT: "3"}
    assert detail(AlterConfigs([config(LIMIT, None, ConfigOp.DELETE)]))["before"] == {LIMIT: "8"}
    assert detail(Prioritize(1, 5, ANN)) == {"priority": 5, "before": {"priority": "0"}}
    assert detail(ThrottleJob(1, 5, ANN)) == {"configs": {THROTTLE: "5"}, "before": {THROTTLE: None}}
    assert detail(ThrottleJob(1, 0, ANN)) == {"configs": {THROTTLE: None}, "before": {THROTTLE: "5"}}


def test_configs_that_are_only_checked_or_of_topics_have_no_entry(audited: Audited) -> None:
    topic = ResourceChanges(
        ResourceType.TOPIC, "foo", [ConfigChange("min.insync.replicas", ConfigOp.SET, "1")]
    )
    assert audited.do(AlterConfigs([config(LIMIT, "3")], validate_only=True)) is None
    assert audited.do(AlterConfigs([topic])) is None


def test_other_events_have_no_entry(audited: Audited) -> None:
    assert audited.do(BrokerStopped(6)) is None


def test_ids_and_times_continue_and_never_decrease(audited: Audited) -> None:
    audited.trail = AuditTrail(audited.controller.state, 41, 5_000)
    audited.controller.now_ms = 4_000
    entry = audited.order([2])
    assert entry is not None
    assert (entry.id, entry.time_ms) == (42, 5_000)


def test_only_the_first_topics_are_named(audited: Audited) -> None:
    names = [f"t{number}" for number in range(30)]
    audited.controller.with_partitions(*(partition(f"{name}-0", [1]) for name in names))
    topics = [AlterTopic(name, [AlterRow(0, (2,))]) for name in names]
    detail = told(audited.do(AlterReassignments(topics)))[4]
    assert (detail["topics"], detail["topic_count"]) == (names[:10], 30)


def test_entries_are_counted_by_action(audited: Audited) -> None:
    audited.order([2])
    assert audited.trail.counts["order"] == 1
    assert audited.trail.counts["pause"] == 0


def test_the_entry_is_among_the_records_of_its_decision(audited: Audited) -> None:
    state = audited.controller.state
    decision = Decision(state, 7)
    for _ in audited.trail.audited(decide)(decision, Pause(None, True, ANN)):
        pass
    record, entry = decision.changes
    assert record == Paused(True)
    assert entry == AuditEntry(1, 7, AuditAction.PAUSE, *ANN[:2], 0, "{}")


def test_a_decision_without_records_has_no_entry(audited: Audited) -> None:
    def nothing(decision: Decision, event: AnyEvent) -> Iterator[None]:
        decision.answer(Pause(None, True), Outcome())
        yield

    decision = Decision(audited.controller.state)
    assert len(list(audited.trail.audited(nothing)(decision, Pause(None, True)))) == 1
    assert decision.changes == []


def test_moves_between_directories_and_their_cancel_have_entries(audited: Audited) -> None:
    rows = [OrderedMove("foo", number, 1, "/a", "/b") for number in (0, 1)]
    ordered = told(audited.do(MoveDisks(rows, ANN, throttle=5)))
    assert ordered[:4] == ("order", "User:ann", "tool", 1)
    assert (ordered[4]["moves"], ordered[4]["throttle"], ordered[4]["topics"]) == (2, 5, ["foo"])
    assert told(audited.do(CancelMoves(1, ANN))) == (
        "cancel",
        "User:ann",
        "tool",
        1,
        {"moves": 2, "cancelled": 2},
    )
    assert audited.do(CancelMoves(None, ANN)) is None
    assert audited.do(MoveDisks([rows[0]._replace(broker=9)], ANN)) is None
