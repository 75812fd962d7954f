import pytest

from reassignd.commands.status import spark_line
from server.api.spark import SparkState, SparkView

FORECAST = {"waves": 12, "seconds": 7200.0, "bytes": 3 * 1024**3}


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (SparkView(), "off: planner.spark.min.partitions is 0"),
        (SparkView(SparkState.MISSING, "install it"), "not found: install it"),
        (SparkView(SparkState.READY, "", 50_000), "ready for jobs of 50,000 partitions or more"),
        (SparkView(SparkState.FAILED, "no memory", 1, 7, 60_000, 0), "failed on job 7: no memory"),
        (
            SparkView(SparkState.ORDERED, "", 1, 7, 60_000, 0, FORECAST),
            "ordered 60,000 partitions of job 7 in 12 waves, forecast 2 h for 3 GiB",
        ),
    ],
)
def test_what_spark_does_is_one_line(view: SparkView, said: str) -> None:
    assert spark_line(view.row()) == said


def test_a_plan_under_way_says_since_when() -> None:
    said = spark_line(SparkView(SparkState.WORKING, "", 1, 7, 60_000, 0).row())
    assert said.startswith("working since ")
    assert said.endswith(" on job 7: 60,000 partitions")
