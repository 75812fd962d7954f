import asyncio
from collections.abc import Callable

import pytest

from common.clock import settle
from common.off_loop import InlineExecutor, InTurn, P, R


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
