import io
import json
import os
import sys
from collections.abc import AsyncIterator

import pytest

from reassignd.proposals import child
from reassignd.proposals.child import END, computed, until_end
from reassignd.spark.helper_process import HelperError


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for each in given:
        yield each


def test_lines_after_the_end_are_not_read() -> None:
    lines = iter([b"a\n", END, b"b\n"])
    assert list(until_end(lines)) == [b"a\n"]
    assert next(lines) == b"b\n"


async def test_a_module_gets_the_request_and_its_end() -> None:
    request = json.dumps({"targets": [], "limits": {}, "bandwidth": 1, "rates": []}).encode() + b"\n"
    answer = json.loads(await computed("reassignd.proposals.review_worker", pieces(request)))
    assert answer == {"error": "the cluster names no broker: not a snapshot of a cluster"}


async def test_a_module_that_fails_is_an_error() -> None:
    with pytest.raises(HelperError, match=r"exit code 1: .*Expecting value"):
        await computed("reassignd.proposals.review_worker", pieces())


def test_the_work_reads_stdin_and_writes_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.BytesIO()
    monkeypatch.setattr(os, "nice", lambda _: None)
    monkeypatch.setattr(child, "end_with", lambda _: None)
    monkeypatch.setattr(sys, "stdin", _Text(io.BytesIO(b"a\nb\n")))
    monkeypatch.setattr(sys, "stdout", _Text(output))
    assert child.serve(lambda lines, answers: answers.writelines(reversed(list(lines)))) == 0
    assert output.getvalue() == b"b\na\n"


class _Text:
    def __init__(self, buffer: io.BytesIO) -> None:
        self.buffer = buffer

    def fileno(self) -> int:
        return 0
