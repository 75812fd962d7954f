"""Effects as requests 45 and 43, responses as outcomes (KIP-455, KIP-460), and counters of both."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from backends.client.errors import BrokerError, InDoubtError, UnreachableError
from common.error_codes import ErrorCode, error_name
from common.lists import grouped
from common.wording import counted
from controller.messages.effects import Elect, Submit
from controller.model.errors import Outcome
from controller.model.replicas import Replicas, TopicPartition
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from protocol.messages.elect_leaders_response import ElectLeadersResponse

Answered = tuple[TopicPartition, Replicas | None, Outcome]

_KNOWN = {error.value: error for error in ErrorCode}


class Refused(NamedTuple):
    """The whole request was refused."""

    error: int
    message: str | None


def alter_request(rows: Sequence[Submit], timeout_ms: int) -> AlterPartitionReassignmentsRequest:
    """Return a request with one row per partition. `rows` must not contain a partition twice."""
    topics = grouped(
        (topic, ReassignablePartition(partition, replicas)) for topic, partition, replicas in rows
    )
    named = [ReassignableTopic(*topic) for topic in topics.items()]
    return AlterPartitionReassignmentsRequest(timeout_ms, True, named)


def answers(rows: Sequence[Submit], response: AlterPartitionReassignmentsResponse) -> list[Answered]:
    """Return the outcome of each row. A row that the response omits gets the error of the whole response."""
    top = outcome(response.error_code or ErrorCode.UNKNOWN_SERVER_ERROR, response.error_message)
    given = {
        (topic.name, row.partition_index): outcome(row.error_code, row.error_message)
        for topic in response.responses
        for row in topic.partitions
    }
    if response.error_code:
        given = {}
    return [(TopicPartition(t, p), replicas, given.get((t, p), top)) for t, p, replicas in rows]


def unanswered(rows: Sequence[Submit], why: str) -> list[Answered]:
    """Return the outcome of rows without an answer: whether they took effect is unknown."""
    lost = Outcome(ErrorCode.REQUEST_TIMED_OUT, why)
    return [(TopicPartition(topic, partition), replicas, lost) for topic, partition, replicas in rows]


def outcome(code: int, message: str | None) -> Outcome:
    """Return the outcome for an error code of Kafka; the message of an unknown code contains the number."""
    known = _KNOWN.get(code)
    if known is not None:
        return Outcome(known, message)
    return Outcome(ErrorCode.INVALID_REQUEST, f"error {code}" + (f": {message}" if message else ""))


def elect_request(rows: Iterable[Elect], timeout_ms: int) -> ElectLeadersRequest:
    """Return a request for preferred elections of these partitions."""
    topics = [TopicPartitions(topic, tuple(numbers)) for topic, numbers in grouped(rows).items()]
    return ElectLeadersRequest(0, topics, timeout_ms)


def election_failure(response: ElectLeadersResponse) -> str:
    """Return how many preferred leaders were not elected, and why the first one; empty if all lead now."""
    if response.error_code:
        return f"none was elected: {error_name(response.error_code)}"
    failed = [
        f"{topic.topic}-{row.partition_id}: {row.error_message or error_name(row.error_code)}"
        for topic in response.replica_election_results
        for row in topic.partition_result
        if row.error_code not in {ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED}
    ]
    return f"{counted(len(failed), 'partition')}, first {failed[0]}" if failed else ""


class UpstreamCounters:
    """Implements `server.metrics.sources.UpstreamCounters` by adding."""

    def __init__(self) -> None:
        self.polls = 0
        self.failed_polls = 0
        self.poll_seconds = 0.0
        self.last_poll_ms = 0
        self.last_whole_poll_ms = 0
        self.errors: Counter[tuple[int, str]] = Counter()
        self.rows: Counter[int] = Counter()
        self.held = 0

    def polled(self, seconds: float, now_ms: int, *, whole: bool = False) -> None:
        """Count a successful poll of this duration that ended at `now_ms` (since 1970).

        `whole`: of all topics.
        """
        self.polls += 1
        self.poll_seconds += seconds
        self.last_poll_ms = now_ms
        if whole:
            self.last_whole_poll_ms = now_ms - round(seconds * 1000)

    def failed(self, api_key: int, error: BrokerError) -> None:
        """Count a request that no broker answered."""
        self.errors[api_key, _kind(error)] += 1

    def answered(self, rows: Iterable[Answered]) -> None:
        """Count the rows of an answer by their error."""
        self.rows.update(int(outcome.error) for _, _, outcome in rows)


def _kind(error: BrokerError) -> str:
    if isinstance(error, InDoubtError):
        return "in_doubt"
    return "unreachable" if isinstance(error, UnreachableError) else "other"
