import asyncio
from collections.abc import AsyncIterable, AsyncIterator

import pytest

from server.api.errors import HttpError
from server.api.services.reviews import MAX_OPEN, Reviews


async def nothing() -> AsyncIterator[bytes]:
    for piece in list[bytes]():
        yield piece


def reviews(answer: bytes | Exception, hold: asyncio.Event | None = None) -> Reviews:
    async def forecast(_: AsyncIterable[bytes]) -> bytes:
        if hold is not None:
            await hold.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Reviews(forecast, lambda: 1)


async def test_the_answer_is_an_object() -> None:
    assert await reviews(b'{"steps":1}\n').forecast(nothing) == {"steps": 1}


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (b'{"error":"broker 9 is gone"}\n', 409, "broker 9 is gone"),
        (b"[]", 500, "the forecast is not a JSON object"),
        (OSError("no memory"), 500, "the forecast failed: no memory"),
    ],
)
async def test_a_failure_is_one_line(answer: bytes | Exception, status: int, text: str) -> None:
    with pytest.raises(HttpError) as caught:
        await reviews(answer).forecast(nothing)
    assert (caught.value.status, str(caught.value)) == (status, text)


async def test_only_some_reviews_wait_for_their_turn() -> None:
    hold = asyncio.Event()
    service = reviews(b"{}", hold)
    open_ = [asyncio.create_task(service.forecast(nothing)) for _ in range(MAX_OPEN)]
    await asyncio.sleep(0)
    with pytest.raises(HttpError, match="4 plans are being reviewed"):
        await service.forecast(nothing)
    hold.set()
    assert await asyncio.gather(*open_) == [{}] * MAX_OPEN
    assert await service.forecast(nothing) == {}
