"""Operations on the log that are repeated until they are answered."""

from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from common.clock import Clock

Result = TypeVar("Result")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between attempts; doubled after each."""


class Answered(NamedTuple, Generic[Result]):
    """The answer, and when the attempt that was answered was sent."""

    result: Result
    sent: float


async def until_answered(clock: Clock, attempt: Callable[[], Awaitable[Result]]) -> Answered[Result]:
    """Repeat the attempt after each OSError. Other errors are raised, such as FencedError."""
    pause = FIRST_PAUSE
    while True:
        sent = clock.now()
        try:
            return Answered(await attempt(), sent)
        except OSError:
            await clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
