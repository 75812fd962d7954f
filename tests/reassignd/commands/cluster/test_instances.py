"""The command `instances`."""

import json
from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient

ROW = {"id": "i1", "active": True, "version": "1.0", "url": "http://i1", "started_ms": 0, "lag": 0}
LIST = {"term": 4, "active_since_ms": 0, "instances": [ROW, ROW | {"id": "i2", "active": False, "lag": 9}]}


class Server(StubClient):
    """Stands in for the client, and notes the requests."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    def get(self, path: str) -> Any:
        self.sent.append(("GET", path))
        return LIST

    def ask(self, method: str, path: str, body: object) -> Any:
        self.sent.append((method, path))
        return {"standbys": 2}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(client, "Client", made)
    return made


def test_instances_are_shown(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances"]) == 0
    first, head, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("term 4, active since ")
    assert head.split() == ["INSTANCE", "ROLE", "VERSION", "STARTED", "LAG", "URL"]
    assert [row.split()[:2] for row in rows] == [["i1", "active"], ["i2", "standby"]]


def test_the_term_is_handed_over(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "hand-over"]) == 0
    assert server.sent == [("POST", "/v1/instances/hand-over")]
    assert "a standby becomes active (of 2)" in capsys.readouterr().out


def test_json_is_that_of_the_api(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == LIST
    assert main(["instances", "hand-over", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"standbys": 2}
