"""Work off the event loop."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable

import pytest

from common.clock import settle
from common.off_loop import TURN_SECONDS, InlineExecutor, InTurn, P, R, WorkerThread, short_turns


async def test_the_inline_executor_returns_the_result() -> None:
    assert await InlineExecutor().run(max, 1, 2) == 2


async def test_an_error_is_raised_where_the_result_is_awaited() -> None:
    later = InlineExecutor().run(int, "no number")
    with pytest.raises(ValueError, match="no number"):
        await later


async def test_functions_in_turn_are_passed_on_one_at_a_time() -> None:
    passed: list[int] = []
    go_on = asyncio.Event()

    class Slow:
        async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
            passed.append(len(passed))
            await go_on.wait()
            return function(*args, **kwargs)

    in_turn = InTurn(Slow())
    asked = [asyncio.ensure_future(in_turn.run(abs, -number)) for number in range(3)]
    await settle()
    assert passed == [0]
    go_on.set()
    assert await asyncio.gather(*asked) == [0, 1, 2]


async def test_it_runs_in_another_thread_and_returns_its_value() -> None:
    off_loop = WorkerThread()
    assert await off_loop.run(threading.get_ident) != threading.get_ident()
    assert await off_loop.run(divmod, 7, 2) == (3, 1)
    off_loop.close()


async def test_it_is_busy_until_a_function_ends_whose_caller_was_cancelled() -> None:
    off_loop, begun, go_on = WorkerThread(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait()

    asked = asyncio.ensure_future(off_loop.run(work))
    begun.wait()
    asked.cancel()
    await settle()
    assert off_loop.is_busy
    go_on.set()
    off_loop.close()
    assert not off_loop.is_busy


async def test_its_exception_is_raised() -> None:
    off_loop = WorkerThread()
    with pytest.raises(ZeroDivisionError):
        await off_loop.run(divmod, 1, 0)
    off_loop.close()


async def test_the_loop_runs_meanwhile() -> None:
    off_loop, begun, go_on = WorkerThread(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        go_on.wait(5)
        return "done"

    working = asyncio.ensure_future(off_loop.run(work))
    await asyncio.to_thread(begun.wait, 5)
    assert not working.done()
    go_on.set()
    assert await working == "done"
    off_loop.close()


async def test_it_is_busy_until_the_last_function_has_ended() -> None:
    off_loop, seen = WorkerThread(), []
    working = [off_loop.run(time.sleep, 0) for _ in range(2)]
    seen.append(off_loop.is_busy)
    await asyncio.gather(*working)
    await asyncio.sleep(0)
    seen.append(off_loop.is_busy)
    assert seen == [True, False]
    off_loop.close()


def test_turns_are_short_until_the_last_that_needs_it_has_ended() -> None:
    usual = sys.getswitchinterval()
    with short_turns:
        with short_turns:
            pass
        assert sys.getswitchinterval() == pytest.approx(TURN_SECONDS)
    assert sys.getswitchinterval() == usual
