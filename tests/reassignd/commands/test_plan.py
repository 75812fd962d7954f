import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner.schedule import Move
from planner.snapshot import write_snapshot
from planner.spark import Schedule
from reassignd.cli import main
from reassignd.commands import plan as verb
from tests.planner.builders import cluster, partition, scheduled


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A plan of two partitions, one of which waits for a dead broker; the Python form stands in for Spark."""
    monkeypatch.setattr(verb, "running", _nothing)
    monkeypatch.setattr(verb, "schedule_of", lambda _: scheduled)
    write_snapshot(
        cluster(partition("orders", 0, (1, 2)), partition("orders", 1, (1, 2)), dead={6}),
        tmp_path / "snapshot",
    )
    targets = [{"topic": "orders", "partition": number, "replicas": [3, 5 + number]} for number in range(2)]
    (tmp_path / "plan").write_text(json.dumps({"version": 1, "partitions": targets}))
    files = ["--reassignment-json-file", str(tmp_path / "plan"), "--snapshot", str(tmp_path / "snapshot")]
    return ["plan", *files, "--output", str(tmp_path / "out")]


@contextmanager
def _nothing(**_: str | None) -> Iterator[None]:
    yield


def test_a_summary_is_printed_and_the_files_are_written(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--limits", "r=1", "--bandwidth", "100"]) == 0
    said = capsys.readouterr().out
    assert "2 partitions to move, 0 in place already" in said
    assert "waits: orders-1: offline: broker 6" in said
    names = {"steps.parquet", "waves.parquet", "summary.json", "report.html"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names


def test_json_is_a_step_a_line_and_nothing_else(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--limits", "r=1", "--format", "json"]) == 0
    first, *_ = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert list(first) == [
        "topic",
        "partition",
        "step",
        "replicas",
        "adding",
        "removing",
        "leader_movement",
        "wave",
    ]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (
            ["--limits", "r=0"],
            2,
            "Invalid value for '--limits': 'r=0': expected an integer in [1, 2147483647]",
        ),
        (["--bandwidth", "0"], 2, "Invalid value for '--bandwidth'"),
        (["--master", "local", "--remote", "sc://there"], 2, "--master and --remote exclude each other"),
        (["--snapshot", "nowhere"], 1, "cannot read nowhere: No such file or directory"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str], more: Sequence[str], code: int, message: str
) -> None:
    assert main([*arguments, *more]) == code
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_many_waiting_partitions_are_counted(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_wait(moves: Sequence[Move], offline: object, limit: int) -> Schedule:
        done = scheduled(moves, (6,), limit)
        return done._replace(waiting=done.waiting.take([0] * 7))

    monkeypatch.setattr(verb, "schedule_of", lambda _: all_wait)
    assert main(arguments) == 0
    assert "waits: 2 more" in capsys.readouterr().out
