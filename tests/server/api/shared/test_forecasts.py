"""The rate of forecasts, without pace and with it."""

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import ExitStack

import pytest

from controller.pace.readings import PaceMeasured, Source
from server.api.shared.errors import HttpError
from server.api.shared.forecasts import MAX_OPEN, ForecastRate, Reviews, ReviewSlots, forecast_rate
from server.api.shared.models import RateOrigin
from server.api.shared.roles import Role
from server.progress.progress import Progress
from server.progress.rates import SAMPLE_SECONDS, Transfer
from tests.builders import InMemoryController
from tests.server.api.api_client import Sizes

UNTHROTTLED = 50
THROTTLE = "reassignment.throttle.bytes.per.second"


class Cluster:
    """A cluster in which broker 4 has copied less than broker 5."""

    def __init__(self, **configs: str) -> None:
        self.controller = InMemoryController()
        for name, value in configs.items():
            self.controller.default(name, value)
        self.progress = Progress(self.controller.state, Sizes(), now_ms=lambda: self.controller.now_ms + 1)

    def follow(self) -> None:
        """Give pace a reading."""
        self.controller.do(PaceMeasured(1.0, Source.CANARY, []))

    def copy(self, *received: int) -> None:
        """Add a sample for each number of bytes per second to broker 5."""
        for rate in received:
            copied = Counter({4: SAMPLE_SECONDS, 5: rate * SAMPLE_SECONDS})
            self.progress.throughput.add(SAMPLE_SECONDS, Transfer(copied, Counter()), None)

    @property
    def rate(self) -> ForecastRate:
        return forecast_rate(self.controller.state, self.progress, UNTHROTTLED)


PACED = {"reassignment.pace": "auto"}


def test_without_a_throttle_and_a_measured_rate_it_is_assumed() -> None:
    assert Cluster().rate == (UNTHROTTLED, RateOrigin.ASSUMED)


def test_a_throttle_is_the_rate() -> None:
    assert Cluster(**{THROTTLE: "30"}).rate == (30, RateOrigin.THROTTLE)


def test_with_pace_it_is_what_pace_has_permitted_the_fastest_broker() -> None:
    cluster = Cluster(**PACED)
    cluster.follow()
    cluster.copy(10, 0, 20)
    assert cluster.rate == (15, RateOrigin.PACED)


def test_what_was_copied_before_pace_was_on_does_not_count() -> None:
    cluster = Cluster(**PACED)
    cluster.copy(10)
    assert cluster.rate == (UNTHROTTLED, RateOrigin.UNPACED)


@pytest.mark.parametrize(("throttle", "expected"), [("12", 12), ("90", 15)])
def test_a_throttle_remains_an_upper_bound_of_pace(throttle: str, expected: int) -> None:
    cluster = Cluster(**PACED, **{THROTTLE: throttle})
    cluster.follow()
    cluster.copy(15)
    assert cluster.rate == (expected, RateOrigin.PACED)


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
