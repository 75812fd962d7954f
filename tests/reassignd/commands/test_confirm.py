"""The question before a cancel or a rollback."""

import io
from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient

PREVIEW = {
    **dict.fromkeys(("undoes", "unmoved", "withdrawn", "unchanged", "waiting_partitions", "skipped"), 0),
    "partitions": 2,
    "bytes": 2048,
    "examples": [],
    "waiting": [],
}
CANCELLED = {"cancelled": 0, "refused": [], "partitions": [], "throttle": {}}


class Server(StubClient):
    """Records what is changed."""

    def __init__(self) -> None:
        self.changed: list[str] = []

    def get(self, *_: object, **__: object) -> Any:
        return PREVIEW

    def post(self, path: str, *_: object, **__: object) -> Any:
        self.changed.append(path)
        return CANCELLED if "cancel" in path else {"job": 4, "skipped": []}


class Keyboard(io.StringIO):
    """A terminal with a line that is typed."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(client, "Client", server)
    return server


def type_(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", Keyboard(text))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)


@pytest.mark.parametrize("command", [["cancel", "--all"], ["rollback", "3"]])
def test_a_no_changes_nothing(
    command: list[str], server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_(monkeypatch, "n\n")
    assert main(command) == 1
    assert capsys.readouterr().err.endswith("Nothing was changed.\n")
    assert not server.changed


def test_a_rollback_shows_what_it_would_do(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_(monkeypatch, "y\n")
    assert main(["rollback", "3"]) == 0
    assert "moves 2 partitions back and copies 2 KiB.\nRoll back job 3? [y/N]" in capsys.readouterr().err
    assert server.changed == ["/v1/jobs/3/rollback"]


@pytest.mark.parametrize(
    ("option", "question"),
    [
        (["--all"], "Cancel all ongoing reassignments, of all jobs?"),
        (["--job", "3"], "Cancel what job 3 still moves?"),
        (["--topic", "foo"], "Cancel what moves of topic foo?"),
        (["--partition", "foo-1"], "Cancel the reassignments of 1 partition?"),
    ],
)
@pytest.mark.usefixtures("server")
def test_a_cancel_says_what_it_would_cancel(
    option: list[str],
    question: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    type_(monkeypatch, "n\n")
    assert main(["cancel", *option]) == 1
    assert question in capsys.readouterr().err


def test_nothing_is_asked_with_yes_or_without_a_terminal(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rollback", "3"]) == 0
    type_(monkeypatch, "")
    assert main(["rollback", "3", "--yes"]) == 0
    assert "?" not in capsys.readouterr().err
    assert len(server.changed) == 2
