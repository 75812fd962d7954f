"""What `execute` prints about the answer."""

import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from reassignd.cli import main
from reassignd.client import Client
from reassignd.commands.execute import Shown, WaitOptions, submit
from reassignd.commands.plan_file import PlanFile
from reassignd.config.errors import CommandError


class Submitted:
    """A client that gives one answer to a plan."""

    def __init__(self, **answer: Any) -> None:
        self.answer = {"job": 1, "accepted": 22, "unchanged": 0, "refused": [], "rollback": {}} | answer

    def post(self, path: str, _: bytes, **__: object) -> Any:
        assert path == "/v1/jobs"
        return self.answer

    def print(self, **shown: Any) -> int:
        return submit(
            cast(Client, self),
            PlanFile(Path("plan.json"), b"{}"),
            {},
            WaitOptions(False, None),
            Shown("text", **shown),
        )


def test_entries_that_are_not_in_the_job_are_counted_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert Submitted(unchanged=2).print() == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Job 1: 22 partitions accepted.",
        "2 entries are not in the job: the partition has these replicas already, or is being moved to them.",
    ]


@pytest.mark.parametrize("throttled", [False, True])
def test_a_throttle_without_a_job_is_said_to_have_no_effect(
    throttled: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    Submitted(job=None, accepted=0, unchanged=2).print(throttled=throttled)
    assert ("`reassignd throttle` changes that of a job" in capsys.readouterr().err) is throttled


def test_a_job_with_all_entries_prints_no_further_line(capsys: pytest.CaptureFixture[str]) -> None:
    Submitted().print()
    assert capsys.readouterr().out.splitlines()[-1] == "Job 1: 22 partitions accepted."


def test_on_a_terminal_the_current_replicas_go_to_a_new_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Submitted(rollback={"version": 1}).print()
    Submitted(rollback={"version": 2}).print()
    assert (tmp_path / "reassignd-rollback-of-job-1.json").read_text() == '{"version":1}\n'
    assert (tmp_path / "reassignd-rollback-of-job-1-2.json").read_text() == '{"version":2}\n'
    first = capsys.readouterr().out.splitlines()[0]
    assert (
        first == "Current replicas: reassignd-rollback-of-job-1.json (`reassignd rollback 1` restores them)"
    )


def test_elsewhere_they_are_printed_unless_a_file_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Submitted(rollback={"version": 1}).print()
    assert '{"version":1}' in capsys.readouterr().out
    Submitted(rollback={"version": 1}).print(rollback_file=tmp_path / "old.json")
    assert "version" not in capsys.readouterr().out
    assert (tmp_path / "old.json").read_text() == '{"version":1}\n'


def test_a_file_that_cannot_be_written_is_reported_and_the_replicas_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Submitted(rollback={"version": 1}).print(rollback_file=tmp_path / "none" / "old.json")
    out, err = capsys.readouterr()
    assert '{"version":1}' in out
    assert err == f"cannot write {tmp_path}/none/old.json: No such file or directory\n"


def test_refused_partitions_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"topic": "foo", "partition": number, "message": "no"} for number in range(9)]
    assert Submitted(refused=rows).print() == 1
    assert capsys.readouterr().err == "refused: foo-0: no, and 8 more: --verbose lists them\n"


@pytest.mark.parametrize("plans", [[], ["a.json", "--reassignment-json-file", "b.json"]])
def test_the_plan_is_given_once(plans: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", *plans]) == 2
    assert "give the plan: a file, or - for stdin" in capsys.readouterr().err


class Refusing:
    """A server that refuses a plan with these faults."""

    def __init__(self, count: int) -> None:
        self.faults = [f"partitions[{number}]: wrong" for number in range(count)]

    def post(self, _path: str, _plan: bytes, **_: object) -> Any:
        raise CommandError(f"{len(self.faults)} entries are wrong, the first: {self.faults[0]}", self.faults)

    def run(self, monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> int:
        monkeypatch.setattr(Client, "post", self.post)
        (folder / "plan.json").write_text("{}")
        return main(["execute", str(folder / "plan.json"), *options])


@pytest.mark.parametrize(
    ("options", "lines", "last"), [((), 22, "and more"), (("--verbose",), 30, "partitions[29]")]
)
def test_the_wrong_entries_of_a_plan_are_printed(
    options: tuple[str, ...],
    lines: int,
    last: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert Refusing(30).run(monkeypatch, tmp_path, *options) == 1
    printed = capsys.readouterr().err.splitlines()
    assert (
        printed[0]
        == f"reassignd: {tmp_path}/plan.json: 30 entries are wrong, the first: partitions[0]: wrong"
    )
    assert (len(printed), last in printed[-1]) == (lines, True)


def test_the_json_has_all_wrong_entries_of_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refusing = Refusing(30)
    assert refusing.run(monkeypatch, tmp_path, "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["faults"] == refusing.faults
