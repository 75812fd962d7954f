import logging

import pytest

from common.error_codes import ErrorCode
from controller.messages.upstream_events import Submitted
from controller.model.cluster import Reassignment
from controller.model.errors import Outcome
from controller.state.decision import Decision
from controller.state.state import State
from server.driver.upstream_journal import UpstreamJournal
from tests.builders import key


def test_a_problem_and_its_end_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    state = State()
    journal = UpstreamJournal(state)
    for trouble in ("missing: broker 5", "missing: broker 5", ""):
        state.health_problem = trouble
        journal.trouble()
    assert caplog.messages == [
        "the cluster is unhealthy, only steps that repair it start: missing: broker 5",
        "the health guard lets steps start again",
    ]


def test_an_upstream_that_cannot_be_polled_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    state = State(health_problem="connection refused", unreachable="connection refused")
    UpstreamJournal(state).trouble()
    assert caplog.messages == ["nothing starts, the upstream cannot be polled: connection refused"]


def test_blocked_partitions_are_named_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    decision = Decision(State())
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
    UpstreamJournal(State()).submitted(
        Submitted([(key("foo-0"), (1,), refused), (key("foo-1"), (1,), Outcome())])
    )
    assert caplog.messages == ["the upstream refused 1 of 2 rows: no such broker"]


def test_rows_without_an_answer_are_not_logged_as_refused(caplog: pytest.LogCaptureFixture) -> None:
    lost = Outcome(ErrorCode.REQUEST_TIMED_OUT, "kafka1:9092 did not answer")
    refused = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker")
    UpstreamJournal(State()).submitted(
        Submitted([(key("foo-0"), (1,), lost), (key("foo-1"), None, lost), (key("foo-2"), (1,), refused)])
    )
    assert caplog.messages == ["the upstream refused 1 of 3 rows: no such broker"]


def test_a_step_that_completed_before_its_undo_is_not_logged_as_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    over = Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    UpstreamJournal(State()).submitted(Submitted([(key("foo-0"), None, over)]))
    assert caplog.messages == []
