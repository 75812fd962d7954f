"""Forecasts of plans for their review: computed one after the other, in child processes."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from common.json.text import parse
from server.api.errors import HttpError
from server.api.roles import Role

MAX_OPEN = 4
"""Most reviews of one role that are being received or computed, or wait for it."""

Forecast = Callable[[AsyncIterable[bytes]], Awaitable[bytes]]
"""Computes a forecast: from the request and the snapshot to one line of JSON. Raises Exception."""


class ReviewSlots:
    """The reviews of the clients of one role, which do not hold up those of another."""

    def __init__(self, forecast: Forecast) -> None:
        self._forecast = forecast
        self._open = 0
        self._turn = asyncio.Semaphore(1)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold a place, before the plan is received. Raises HttpError."""
        if self._open >= MAX_OPEN:
            raise HttpError(429, f"{MAX_OPEN} plans are being reviewed: try again in a moment.")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def forecast(self, request: Callable[[], AsyncIterable[bytes]]) -> dict[str, Any]:
        """Return `planner.forecast.Forecast` as an object. Raises HttpError."""
        async with self._turn:
            return _read(await self._answer(request()))

    async def _answer(self, request: AsyncIterable[bytes]) -> bytes:
        try:
            return await self._forecast(request)
        except Exception as error:
            # A failure of the child process must not look like a fault of the plan.
            raise HttpError(500, f"the forecast failed: {error}") from error


class Reviews:
    """Computes forecasts. `bandwidth` returns the bytes per second of a broker without a throttle."""

    def __init__(self, forecast: Forecast, bandwidth: Callable[[], int]) -> None:
        self.bandwidth = bandwidth
        self._slots = {role: ReviewSlots(forecast) for role in Role}

    def of(self, role: Role) -> ReviewSlots:
        """Return the slots for clients of the role."""
        return self._slots[role]


def _read(line: bytes) -> dict[str, Any]:
    answer = parse(line)
    if not isinstance(answer, dict):
        raise HttpError(500, "the forecast is not a JSON object")
    if "error" in answer:
        raise HttpError(409, str(answer["error"]))
    return answer
