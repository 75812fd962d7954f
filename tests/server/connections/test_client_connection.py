"""The buffered bytes that a connection reports."""

import pytest

from protocol.codec.errors import DecodeError
from server.connections.client_connection import REPORTED_BYTES, ServedConnection
from server.driver.driver import DriverStoppedError
from tests.server.fakes import FakeHost


class Holder(ServedConnection):
    pending = None
    buffered = 0
    peer = "10.0.0.9:4711"
    reason: str | None = None

    def overdue(self, now: float) -> str | None:
        return None

    def close(self, reason: str | None = None) -> None:
        self._closed, self.reason = True, reason

    def abort(self, reason: str) -> None:
        self.close()

    def hold(self, size: int) -> None:
        self.buffered = size
        self._report_buffered()

    def fail(self, error: Exception) -> str | None:
        """Close as after a failed answer; return the reason that is logged for clients' errors."""
        self._close_unanswered(error)
        assert self._closed
        return self.reason


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def holder(host: FakeHost) -> Holder:
    return Holder(host)


def test_few_buffered_bytes_are_not_reported(holder: Holder, host: FakeHost) -> None:
    holder.hold(REPORTED_BYTES - 1)
    assert host.buffered == {}


def test_many_buffered_bytes_are_reported_until_they_are_few_again(holder: Holder, host: FakeHost) -> None:
    holder.hold(REPORTED_BYTES)
    assert host.buffered == {holder: REPORTED_BYTES}
    holder.hold(REPORTED_BYTES - 1)
    assert host.buffered == {holder: 0}
    host.buffered.clear()
    holder.hold(1)
    assert host.buffered == {}


def test_a_closed_connection_reports_nothing_more(holder: Holder, host: FakeHost) -> None:
    holder.close()
    holder.hold(2 * REPORTED_BYTES)
    assert host.buffered == {}


def test_a_request_that_makes_no_sense_is_the_reason_to_close(holder: Holder) -> None:
    assert holder.fail(DecodeError("cut short")) == "cut short"


def test_an_answer_that_fails_closes_the_connection_and_is_logged(
    holder: Holder, caplog: pytest.LogCaptureFixture
) -> None:
    assert holder.fail(RuntimeError("a fault")) is None
    assert caplog.messages == ["a request of 10.0.0.9:4711 could not be answered"]


def test_a_stopped_driver_closes_connections_without_an_error(
    holder: Holder, caplog: pytest.LogCaptureFixture
) -> None:
    assert holder.fail(DriverStoppedError()) is None
    assert caplog.messages == []
