import asyncio
import io
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from common.wording import missing
from planner.model.snapshot import lines
from reassignd.workers import processes
from reassignd.workers.processes import (
    END_OF_REQUEST,
    HelperError,
    HelperProcess,
    compute,
    computed,
    exchange_lines,
    review,
    solver_obstacle,
    until_end,
)
from tests.planner.proposals.builders import cluster

ECHO = "import sys; print(sys.stdin.readline().strip()[::-1])"


async def request(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def ask(program: str, *pieces: bytes, seconds: float = 20) -> bytes:
    return await exchange_lines([sys.executable, "-c", program], request(*pieces), seconds)


def runs(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def noted(file: Path) -> int:
    """The pid that a program writes there."""
    while not (text := written(file)).endswith("."):
        await asyncio.sleep(0.01)
    return int(text[:-1])


def written(file: Path) -> str:
    return file.read_text() if file.exists() else ""


async def test_it_is_given_the_request_and_its_answer_is_given_back() -> None:
    assert await ask(ECHO, b"ab", b"cd\n") == b"dcba\n"


async def test_the_error_has_the_last_line_of_stderr() -> None:
    with pytest.raises(HelperError, match=r"^exit code 1: ZeroDivisionError: division by zero$"):
        await ask("1 / 0")


async def test_a_failure_without_output_is_reported() -> None:
    with pytest.raises(HelperError, match=r"^exit code -9: no message on stderr$"):
        await ask(f"import os; os.kill(os.getpid(), {signal.SIGKILL:d})")


async def test_a_process_that_ends_before_it_has_read_everything_is_no_error() -> None:
    assert await ask("print('enough')", *[b"x" * 100_000] * 20) == b"enough\n"


async def test_much_output_on_stderr_does_not_block_it() -> None:
    assert await ask("import sys; sys.stderr.write('x' * 500_000); print('done')") == b"done\n"


async def test_a_process_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    child = "import subprocess; c = subprocess.Popen(['sleep', '600'])"
    seconds = 0.25
    while not written(file):  # a busy machine may need longer to start it
        seconds *= 2
        with pytest.raises(HelperError, match=rf"^no answer within {seconds:g} s$"):
            await ask(f"{child}; open({str(file)!r}, 'w').write(f'{{c.pid}}.'); c.wait()", seconds=seconds)
    pid = await noted(file)
    while runs(pid):
        await asyncio.sleep(0.01)


async def test_it_is_killed_when_the_request_fails(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def asked() -> AsyncIterator[bytes]:
        yield b"begin"
        await noted(file)
        raise KeyError("a surprise")

    program = f"import os, time; open({str(file)!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(600)"
    with pytest.raises(KeyError):
        await exchange_lines([sys.executable, "-c", program], asked(), 20)
    assert not runs(await noted(file))


async def test_the_process_is_killed_when_the_caller_is_cancelled(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    program = f"import os, time; open({str(file)!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(600)"
    task = asyncio.create_task(ask(program))
    pid = await noted(file)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not runs(pid)


async def test_a_process_that_cannot_be_started_is_a_failure_like_any_other() -> None:
    with pytest.raises(HelperError, match="cannot start it: No such file or directory"):
        await exchange_lines(["/no/such/program"], request(), 20)


ECHOES = "import sys\nfor line in sys.stdin:\n print(line.strip()[::-1], end='\\n\\n', flush=True)"


async def test_a_process_that_stays_answers_one_request_after_another() -> None:
    helper = HelperProcess([sys.executable, "-c", ECHOES], 20)
    try:
        assert await helper.ask(request(b"ab\n")) == b"ba\n\n"
        process = helper._running
        assert (await helper.ask(request(b"cd\n")), helper._running) == (b"dc\n\n", process)
    finally:
        await helper.stop()


async def test_a_process_that_failed_is_started_again_for_the_next_request(tmp_path: Path) -> None:
    once = (
        f"import os, sys; p = {str(tmp_path / 'seen')!r}; seen = os.path.exists(p); open(p,"
        " 'w'); seen or sys.exit(3)\n"
    )
    helper = HelperProcess([sys.executable, "-c", once + ECHOES], 20)
    try:
        with pytest.raises(HelperError, match=r"^exit code 3"):
            await helper.ask(request(b"ab\n"))
        assert await helper.ask(request(b"ab\n")) == b"ba\n\n"
    finally:
        await helper.stop()


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for each in given:
        yield each


def test_lines_after_the_end_are_not_read() -> None:
    lines = iter([b"a\n", END_OF_REQUEST, b"b\n"])
    assert list(until_end(lines)) == [b"a\n"]
    assert next(lines) == b"b\n"


async def test_a_module_gets_the_request_and_its_end() -> None:
    request = json.dumps({"targets": [], "limits": {}, "bandwidth": 1, "rates": []}).encode() + b"\n"
    answer = json.loads(await computed("reassignd.workers.review_worker", pieces(request)))
    assert answer == {"error": "the cluster names no broker: not a snapshot of a cluster"}


async def test_a_module_that_fails_is_an_error() -> None:
    with pytest.raises(HelperError, match=r"exit code 1: .*Expecting value"):
        await computed("reassignd.workers.review_worker", pieces())


def test_the_work_reads_stdin_and_writes_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.BytesIO()
    monkeypatch.setattr(os, "nice", lambda _: None)
    monkeypatch.setattr(processes, "end_with", lambda _: None)
    monkeypatch.setattr(sys, "stdin", _Text(io.BytesIO(b"a\nb\n")))
    monkeypatch.setattr(sys, "stdout", _Text(output))
    assert processes.serve(lambda lines, answers: answers.writelines(reversed(list(lines)))) == 0
    assert output.getvalue() == b"b\na\n"


class _Text:
    def __init__(self, buffer: io.BytesIO) -> None:
        self.buffer = buffer

    def fileno(self) -> int:
        return 0


async def snapshot_pieces(**request: Any) -> AsyncIterator[bytes]:
    yield json.dumps(request | {"limits": {}, "bandwidth": 10, "rates": [], "elects": False}).encode() + b"\n"
    for line in lines(cluster("---", (1, 2))):
        yield line


async def test_a_process_computes_a_proposal() -> None:
    first, *_ = (await compute(snapshot_pieces(goals=["drain", "1"], options={}))).splitlines()
    assert json.loads(first)["figures"]["moves"] == 1


async def test_a_process_forecasts_a_plan() -> None:
    answer = json.loads(await review(snapshot_pieces(targets=[["foo", 0, [3, 2]]])))
    assert answer["replica_movements"] == 1


def test_a_missing_solver_is_an_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solver_obstacle() is None
    monkeypatch.setattr(processes, "find_spec", lambda _: None)
    assert solver_obstacle() == missing("propose", "OR-tools", "propose")
