import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reassignd.spark.helper_process import HelperError, HelperProcess, exchange_lines

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
    once = f"import os, sys; p = {str(tmp_path / 'seen')!r}; seen = os.path.exists(p); open(p, 'w'); seen or sys.exit(3)\n"
    helper = HelperProcess([sys.executable, "-c", once + ECHOES], 20)
    try:
        with pytest.raises(HelperError, match=r"^exit code 3"):
            await helper.ask(request(b"ab\n"))
        assert await helper.ask(request(b"ab\n")) == b"ba\n\n"
    finally:
        await helper.stop()
