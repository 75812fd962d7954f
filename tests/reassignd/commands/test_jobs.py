"""The options of `job`."""

from typing import Any

import pytest

from controller.views.jobs import PartState
from reassignd.cli import main
from reassignd.commands.jobs import STATES


def test_every_state_can_be_selected() -> None:
    assert sorted(STATES) == sorted(state.value for state in PartState)


def test_filters_and_order_are_sent_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def get(_: object, path: str, **query: Any) -> Any:
        asked.append((path, query))
        return {"job": {}}

    monkeypatch.setattr("reassignd.client.Client.get", get)
    options = "7 --state moving --topic foo --broker 3 --sort bytes --descending --limit 5 --format json"
    assert main(["job", *options.split()]) == 0
    [(path, query)] = asked
    assert path == "/v1/jobs/7"
    expected = {"state": "moving", "topic": "foo", "broker": 3, "sort": "bytes", "descending": "true"}
    assert query == expected | {"limit": 5, "offset": 0}


def test_filters_that_match_nothing_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("reassignd.client.Client.get", lambda *_, **__: answer_without_partitions())
    assert main(["job", "7", "--topic", "nope"]) == 0
    assert capsys.readouterr().out.endswith("No partition matches, of 24 partitions.\n")


def answer_without_partitions() -> dict[str, Any]:
    counts = dict.fromkeys(("done", "moving", "stalled", "waiting", "priority", "created_ms"), 0)
    row = {**counts, "id": 7, "kind": "plan", "state": "running", "total": 24, "queued": 24}
    row |= dict.fromkeys(
        ("ended_ms", "throttle", "rolled_back_by", "copied", "outcome", "client_id", "undoes")
    )
    row |= {"principal": "ann", "endings": {}, "limits": []}
    return {"job": row, "reasons": [], "other_reasons": 0, "partitions": [], "matching": 0, "next": None}
