"""The command `limits`: what it sends."""

from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient


class Server(StubClient):
    """Stands in for the client, and notes the changes."""

    def __init__(self) -> None:
        self.sent: object = None

    def ask(self, method: str, path: str, body: object) -> Any:
        assert (method, path) == ("PUT", "/v1/limits")
        self.sent = body
        return {"limits": [], "brokers": []}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(client, "Client", made)
    return made


@pytest.mark.parametrize("name", ["throttle", "reassignment.throttle.bytes.per.second"])
def test_the_throttle_may_have_a_unit(server: Server, name: str) -> None:
    assert main(["limits", f"{name}=50MB", "P=3", "L=none"]) == 0
    assert server.sent == {name: 50_000_000, "P": 3, "L": None}


@pytest.mark.parametrize("given", ["P=3MB", "P", "throttle=fast", "P=1 P=2"])
def test_other_values_are_reported(server: Server, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits", *given.split(" ")]) == 2
    assert server.sent is None
    assert capsys.readouterr().err.count("\n") == 1
