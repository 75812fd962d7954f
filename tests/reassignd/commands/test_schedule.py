"""The command `schedule`."""

import json
from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient

NOW = {"open": True, "throttle": 50_000_000, "until_ms": None, "reason": None}
PERIOD = {"days": ["Mon", "Tue"], "start": "22:00", "end": "06:00", "throttle": 50_000_000}
DAILY = {"days": ["Mon"] * 7, "start": "00:00", "end": "24:00", "throttle": None}
NONE: dict[str, Any] = {"schedule": None, "time_zone": None, "now": NOW | {"throttle": None}, "periods": []}


class Server(StubClient):
    """Stands in for the client, and notes the requests."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, object]] = []
        self.answer: dict[str, Any] = NONE

    def get(self, path: str) -> Any:
        return self.ask("GET", path, None)

    def ask(self, method: str, path: str, body: object) -> Any:
        self.sent.append((method, path, body))
        return self.answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(client, "Client", made)
    return made


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        ([], ("GET", "/v1/schedule", None)),
        (["Mon 1:00-2:00"], ("PUT", "/v1/schedule", {"schedule": "Mon 1:00-2:00"})),
        (["none"], ("PUT", "/v1/schedule", {"schedule": None})),
        (["1:00-2:00", "--dry-run"], ("POST", "/v1/schedule/preview", {"schedule": "1:00-2:00"})),
    ],
)
def test_what_it_sends(server: Server, arguments: list[str], request_: tuple[str, str, object]) -> None:
    assert main(["schedule", *arguments]) == 0
    assert server.sent == [request_]


def test_without_a_schedule_one_line_says_so(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule"]) == 0
    assert capsys.readouterr().out == "No schedule: steps may start at any time.\n"


def test_the_periods_are_a_table(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = {"schedule": "...", "time_zone": "Europe/Berlin", "now": NOW, "periods": [PERIOD, DAILY]}
    assert main(["schedule"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Now: steps may start, throttle 50 MB/s"
    assert lines[3:] == [
        "Mon,Tue    22:00  06:00               50 MB/s",
        "every day  00:00  24:00               none",
    ]


def test_a_closed_schedule_shows_the_reason(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    now = NOW | {"open": False, "until_ms": 1_000, "reason": "outside of the schedule until 22:00 (UTC)"}
    server.answer = {"schedule": "...", "time_zone": "UTC", "now": now, "periods": []}
    assert main(["schedule", "22:00-23:00", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Now: outside of the schedule until 22:00 (UTC), throttle 50 MB/s",
        "Nothing was changed.",
    ]


def test_json_is_the_answer(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == NONE
