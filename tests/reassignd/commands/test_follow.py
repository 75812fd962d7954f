"""Waiting for a job."""

from typing import Any, cast

import pytest

from reassignd.client import Client
from reassignd.commands.follow import follow
from reassignd.errors import CommandError, UnreachableError


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
        "waiting": 0,
        "queued": 0 if ended else total - done - 1,
        "copied": more.pop("copied", None),
    }
    return {"job": job, "reasons": [], "endings": {"done": total} if ended else {}, **more}


class Script:
    """A client with these answers, and a clock that a sleep moves on."""

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


def test_a_job_that_ends_as_ordered_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert Script(detail(0), detail(4, ended=True)).follow() == 0
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", "job 7: 0 of 4 done, 1 moving, 3 queued")
    assert err.splitlines()[-1] == "Job 7 is done: 4 partitions in 12 s."


def test_a_job_that_ends_otherwise_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    ended = detail(4, ended=True, endings={"done": 1, "rolled back": 3})
    assert Script(ended).follow() == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "Job 7 has ended, not as ordered: 1 done, 3 rolled back."


def test_the_first_reason_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = [{"reason": "limit P: 1 of 1 partition movements", "partitions": 3}]
    Script(detail(0, reasons=reasons), detail(4, ended=True)).follow()
    assert "3 queued, limit P: 1 of 1 partition movements" in capsys.readouterr().err


def test_bytes_tell_how_far_it_is_and_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    copied = {"bytes": 1024, "total": 4096, "rate": 512, "seconds_left": 6}
    Script(detail(0, copied=copied), detail(4, ended=True)).follow()
    assert "3 queued, 1 KiB of 4 KiB copied at 512 B/s, 6 s left" in capsys.readouterr().err


def test_a_server_that_is_away_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    gone = UnreachableError("cannot reach it")
    assert Script(detail(0), gone, gone, detail(4, ended=True)).follow() == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:3] == ["cannot reach it; trying again until it answers", "the server is back"]


def test_a_job_that_takes_too_long_is_not_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert Script(detail(1)).follow(timeout=3) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "Job 7 is not complete: 1 moving, 2 queued"


def test_a_server_that_is_away_too_long_is_an_error() -> None:
    with pytest.raises(UnreachableError):
        Script(UnreachableError("cannot reach it")).follow(timeout=3)


def test_whoever_stops_waiting_is_told_that_the_job_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    script = Script(detail(0))

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    assert follow(cast(Client, script), 7, now=lambda: 0.0, sleep=interrupted) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "Job 7 goes on; `reassignd job 7` shows it."


def test_a_job_that_is_gone_is_an_error() -> None:
    with pytest.raises(CommandError, match="no job"):
        Script(CommandError("There is no job 7")).follow()
