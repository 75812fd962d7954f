"""Pace with a schedule: steps start only where both permit it, and each can be changed while a plan runs."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reassignd.shell import SETTINGS, Shell, started

pytestmark = pytest.mark.whole

PRODUCERS = {"embedded.produce.bytes.per.second": "100"}
"""Without producers, pace limits nothing after a while."""

ALWAYS = "00:00-24:00 throttle=50KB"


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """A cluster with the least latency that there is, so that pace keeps the smallest windows."""
    server = started(tmp_path / "data", SETTINGS | PRODUCERS)
    shell = Shell(server, tmp_path, capsys)
    shell.ok("limits", "pace=auto", "pace.ms=0.1")
    yield shell
    server.kill()


def closed() -> str:
    """Return a schedule whose only minute is two days from now or more."""
    return f"{'Mon' if time.gmtime().tm_wday in {2, 3, 4} else 'Thu'} 00:00-00:01; tz=UTC"


def waits_for(shell: Shell, what: str) -> bool:
    """Return whether partitions wait for this reason."""
    return any(row["reason"].startswith(what) for row in shell.json("status")["reasons"])


def test_outside_its_periods_nothing_starts_but_latencies_are_measured(shell: Shell) -> None:
    shell.ok("schedule", closed())
    shell.execute(range(20))
    shell.until(lambda: all(row["latency_ms"] for row in shell.json("status")["pace"]["brokers"]))
    assert shell.moves()["moving"] == 0
    assert waits_for(shell, "outside of the schedule")
    assert not waits_for(shell, "pace")


def test_in_its_periods_windows_of_pace_hold_under_its_throttle(shell: Shell) -> None:
    shell.ok("schedule", ALWAYS)
    shell.execute(range(60))
    shell.until(lambda: waits_for(shell, "pace: 1 of 1 replicas"))
    assert shell.json("status")["throttle"]["bytes_per_second"] == 50_000
    shell.ok("schedule", closed())
    shell.until(lambda: waits_for(shell, "outside of the schedule") and not shell.moves()["moving"])
    shell.ok("limits", "pace=off")
    assert shell.moves()["moving"] == 0
    shell.ok("schedule", "none")
    shell.until(lambda: shell.json("jobs")["jobs"][0]["state"] == "ended")
