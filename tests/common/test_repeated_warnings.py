import logging

import pytest

from common.clock import ManualClock
from common.repeated_warnings import MAX_KINDS, REPORT_SECONDS, RepeatedWarnings

REASON = "API key 7 version 1 is not served"


class Rig:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.clock, self._caplog = ManualClock(), caplog
        self.warnings = RepeatedWarnings(logging.getLogger("test"), self.clock)

    def lines(self) -> list[str]:
        """Return the log lines since the last call."""
        lines = list(self._caplog.messages)
        self._caplog.clear()
        return lines

    async def interval(self) -> list[str]:
        """Return the log lines of the end of an interval."""
        await self.clock.advance(REPORT_SECONDS)
        self.warnings.report()
        return self.lines()


@pytest.fixture
def rig(caplog: pytest.LogCaptureFixture) -> Rig:
    return Rig(caplog)


async def test_the_first_warning_is_logged_and_further_ones_are_counted(rig: Rig) -> None:
    for port in range(1000):
        rig.warnings.closed(f"10.0.0.9:{port}", f"API key {port} version 1 is not served")
    assert rig.lines() == ["closed the connection of 10.0.0.9:0: API key 0 version 1 is not served"]
    text = "closed 999 more connections of 10.0.0.9 in the last 60 s; the last one: "
    assert await rig.interval() == [text + "API key 999 version 1 is not served"]


async def test_other_addresses_and_other_reasons_are_logged_at_once(rig: Rig) -> None:
    rig.warnings.closed("10.0.0.9:1", REASON)
    rig.warnings.closed("::1:2", REASON)
    rig.warnings.closed("10.0.0.9:3", "idle for 600 s")
    assert len(rig.lines()) == 3


async def test_a_peer_without_a_port_is_its_own_address(rig: Rig) -> None:
    for _ in range(3):
        rig.warnings.closed("the unix socket", REASON)
    rig.lines()
    assert (await rig.interval())[0].startswith("closed 2 more connections of the unix socket in ")


async def test_nothing_is_reported_before_the_end_of_the_interval(rig: Rig) -> None:
    rig.warnings.closed("10.0.0.9:1", REASON)
    rig.warnings.closed("10.0.0.9:2", REASON)
    rig.lines()
    await rig.clock.advance(REPORT_SECONDS - 1)
    rig.warnings.report()
    assert rig.lines() == []


async def test_a_warning_after_a_quiet_interval_is_logged_at_once(rig: Rig) -> None:
    rig.warnings.closed("10.0.0.9:1", REASON)
    rig.lines()
    assert await rig.interval() == []
    rig.warnings.closed("10.0.0.9:2", REASON)
    assert rig.lines() == [f"closed the connection of 10.0.0.9:2: {REASON}"]


async def test_many_addresses_are_counted_together(rig: Rig) -> None:
    for number in range(MAX_KINDS + 50):
        rig.warnings.closed(f"10.0.0.{number}:1", REASON)
    assert len(rig.lines()) == MAX_KINDS + 1
    assert await rig.interval() == [
        f"closed 49 more connections of other addresses in the last 60 s; the last one: {REASON}"
    ]
