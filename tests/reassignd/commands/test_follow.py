"""Waiting for a job: the progress lines and the exit code."""

from typing import Any, cast

import click
import pytest

from reassignd.client import Client
from reassignd.commands.follow import follow
from reassignd.config.errors import CommandError, UnreachableError


def detail(done: int, total: int = 4, *, ended: bool = False, **more: Any) -> dict[str, Any]:
    job = {
        "id": 7,
        "kind": "plan",
        "state": "ended" if ended else "running",
        "created_ms": 1_000,
        "ended_ms": 13_000 if ended else None,
        "total": total,
        "done": done,
        "moving": 0 if ended else 1,
        "stalled": 0,
        "waiting": 0,
        "queued": 0 if ended else total - done - 1,
        "endings": more.pop("endings", {"done": done} if done else {}),
        "copied": more.pop("copied", None),
    }
    return {"job": job, "reasons": [], **more}


class ScriptedClient:
    """A client with scripted responses, and a clock that `sleep` advances."""

    def __init__(self, *answers: dict[str, Any] | Exception) -> None:
        self.answers = list(answers)
        self.seconds = 0.0

    def get(self, path: str, **_: object) -> Any:
        assert path == "/v1/jobs/7"
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def follow(self, timeout: float | None = None) -> int:
        return follow(cast(Client, self), 7, timeout, now=lambda: self.seconds, sleep=self.sleep)


def test_exits_with_0_when_every_partition_reached_its_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert ScriptedClient(detail(0), detail(4, ended=True)).follow() == 0
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", "job 7: 0 of 4 done, 1 moving, 3 queued")
    assert err.splitlines()[-1] == "Job 7 is done: 4 partitions in 12 s."


def test_exits_with_1_when_partitions_ended_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    ended = detail(4, ended=True, endings={"done": 1, "rolled back": 3})
    assert ScriptedClient(ended).follow() == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "Job 7 has ended, but not every partition reached its target: 1 done, 3 rolled back."


def test_shows_how_partitions_ended_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    cancelled = detail(1, endings={"done": 1, "rolled back": 1})
    ScriptedClient(cancelled, detail(4, ended=True)).follow()
    assert capsys.readouterr().err.startswith("job 7: 1 of 4 done, 1 rolled back, 1 moving")


def test_the_bar_on_a_terminal_counts_every_ending_and_cuts_only_the_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    endings = {"done": 500, "topic deleted": 846}
    ended = detail(500, 1_346, ended=True, endings=endings, reasons=[{"reason": "x" * 200}])
    assert ScriptedClient(ended).follow() == 1
    shown = click.unstyle(capsys.readouterr().err)
    assert "1346/1346" in shown
    assert "…" in shown


def test_shows_the_first_reason(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = [{"reason": "limit P: 1 of 1 partition movements", "partitions": 3}]
    ScriptedClient(detail(0, reasons=reasons), detail(4, ended=True)).follow()
    assert "3 queued, limit P: 1 of 1 partition movements" in capsys.readouterr().err


def test_shows_the_copied_bytes_and_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    copied = {"bytes": 1024, "total": 4096, "rate": 512, "seconds_left": 6}
    ScriptedClient(detail(0, copied=copied), detail(4, ended=True)).follow()
    assert "3 queued, 1 KiB of 4 KiB copied at 512 B/s, 6 s left" in capsys.readouterr().err


def test_retries_while_the_server_is_unreachable(capsys: pytest.CaptureFixture[str]) -> None:
    gone = UnreachableError("cannot reach it")
    assert ScriptedClient(detail(0), gone, gone, detail(4, ended=True)).follow() == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:3] == ["cannot reach it; retrying until the server responds", "the server responds again"]


def test_exits_with_3_after_the_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    assert ScriptedClient(detail(1)).follow(timeout=3) == 3
    assert capsys.readouterr().err.splitlines()[-1] == "Job 7 is not complete: 1 moving, 2 queued"


def test_exits_with_3_when_the_server_is_unreachable_until_the_timeout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ScriptedClient(UnreachableError("cannot reach it")).follow(timeout=3) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "Whether job 7 is complete is not known: cannot reach it"


def test_an_interrupt_prints_that_the_job_continues(capsys: pytest.CaptureFixture[str]) -> None:
    script = ScriptedClient(detail(0))

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    assert follow(cast(Client, script), 7, now=lambda: 0.0, sleep=interrupted) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "Job 7 continues; `reassignd job 7` shows it."


def test_fails_when_the_job_does_not_exist() -> None:
    with pytest.raises(CommandError, match="no job"):
        ScriptedClient(CommandError("There is no job 7")).follow()
