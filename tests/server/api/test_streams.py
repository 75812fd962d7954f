"""Large answers."""

import asyncio
import json

from msgspec import Struct
from starlette.responses import StreamingResponse

from common.turns import ROWS_PER_SLICE
from server.api.streams import json_lines, streamed


class Row(Struct):
    n: int


class Rows(Struct):
    first: list[Row]
    rows: list[Row]
    last: int = 1


class Optional(Struct, omit_defaults=True):
    rows: list[Row] | None = None


async def text(response: StreamingResponse) -> str:
    return b"".join([chunk async for chunk in response.body_iterator if isinstance(chunk, bytes)]).decode()


async def test_rows_are_the_elements_of_the_last_list() -> None:
    for count in (0, 1, ROWS_PER_SLICE, 2 * ROWS_PER_SLICE + 1):
        rows = [Row(number) for number in range(count)]
        expected = {"first": [], "rows": [{"n": number} for number in range(count)], "last": 1}
        assert json.loads(await text(streamed(Rows([], []), rows))) == expected


async def test_an_answer_without_a_list_is_sent_as_it_is() -> None:
    assert await text(streamed(Optional())) == "{}\n"


async def test_each_line_is_one_row() -> None:
    lines = await text(json_lines(Row(number) for number in range(3)))
    assert lines == '{"n":0}\n{"n":1}\n{"n":2}\n'


async def test_other_tasks_run_between_slices_of_rows_that_are_left_out() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    rows = [None] * (10 * ROWS_PER_SLICE) + [Row(1)]
    assert json.loads(await text(streamed(Rows([], []), rows)))["rows"] == [{"n": 1}]
    counting.cancel()
    assert turns >= 10
