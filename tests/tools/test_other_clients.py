"""Clients of other languages are built where their language is installed, else left out."""

import subprocess
from pathlib import Path

import pytest

from tools import other_clients


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(other_clients, "CACHE", tmp_path)
    monkeypatch.setattr(other_clients, "NODE_MODULES", tmp_path / "node" / "node_modules")
    monkeypatch.setattr(other_clients, "_find", lambda program, *_: program)
    return tmp_path


def fail(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(command, 1, "", "downloading\nno route to the proxy\n")


def test_a_client_that_cannot_be_built_is_left_out_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("subprocess.run", fail)
    assert other_clients.main() == 0
    assert capsys.readouterr().err.splitlines() == [
        "left out of the client tests: sarama, franz-go and kafka-go (go build: no route to the proxy)",
        "left out of the client tests: kafkajs (npm ci: no route to the proxy)",
    ]


def test_node_packages_are_installed_again_only_when_the_lock_file_changes(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    commands: list[list[str]] = []

    def install(command: list[str], _folder: Path) -> None:
        commands.append(command)
        other_clients.NODE_MODULES.mkdir()

    monkeypatch.setattr(other_clients, "_run", install)
    other_clients.build_node()
    other_clients.build_node()
    assert [command[:2] for command in commands] == [["npm", "ci"]]


def test_a_program_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(other_clients.LeftOutError, match="nothing-of-this-name is not installed"):
        other_clients._find("nothing-of-this-name")
