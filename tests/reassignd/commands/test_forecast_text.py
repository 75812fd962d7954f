import pytest

from controller.model.limits import PlanLimits
from planner.plan import BANDWIDTH, forecast
from reassignd.commands.forecast_text import (
    ORIGINS,
    Rate,
    Scheduled,
    forecast_lines,
    limits_of,
    rate_of,
    schedule_lines,
    within_schedule,
)
from server.api.shared.models import RateOrigin
from tests.planner.proposals.builders import cluster

TARGETS = [(("foo", 0), (3, 2)), (("foo", 1), (3, 2))]


def test_the_forecast_has_steps_and_time() -> None:
    result = forecast(TARGETS, cluster("---", (1, 2), (1, 2)), PlanLimits(partitions=1), 10)
    assert list(forecast_lines(result)) == [
        "2 steps in 2 waves: 2 replicas (2 B) to copy, 2 leader movements",
        "forecast: 0.2 s at 10 B/s per broker, at least 0.2 s",
    ]


def test_partitions_that_wait_are_counted_and_the_first_is_named() -> None:
    snapshot = cluster("---", (1, 2), (1, 2))
    snapshot.brokers[3] = snapshot.brokers[3]._replace(live=False)
    *_, last = forecast_lines(forecast(TARGETS, snapshot))
    assert last == "waits: 2 partitions, the first is foo-0: offline: broker 3"


def test_limits_are_read_from_the_api() -> None:
    rows = [{"name": "P", "limit": 5}, {"name": "B", "limit": None}, {"name": "throttle", "limit": 9}]
    assert limits_of({"limits": rows}) == PlanLimits(partitions=5)
    assert limits_of({"limits": rows}, "P=9,B=2") == PlanLimits(partitions=5, per_broker=2)


def test_the_rate_of_the_server_is_explained() -> None:
    known = {"bandwidth": 7, "rate_origin": "throttle", "set_by_others": []}
    assert rate_of(known) == Rate(7, "the throttle of the server")
    assert rate_of(known | {"bandwidth": None}) == Rate(BANDWIDTH, "assumed, because the server expects none")


@pytest.mark.parametrize(
    ("origin", "throttle", "others"),
    [("throttle", None, {3: 5}), ("measured", None, {}), ("measured", 9, {3: 5})],
)
def test_rates_of_others_apply_to_throttled_replicas_only(
    origin: str, throttle: int | None, others: dict[int, int]
) -> None:
    slow = {"bytes_per_second": 5, "brokers": [3]}
    answer = {"bandwidth": 7, "rate_origin": origin, "set_by_others": [slow]}
    assert rate_of(answer, throttle).of_others == others


def test_each_origin_of_a_rate_has_a_text() -> None:
    assert ORIGINS.keys() == {origin.value for origin in RateOrigin} - {"given"}


def test_the_time_within_a_schedule_is_that_with_its_throttle() -> None:
    result = forecast(TARGETS, cluster("---", (1, 2), (1, 2)), PlanLimits(partitions=1), 10)
    always = "00:00-24:00 throttle=1"
    assert within_schedule(always, result) == Scheduled(always, 2.0)
    assert list(schedule_lines(Scheduled(always, 2.0))) == ["within the schedule: 2 s from now"]
    assert list(schedule_lines(Scheduled(always, None))) == [
        "within the schedule: more than 90 days from now"
    ]


def test_without_a_schedule_there_is_no_line_about_it() -> None:
    result = forecast(TARGETS, cluster("---", (1, 2), (1, 2)), PlanLimits(partitions=1), 10)
    assert list(schedule_lines(within_schedule(None, result))) == []
