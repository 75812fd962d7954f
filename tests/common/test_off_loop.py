import pytest

from common.off_loop import InlineExecutor


async def test_the_inline_executor_returns_the_result() -> None:
    assert await InlineExecutor().run(max, 1, 2) == 2


async def test_an_error_is_raised_where_the_result_is_awaited() -> None:
    later = InlineExecutor().run(int, "no number")
    with pytest.raises(ValueError, match="no number"):
        await later
