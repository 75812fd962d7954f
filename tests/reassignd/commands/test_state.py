"""The command `state` without a cluster; tests/upstream/test_state_command.py uses one."""

from pathlib import Path

import pytest

from reassignd.cli import main
from tests.reassignd.transfer.builders import a_directory


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["state", *arguments]) != 0
    captured = capsys.readouterr()
    assert not captured.out
    return captured.err


async def test_a_directory_is_printed_as_lines(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = await a_directory(tmp_path / "d")
    assert main(["state", "export", "--from-data-dir", str(path)]) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert lines[0].startswith(b'{"key":["meta"],"value":{"format":1,')
    assert len(lines) == 6


def test_the_cluster_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert "give --bootstrap-server, or --config with a file" in error(capsys, "export")


def test_a_cluster_that_does_not_answer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "127.0.0.1:1" in error(capsys, "export", "--bootstrap-server", "127.0.0.1:1")


def test_an_invalid_value_is_named_with_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    text = error(capsys, "export", "--bootstrap-server", "127.0.0.1:1", "--session-ms", "soon")
    assert "--session-ms: 'soon' is not valid" in text


def test_contradicting_options_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be used together" in error(capsys, "export", "--data-dir", "a", "--from-data-dir", "b")


def test_a_directory_without_records_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "records.db is missing" in error(capsys, "export", "--from-data-dir", str(tmp_path))


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    text = error(capsys, "recreate", "nowhere.jsonl", "--bootstrap-server", "127.0.0.1:1")
    assert "cannot read nowhere.jsonl: No such file" in text
