"""The rate of forecasts, without pace and with it."""

from collections import Counter

import pytest

from controller.pace.readings import PaceMeasured, Source
from server.api.models.shared import RateOrigin
from server.api.services.progress import Progress
from server.api.services.throughput import SAMPLE_SECONDS, Copied
from server.api.views.forecast_rate import ForecastRate, forecast_rate
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
            self.progress.throughput.add(SAMPLE_SECONDS, Copied(copied, Counter()), None)

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
