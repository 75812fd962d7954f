import pytest

from backends.client.errors import BrokerError, RequestLostError, UnreachableError
from backends.upstream.outcomes import (
    UpstreamCounters,
    alter_request,
    answers,
    elect_request,
    election_failure,
    outcome,
    unanswered,
)
from common.error_codes import ErrorCode
from controller.messages.effects import Elect, Submit
from controller.model.errors import DONE, Outcome
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from tests.builders import key

ROWS = [Submit("foo", 0, (1, 2)), Submit("bar", 3, None), Submit("foo", 1, (3,))]


def test_rows_are_grouped_by_topic_in_order() -> None:
    request = alter_request(ROWS, 5_000)
    assert request.timeout_ms == 5_000
    assert [(t.name, [tuple(row) for row in t.partitions or ()]) for t in request.topics or ()] == [
        ("foo", [(0, (1, 2)), (1, (3,))]),
        ("bar", [(3, None)]),
    ]


def test_each_row_has_its_own_answer_and_a_missing_one_is_unknown() -> None:
    given = [ReassignableTopicResponse("foo", [ReassignablePartitionResponse(0, 0, None)])]
    answered = answers(ROWS[:2], AlterPartitionReassignmentsResponse(responses=given))
    assert answered == [
        (key("foo-0"), (1, 2), DONE),
        (key("bar-3"), None, Outcome(ErrorCode.UNKNOWN_SERVER_ERROR)),
    ]


def test_an_error_of_the_request_is_the_answer_to_every_row() -> None:
    refused = AlterPartitionReassignmentsResponse(0, True, 31, "no", [])
    assert {each for _, _, each in answers(ROWS, refused)} == {
        Outcome(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")
    }


def test_a_request_that_was_too_large_is_sent_in_halves() -> None:
    """Kafka answers error -1 with a null message for rows that it did not process."""
    given = [ReassignableTopicResponse("foo", [ReassignablePartitionResponse(0, -1, None)])]
    ((_, _, left),) = answers(ROWS[:1], AlterPartitionReassignmentsResponse(responses=given))
    assert left == Outcome(ErrorCode.UNKNOWN_SERVER_ERROR)


def test_an_unknown_error_keeps_its_number() -> None:
    assert outcome(12345, "strange") == Outcome(ErrorCode.INVALID_REQUEST, "error 12345: strange")


def test_rows_without_an_answer_are_reported() -> None:
    lost = Outcome(ErrorCode.REQUEST_TIMED_OUT, "cut")
    assert unanswered(ROWS[:1], "cut") == [(key("foo-0"), (1, 2), lost)]


def test_elections_are_of_preferred_leaders() -> None:
    request = elect_request([Elect("foo", 0), Elect("foo", 2)], 1_000)
    assert request.election_type == 0
    assert [tuple(each) for each in request.topic_partitions or ()] == [("foo", (0, 2))]


@pytest.mark.parametrize(
    ("error", "kind"),
    [(UnreachableError(""), "unreachable"), (RequestLostError(""), "in_doubt"), (BrokerError(""), "other")],
)
def test_failures_are_counted_by_kind(error: BrokerError, kind: str) -> None:
    counters = UpstreamCounters()
    counters.failed(3, error)
    assert counters.errors == {(3, kind): 1}


def test_rows_are_counted_by_error() -> None:
    counters = UpstreamCounters()
    refused = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no")
    counters.answered([(key("foo-0"), (1,), DONE), (key("foo-1"), (1,), DONE), (key("foo-2"), (1,), refused)])
    assert counters.rows == {0: 2, 39: 1}


def test_the_last_poll_counts_for_the_age() -> None:
    counters = UpstreamCounters()
    counters.polled(0.5, 1_000)
    counters.polled(0.25, 2_000)
    assert (counters.polls, counters.poll_seconds, counters.last_poll_ms) == (2, 0.75, 2_000)


@pytest.mark.parametrize(
    ("top", "rows", "failure"),
    [
        (ErrorCode.NONE, [0, ErrorCode.ELECTION_NOT_NEEDED], ""),
        (ErrorCode.NOT_CONTROLLER, [], "none was elected: NOT_CONTROLLER"),
        (
            ErrorCode.NONE,
            [0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, 999],
            "2 partitions, first foo-1: PREFERRED_LEADER_NOT_AVAILABLE",
        ),
    ],
)
def test_elections_that_failed_are_counted_with_the_first_reason(
    top: ErrorCode, rows: list[int], failure: str
) -> None:
    results = [PartitionResult(number, error, None) for number, error in enumerate(rows)]
    response = ElectLeadersResponse(0, top, [ReplicaElectionResult("foo", results)])
    assert election_failure(response) == failure
