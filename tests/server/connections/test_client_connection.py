"""The buffered bytes that a connection reports."""

import pytest

from server.connections.client_connection import REPORTED_BYTES, ServedConnection
from tests.server.fakes import FakeHost


class Holder(ServedConnection):
    pending = None
    held = 0

    def overdue(self, now: float) -> str | None:
        return None

    def close(self, reason: str | None = None) -> None:
        self._closed = True

    def abort(self, reason: str) -> None:
        self.close()

    def hold(self, size: int) -> None:
        self.held = size
        self._report_held()


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def holder(host: FakeHost) -> Holder:
    return Holder(host)


def test_few_buffered_bytes_are_not_reported(holder: Holder, host: FakeHost) -> None:
    holder.hold(REPORTED_BYTES - 1)
    assert host.held == {}


def test_many_buffered_bytes_are_reported_until_they_are_few_again(holder: Holder, host: FakeHost) -> None:
    holder.hold(REPORTED_BYTES)
    assert host.held == {holder: REPORTED_BYTES}
    holder.hold(REPORTED_BYTES - 1)
    assert host.held == {holder: 0}
    host.held.clear()
    holder.hold(1)
    assert host.held == {}


def test_a_closed_connection_reports_nothing_more(holder: Holder, host: FakeHost) -> None:
    holder.close()
    holder.hold(2 * REPORTED_BYTES)
    assert host.held == {}
