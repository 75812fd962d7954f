from dataclasses import replace

from server.api.spark import Spark, SparkState
from tests.server.api.desk import Desk


async def test_status_shows_the_spark_planner() -> None:
    desk = Desk()
    view = Spark(SparkState.WORKING, min_partitions=10, job=3, partitions=20, since_ms=5)
    desk.api.core = replace(desk.api.core, spark=lambda: view)  # type: ignore[type-var]
    shown = (await desk.get("/v1/status"))["spark"]
    assert shown == {
        "state": "working",
        "reason": "",
        "min_partitions": 10,
        "job": 3,
        "partitions": 20,
        "since_ms": 5,
        "forecast": None,
    }
