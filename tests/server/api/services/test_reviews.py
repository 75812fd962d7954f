from collections.abc import AsyncIterable, AsyncIterator
from contextlib import ExitStack

import pytest

from server.api.errors import HttpError
from server.api.roles import Role
from server.api.services.reviews import MAX_OPEN, Reviews, ReviewSlots


async def nothing() -> AsyncIterator[bytes]:
    for piece in list[bytes]():
        yield piece


def slots(answer: bytes | Exception) -> ReviewSlots:
    async def forecast(_: AsyncIterable[bytes]) -> bytes:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ReviewSlots(forecast)


async def test_the_answer_is_an_object() -> None:
    assert await slots(b'{"steps":1}\n').forecast(nothing) == {"steps": 1}


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
        await slots(answer).forecast(nothing)
    assert (caught.value.status, str(caught.value)) == (status, text)


async def test_only_some_reviews_of_a_role_are_open() -> None:
    service = Reviews(lambda _: slots(b"{}")._forecast(nothing()), lambda: 1)
    with ExitStack() as open_:
        for _ in range(MAX_OPEN):
            open_.enter_context(service.of(Role.VIEWER).opened())
        with pytest.raises(HttpError, match="4 plans are being reviewed"), service.of(Role.VIEWER).opened():
            pass
        with service.of(Role.OPERATOR).opened():
            assert await service.of(Role.OPERATOR).forecast(nothing) == {}
    with service.of(Role.VIEWER).opened():
        pass
