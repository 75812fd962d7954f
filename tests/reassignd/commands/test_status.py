import msgspec
import pytest

from reassignd.commands.status import spark_line
from server.api.spark import Forecast, Spark, SparkState

FORECAST = Forecast(
    partitions=60_000,
    steps=60_000,
    waves=12,
    replica_movements=60_000,
    leader_movements=0,
    bytes=3 * 1024**3,
    bandwidth=1024,
    seconds=7200.0,
    least_seconds=7000.0,
    waiting_partitions=0,
)


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (Spark(), "off: planner.spark.min.partitions is 0"),
        (Spark(SparkState.MISSING, "install it"), "not found: install it"),
        (Spark(SparkState.READY, "", 50_000), "ready for jobs of 50,000 partitions or more"),
        (Spark(SparkState.FAILED, "no memory", 1, 7, 60_000, 0), "failed on job 7: no memory"),
        (
            Spark(SparkState.ORDERED, "", 1, 7, 60_000, 0, FORECAST),
            "ordered 60,000 partitions of job 7 in 12 waves, forecast 2 h for 3 GiB",
        ),
    ],
)
def test_what_spark_does_is_one_line(view: Spark, said: str) -> None:
    assert spark_line(msgspec.to_builtins(view)) == said


def test_a_plan_under_way_says_since_when() -> None:
    working = Spark(SparkState.WORKING, "", 1, 7, 60_000, 0)
    said = spark_line(msgspec.to_builtins(working))
    assert said.startswith("working since ")
    assert said.endswith(" on job 7: 60,000 partitions")
