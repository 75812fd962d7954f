"""What `execute` prints about the answer."""

from typing import Any, cast

import pytest

from reassignd.client import Client
from reassignd.commands.execute import WaitOptions, submit


class Submitted:
    """A client that gives one answer to a plan."""

    def __init__(self, **answer: Any) -> None:
        self.answer = {"job": 1, "accepted": 22, "unchanged": 0, "refused": [], "rollback": {}} | answer

    def post(self, path: str, _: bytes, **__: object) -> Any:
        assert path == "/v1/jobs"
        return self.answer

    def print(self) -> int:
        return submit(cast(Client, self), "text", b"{}", {}, WaitOptions(False, None))


def test_entries_that_are_not_in_the_job_are_counted_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert Submitted(unchanged=2).print() == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Job 1: 22 partitions accepted.",
        "2 entries are not in the job: the partition has these replicas already, or is being moved to them.",
    ]


def test_a_job_with_all_entries_says_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    Submitted().print()
    assert capsys.readouterr().out.splitlines()[-1] == "Job 1: 22 partitions accepted."
