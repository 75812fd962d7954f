"""Long answers."""

import json

from server.api.streams import ROWS_PER_BREATH, breathing, json_lines, streamed


async def text(response: object) -> str:
    chunks = [chunk async for chunk in response.body_iterator]  # type: ignore[attr-defined] # starlette's own
    return "".join(chunks)


async def test_rows_are_the_elements_of_an_array_whatever_their_number() -> None:
    for count in (0, 1, ROWS_PER_BREATH, 2 * ROWS_PER_BREATH + 1):
        rows = [{"n": number} for number in range(count)]
        assert json.loads(await text(streamed('{"rows":[', rows, "]}"))) == {"rows": rows}


async def test_lines_are_one_row_each() -> None:
    lines = await text(json_lines({"n": number} for number in range(3)))
    assert lines == '{"n":0}\n{"n":1}\n{"n":2}\n'


async def test_breathing_leaves_nothing_out() -> None:
    count = 2 * ROWS_PER_BREATH + 1
    assert [row async for row in breathing(range(count))] == list(range(count))
