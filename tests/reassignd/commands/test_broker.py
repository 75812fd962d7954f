"""The command `broker`."""

from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient

ROW = {
    "id": 2,
    "live": False,
    "host": "localhost",
    "port": 9093,
    "rack": None,
    "log_dirs": [{"path": "/a", "works": True}, {"path": "/b", "works": False}],
}


class Recorder(StubClient):
    """Test double of the client that records the requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object, dict[str, object]]] = []

    def post(self, path: str, body: object = None, **query: object) -> Any:
        self.asked.append((path, body, query))
        return ROW


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, object, dict[str, object]]]:
    recorder = Recorder()
    monkeypatch.setattr(client, "Client", recorder)
    return recorder.asked


@pytest.mark.parametrize(
    ("arguments", "request_", "text"),
    [
        (["stop", "2"], ("stop", None, {"controlled": True}), "Broker 2 has stopped."),
        (["stop", "2", "--crash"], ("stop", None, {"controlled": False}), "Broker 2 has stopped."),
        (["start", "2"], ("start", None, {}), "Broker 2 has started."),
        (["slow", "2", "0.5"], ("slow", {"factor": 0.5}, {}), "Broker 2 has 0.5 times its network rate."),
        (
            ["fail-log-dir", "2", "/a"],
            ("fail-log-dir", {"path": "/a"}, {}),
            "Log directory /a of broker 2 has failed.",
        ),
    ],
)
def test_each_command_sends_its_request_and_prints_the_result(
    arguments: list[str],
    request_: tuple[str, object, dict[str, object]],
    text: str,
    asked: list[tuple[str, object, dict[str, object]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["broker", *arguments]) == 0
    action, body, query = request_
    assert asked == [(f"/v1/brokers/2/{action}", body, query)]
    assert capsys.readouterr().out == text + "\n"


def test_json_output_is_the_response_unchanged(
    asked: list[tuple[str, object, dict[str, object]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["broker", "start", "2", "--format", "json"]) == 0
    assert len(asked) == 1
    assert capsys.readouterr().out.startswith('{"id":2,"live":false')
