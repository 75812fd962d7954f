"""What `rollback --dry-run` prints."""

from typing import Any

import pytest

from reassignd.cli import main

PREVIEW = {
    "undoes": None,
    "partitions": 2,
    "bytes": 2048,
    "unmoved": 5,
    "withdrawn": 3,
    "unchanged": 1,
    "skipped": 4,
    "waiting_partitions": 2,
}
WAITING = [{"topic": "foo", "partition": 0, "replicas": [2], "reason": "offline: broker 4"}]
EXAMPLES = [{"topic": "foo", "partition": 2, "reason": "taken over by job 2"}]


def test_a_dry_run_prints_the_numbers_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def get(_: object, path: str) -> Any:
        assert path == "/v1/jobs/7/rollback"
        return PREVIEW | {"examples": EXAMPLES, "waiting": WAITING}

    monkeypatch.setattr("reassignd.client.Client.get", get)
    assert main(["rollback", "7", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert (out + err).splitlines() == [
        "A rollback of job 7 moves 2 partitions back and copies 2 KiB.",
        "5 partitions not moved yet would only leave the job.",
        "It withdraws 3 queued partitions.",
        "1 partition would not change.",
        "waits: 2 partitions, the first is foo-0: offline: broker 4",
        "skipped: foo-2: taken over by job 2",
        "skipped: 3 more",
    ]


def test_a_rollback_of_a_rollback_says_where_partitions_move(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    preview = {
        **dict.fromkeys(PREVIEW, 0),
        "undoes": 6,
        "partitions": 2,
        "bytes": 2048,
        "examples": [],
        "waiting": [],
    }
    monkeypatch.setattr("reassignd.client.Client.get", lambda *_: preview)
    assert main(["rollback", "7", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Job 7 has rolled back job 6.",
        "Its rollback moves 2 partitions to the targets of job 6 again and copies 2 KiB.",
    ]
