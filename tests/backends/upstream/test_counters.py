import pytest

from backends.client.errors import BrokerError, RequestLostError, UnreachableError
from backends.upstream.counters import UpstreamCounters
from common.error_codes import ErrorCode
from controller.model.errors import DONE, Outcome
from tests.builders import key


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
