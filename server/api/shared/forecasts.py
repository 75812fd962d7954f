"""Forecasts: their rate and its origin, the time by the schedule, and child processes that compute them."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import mean
from typing import Any, NamedTuple

from common.clock import wall_clock
from common.json.text import parse
from common.lists import grouped
from controller.execution.throttle import rates_of_others, throttle_rate
from controller.schedule.openings import seconds_until_done
from controller.state.state import State
from server.api.shared.errors import HttpError
from server.api.shared.models import RateOrigin, ThrottledBrokers
from server.api.shared.roles import Role
from server.progress.progress import Progress
from server.progress.rates import ThroughputSample


class ForecastRate(NamedTuple):
    """Bytes per second to, and from, each broker."""

    bytes: int
    origin: RateOrigin


def applying_rates(state: State, origin: RateOrigin) -> dict[int, int]:
    """Return by broker the rates of others that apply instead: only throttled replicas are slowed."""
    return rates_of_others(state) if origin in _THROTTLED else {}


def by_rate(rates: Mapping[int, int]) -> list[ThrottledBrokers]:
    """Return the brokers of each rate."""
    brokers = grouped((rate, broker) for broker, rate in sorted(rates.items()))
    return [ThrottledBrokers(rate, each) for rate, each in sorted(brokers.items())]


_THROTTLED = frozenset({RateOrigin.GIVEN, RateOrigin.THROTTLE, RateOrigin.PACED})


def forecast_rate(state: State, progress: Progress, unthrottled: int) -> ForecastRate:
    """Return the rate of a forecast. `unthrottled` is that of a broker of which nothing is known.

    Pace has no rate of its own: it permits what producers bear. What it has permitted lately is the best
    guess.
    """
    throttle = throttle_rate(state)
    now = max((each.rate for each in progress.to_brokers().values() if each.rate), default=None)
    if state.pace.settings is not None and (paced := now or _paced_lately(state, progress)):
        return ForecastRate(paced if throttle is None else min(paced, throttle), RateOrigin.PACED)
    if throttle is not None:
        return ForecastRate(throttle, RateOrigin.THROTTLE)
    if now is not None:
        return ForecastRate(now, RateOrigin.MEASURED)
    return ForecastRate(
        unthrottled, RateOrigin.ASSUMED if state.pace.settings is None else RateOrigin.UNPACED
    )


def _paced_lately(state: State, progress: Progress) -> int | None:
    """Return the mean rate of the fastest broker while pace was on, in the last half hour at most."""
    followed = state.pace.history.samples()
    return fastest(progress.throughput.samples(followed[0].time_ms)) if followed else None


def fastest(samples: Sequence[ThroughputSample]) -> int | None:
    """Return the highest mean rate of a broker over the samples in which it received something."""
    rates = defaultdict[int, list[int]](list)
    for sample in samples:
        for broker, rate in sample.incoming.items():
            if rate:
                rates[broker].append(rate)
    return max((round(mean(each)) for each in rates.values()), default=None)


def scheduled_seconds(state: State, size: float, rate: int, unscheduled: float) -> float | None:
    """Return the time from now on that `size` bytes take at this rate in the periods of the schedule.

    Without a schedule it is `unscheduled`. None: longer than 90 days, or never.
    """
    if state.settings.schedule is None:
        return unscheduled
    return seconds_until_done(state.settings.schedule, wall_clock(), size, rate)


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
        """Return `planner.model.forecast.Forecast` as an object. Raises HttpError."""
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
