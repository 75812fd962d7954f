"""Large answers."""

import asyncio
import json

import pytest
from msgspec import Struct
from starlette.responses import StreamingResponse

from common.tasks import ROWS_PER_SLICE
from server.api.shared.answers import MAX_ANSWERS, KeptAnswers, accepted_age, json_lines, streamed


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


class Maker:
    """Makes the answers 1, 2, 3 …, at a time that the test sets."""

    def __init__(self) -> None:
        self.now, self.made = 0.0, 0
        self.kept = KeptAnswers(lambda: self.now)

    async def make(self) -> bytes:
        self.made += 1
        answer = b"%d" % self.made
        await asyncio.sleep(0)
        return answer

    async def get(self, key: str = "a", max_age: float = 2) -> bytes:
        return (await self.kept.get(key, max_age, self.make)).body


async def test_an_answer_is_shared_until_it_is_too_old_for_the_client() -> None:
    maker = Maker()
    assert await maker.get() == b"1"
    maker.now = 2
    assert await maker.get() == b"1"
    assert await maker.get(max_age=1) == b"2"
    maker.now = 4.1
    assert await maker.get() == b"3"


async def test_requests_at_the_same_time_make_one_answer() -> None:
    maker = Maker()
    assert await asyncio.gather(*(maker.get() for _ in range(50))) == [b"1"] * 50


async def test_keys_have_their_own_answers() -> None:
    maker = Maker()
    assert (await maker.get("a"), await maker.get("b"), await maker.get("a")) == (b"1", b"2", b"1")


async def test_an_answer_that_was_in_progress_at_a_change_is_not_kept() -> None:
    maker = Maker()
    early = asyncio.create_task(maker.get())
    await asyncio.sleep(0)
    maker.kept.clear()
    assert await maker.get() == b"2"
    assert await early == b"1"
    assert await maker.get() == b"2"


async def test_a_failure_is_not_kept() -> None:
    async def fail() -> bytes:
        raise ValueError

    maker = Maker()
    with pytest.raises(ValueError, match=r"^$"):
        await maker.kept.get("a", 2, fail)
    assert await maker.get() == b"1"


async def test_equal_bodies_have_equal_tags() -> None:
    async def same() -> bytes:
        return b"same"

    kept = KeptAnswers(lambda: 0.0)
    one, other = await kept.get("a", 2, same), await kept.get("b", 2, same)
    assert one.tag == other.tag
    assert one.tag.startswith('"')


async def test_the_number_of_answers_is_bounded() -> None:
    maker = Maker()
    for number in range(MAX_ANSWERS + 1):
        await maker.get(str(number))
    assert await maker.get("1") == b"2"
    assert await maker.get("0") == b"%d" % (MAX_ANSWERS + 2)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("no-cache", 0),
        ("max-age=2", 2),
        ("no-transform, Max-Age=3", 3),
        ("max-age=0", 0),
        ("max-age=-1", 0),
        ("max-age=x", 0),
        ("max-age=99", 10),
        ("max-age=" + "9" * 5000, 0),
    ],
)
def test_the_accepted_age_is_that_of_the_header(header: str, seconds: int) -> None:
    assert accepted_age(header) == seconds


async def test_the_bytes_of_kept_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.api.shared.answers.MAX_BYTES", 2)
    maker = Maker()
    assert [await maker.get(key) for key in "abc"] == [b"1", b"2", b"3"]
    assert [await maker.get(key) for key in "cba"] == [b"3", b"2", b"4"]


async def test_an_answer_above_the_bound_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.api.shared.answers.MAX_BYTES", 0)
    maker = Maker()
    assert [await maker.get(), await maker.get()] == [b"1", b"2"]
