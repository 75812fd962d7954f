"""The command `audit`."""

import re
from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient

ENTRY = {
    "id": 7,
    "time_ms": 0,
    "action": "order",
    "principal": "User:ann",
    "client_id": "tool",
    "job": 3,
    "detail": {
        "requested": 5,
        "partitions": 4,
        "cancelled": 1,
        "throttle": 1048576,
        "priority": 2,
        "topics": ["a", "b"],
        "topic_count": 4,
    },
}


class Server(StubClient):
    """Stands in for the client; answers with ENTRY, and notes the query."""

    def __init__(self) -> None:
        self.query: dict[str, Any] = {}
        self.entry: dict[str, Any] = ENTRY

    def get(self, path: str, **query: object) -> Any:
        assert path == "/v1/audit"
        self.query = query
        return {"entries": [self.entry], "next": 7}

    def stream(self, path: str, **query: object) -> list[bytes]:
        assert path == "/v1/audit/export"
        self.query = query
        return [b'{"id":1}\n', b'{"id":2}\n']


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    fake = Server()
    monkeypatch.setattr(client, "Client", fake)
    return fake


@pytest.mark.usefixtures("server")
def test_an_order_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit"]) == 0
    head, line, more = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "TIME", "ACTION", "JOB", "BY", "WHAT"]
    text = "4 partitions, 1 cancelled, of a b and 2 more topics, throttle 1.05 MB/s, priority 2"
    assert line.endswith(f"order     3  ann (tool)  {text}")
    assert more == "Older entries: --before 7"


@pytest.mark.parametrize(
    ("action", "detail", "text"),
    [
        ("rollback", {"rolled_back": 2, "partitions": 1, "skipped": 3}, "of job 2, 1 partition, 3 skipped"),
        ("limits", {"configs": {"x": "3", "y": None}}, "x=3, y=none"),
        ("limits", {"configs": {"x": "3"}, "before": {"x": None}}, "x=none -> 3"),
        ("priority", {}, "priority 0"),
        ("priority", {"priority": 2, "before": {"priority": "0"}}, "priority 0 -> 2"),
        ("pause", {"left": 7}, "7 partitions left"),
        ("acls", {"created": ["a"], "deleted": ["b"], "changed": 5}, "created a, deleted b, and 3 more"),
        (
            "review",
            {"reviewed": ["approved 1 of User:ann: ADMIN"], "changed": 2, "reason": "fine"},
            "approved 1 of User:ann: ADMIN, and 1 more, reason: fine",
        ),
        (
            "users",
            {"configs": {"user x: S": "i=1"}, "before": {"user x: S": None}, "changed": 1},
            "user x: S=none -> i=1",
        ),
    ],
)
def test_the_numbers_of_other_actions(
    server: Server, capsys: pytest.CaptureFixture[str], action: str, detail: dict[str, Any], text: str
) -> None:
    server.entry = ENTRY | {"action": action, "detail": detail}
    main(["audit"])
    assert capsys.readouterr().out.splitlines()[1].endswith(f"  {text}")


@pytest.mark.parametrize("principal", ["User:ann", "Local:root"])
def test_a_principal_with_a_type_is_sent_as_it_is(server: Server, principal: str) -> None:
    main(["audit", "--principal", principal])
    assert server.query["principal"] == principal


def test_filters_are_sent(server: Server) -> None:
    assert (
        main(
            ["audit", "--action", "order", "--principal", "p", "--client", "c", "--job", "3", "--limit", "5"]
        )
        == 0
    )
    sent = {name: value for name, value in server.query.items() if value is not None}
    assert sent == {"action": "order", "principal": "User:p", "client": "c", "job": 3, "limit": 5}


def test_times_are_ages_or_dates(server: Server) -> None:
    main(["audit", "--since", "2h", "--until", "2030-01-31T18:00+00:00"])
    assert server.query["until"] == 1896112800000
    main(["audit", "--since", "1d"])
    day_ago = server.query["since"]
    main(["audit", "--since", "2h"])
    assert 21 * 3600_000 < server.query["since"] - day_ago < 23 * 3600_000


def test_an_invalid_time_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--since", "yesterday"]) == 2
    assert re.search("'yesterday', expected an age such as 30m", capsys.readouterr().err)


def test_the_export_is_printed_unchanged(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--export", "--job", "4"]) == 0
    assert capsys.readouterr().out == '{"id":1}\n{"id":2}\n'
    assert server.query["job"] == 4
