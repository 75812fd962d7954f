import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from common.wording import missing
from planner.model.snapshot import write_snapshot
from planner.model.step_table import schedule
from reassignd.cli import main
from reassignd.commands import plan as plan_command
from reassignd.commands.plan import Where
from reassignd.config.errors import CommandError
from tests.planner.builders import cluster, partition


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Arguments for a plan of eight partitions, seven of which wait for an offline broker."""
    partitions = [partition("orders", number, (1, 2)) for number in range(8)]
    write_snapshot(cluster(*partitions, dead={6}), tmp_path / "snapshot")
    targets = [
        {"topic": "orders", "partition": number, "replicas": [3, 6 if number else 5]} for number in range(8)
    ]
    (tmp_path / "plan").write_text(json.dumps({"version": 1, "partitions": targets}))
    files = ["--reassignment-json-file", str(tmp_path / "plan"), "--snapshot", str(tmp_path / "snapshot")]
    return ["plan", *files, "--output", str(tmp_path / "out")]


@pytest.fixture
def spark_sessions(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str | None]]:
    """Record the options of each Spark session, and schedule in Python instead."""
    sessions: list[dict[str, str | None]] = []

    @contextmanager
    def running(**options: str | None) -> Iterator[None]:
        sessions.append(options)
        yield

    monkeypatch.setattr(plan_command, "running", running)
    monkeypatch.setattr(plan_command, "schedule_of", lambda _: schedule)
    return sessions


def test_a_summary_is_printed_and_the_files_are_written(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--limits", "r=1", "--bandwidth", "100B"]) == 0
    printed = capsys.readouterr().out
    assert "8 partitions to move, 0 already at the target" in printed
    assert "waits: orders-1: offline: broker 6" in printed
    assert "waits: 2 more" in printed
    names = {"steps.parquet", "waves.parquet", "summary.json", "report.html"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names


def test_a_plan_needs_no_package_besides_those_of_the_server(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("pyarrow", "pyarrow.parquet", "pyarrow.compute", "pyspark", "numpy"):
        monkeypatch.setitem(sys.modules, package, None)
    assert main([*arguments, "--limits", "r=1"]) == 0
    names = {"steps.jsonl", "waves.jsonl", "summary.json", "report.html"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names


def test_json_output_is_one_line_for_each_step(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--limits", "r=1", "--format", "json"]) == 0
    first, *_ = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    keys = ["topic", "partition", "step", "replicas", "adding", "removing", "leader_movement", "wave"]
    assert list(first) == keys


def test_a_small_plan_is_computed_without_spark(
    arguments: list[str], spark_sessions: list[dict[str, str | None]]
) -> None:
    assert main(arguments) == 0
    assert spark_sessions == []


def test_a_large_plan_is_computed_with_spark(
    arguments: list[str], spark_sessions: list[dict[str, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_command, "MAX_INLINE_PARTITIONS", 7)
    assert main(arguments) == 0
    assert spark_sessions == [{"master": None, "remote": None}]


@pytest.mark.parametrize(("option", "where"), [("--master", "local[2]"), ("--remote", "sc://there")])
def test_spark_is_used_when_a_master_or_remote_is_given(
    arguments: list[str], spark_sessions: list[dict[str, str | None]], option: str, where: str
) -> None:
    assert main([*arguments, option, where]) == 0
    assert spark_sessions == [{"master": None, "remote": None, option.lstrip("-"): where}]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (
            ["--limits", "r=0"],
            2,
            "Invalid value for '--limits': 'r=0': expected an integer in [1, 2147483647]",
        ),
        (["--bandwidth", "0"], 2, "Invalid value for '--bandwidth'"),
        (["--master", "local", "--remote", "sc://there"], 2, "--master and --remote cannot be used together"),
        (["--snapshot", "nowhere"], 1, "cannot read nowhere: No such file or directory"),
    ],
)
def test_an_error_is_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str], more: Sequence[str], code: int, message: str
) -> None:
    assert main([*arguments, *more]) == code
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_a_missing_optional_package_is_named_in_one_line(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_snapshot(cluster(), tmp_path / "cluster.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main([*arguments, "--snapshot", str(tmp_path / "cluster.parquet")]) == 1
    assert capsys.readouterr().err == f"reassignd: {missing('plan', 'pyarrow', 'spark')}\n"


@pytest.mark.parametrize(
    "limits",
    ["r=1,p=2", "R=1, P=2", "reassignment.parallel.replica.count=1,reassignment.parallel.partition.count=2"],
)
def test_limits_have_letters_or_names_of_configs(
    arguments: list[str], tmp_path: Path, limits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--limits", limits]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["limits"]["r"], summary["limits"]["p"]) == (1, 2)


def test_spark_is_asked_for_by_an_option_or_by_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Where().asked
    assert Where(master="local").asked
    assert Where(remote="sc://localhost").asked
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert Where().asked


def test_what_must_be_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.commands.plan.obstacle", lambda url: f"Java for {url}")
    with pytest.raises(CommandError, match=r"no Spark: Java for local\[\*\]"):
        Where().check()
