"""The requests of the command `limits`."""

from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient

PREVIEW = {
    "starts": 1,
    "more": False,
    "stopped": None,
    "throttle": None,
    "limits": [
        {"name": "P", "config": "p", "before": None, "after": 3, "excess": 2},
        {"name": "C", "config": "c", "before": 9, "after": 9, "excess": 1},
    ],
    "brokers": [dict(zip(("id", "in", "out", "s_in", "s_out", "x_in", "x_out"), range(7), strict=True))],
}


class Server(StubClient):
    """Stands in for the client, and notes the changes."""

    def __init__(self) -> None:
        self.sent: object = None

    def ask(self, method: str, path: str, body: object) -> Any:
        assert (method, path) in {("PUT", "/v1/limits"), ("POST", "/v1/limits/preview")}
        self.sent = body
        return {"limits": [], "brokers": [], "pace": None} if method == "PUT" else PREVIEW


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    fake = Server()
    monkeypatch.setattr(client, "Client", fake)
    return fake


@pytest.mark.parametrize("name", ["throttle", "reassignment.throttle.bytes.per.second"])
def test_the_throttle_may_have_a_unit(server: Server, name: str) -> None:
    assert main(["limits", f"{name}=50MB", "P=3", "L=none"]) == 0
    assert server.sent == {name: 50_000_000, "P": 3, "L": None}


@pytest.mark.parametrize("given", ["50", "9999"])
def test_a_throttle_of_few_bytes_needs_a_unit(
    server: Server, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["limits", f"throttle={given}", "P=3"]) == 2
    assert f"write {given}MB, or {given}B" in capsys.readouterr().err
    assert server.sent is None
    assert main(["limits", f"throttle={given}B"]) == 0


@pytest.mark.parametrize("given", ["10000", "50MB", "none"])
def test_other_throttles_are_taken(server: Server, given: str) -> None:
    assert main(["limits", f"throttle={given}", "P=3"]) == 0
    assert server.sent is not None


@pytest.mark.parametrize("given", ["P=3MB", "P", "throttle=fast", "P=1 P=2"])
def test_other_values_are_reported(server: Server, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits", *given.split(" ")]) == 2
    assert server.sent is None
    assert capsys.readouterr().err.count("\n") == 1


def test_a_dry_run_shows_what_would_start(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits", "P=3", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "P: none -> 3; steps in flight exceed it by 2 and continue",
        "1 waiting step would start now",
    ]
    assert lines[-1] == "Nothing was changed."
    assert server.sent == {"P": 3}


def test_a_dry_run_without_a_change_is_refused(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits", "--dry-run"]) == 2
    assert "--dry-run needs a change" in capsys.readouterr().err


def test_pace_is_switched_on_by_name_and_its_target_is_a_number(server: Server) -> None:
    assert main(["limits", "pace=auto", "pace.ms=12.5", "pace.factor=none"]) == 0
    assert server.sent == {"pace": "auto", "pace.ms": 12.5, "pace.factor": None}


def test_a_config_that_is_no_limit_is_answered_with_the_command_that_sets_it(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["limits", "reassignment.health.guard=slow"]) == 2
    assert server.sent is None
    assert capsys.readouterr().err.endswith("--alter --add-config reassignment.health.guard=slow\n")
