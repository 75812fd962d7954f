import asyncio
import itertools
from collections.abc import Awaitable
from typing import cast

import pytest

from protocol.errors import DecodeError
from protocol.frames import RequestFrame
from server.dispatch.router import Caller
from server.metrics.latency import RequestLatency

LIST = RequestFrame(46, 0, 1, None, memoryview(b""), known=True)
SOMEONE = cast(Caller, None)


def before(answer: bytes | Awaitable[bytes]) -> RequestLatency:
    """Return a RequestLatency around a function with this answer. Each reading of the clock is half a second later."""
    return RequestLatency(lambda _frame, _caller: answer, itertools.count(step=0.5).__next__)


async def later() -> bytes:
    await asyncio.sleep(0)
    return b"later"


async def never() -> bytes:
    raise DecodeError("garbage")


def test_an_immediate_answer_is_timed() -> None:
    latency = before(b"now")
    assert latency.answer(LIST, SOMEONE) == b"now"
    assert (latency.answers[46], latency.seconds[46]) == (1, 0.5)


async def test_a_delayed_answer_is_timed_when_it_is_complete() -> None:
    latency = before(later())
    answer = latency.answer(LIST, SOMEONE)
    assert latency.answers[46] == 0
    assert not isinstance(answer, bytes)
    assert await answer == b"later"
    assert (latency.answers[46], latency.seconds[46]) == (1, 0.5)


async def test_a_request_without_an_answer_is_not_counted() -> None:
    latency = before(never())
    answer = latency.answer(LIST, SOMEONE)
    assert not isinstance(answer, bytes)
    with pytest.raises(DecodeError):
        await answer
    assert latency.answers[46] == 0
