from dataclasses import replace

from server.api.services.spark import Spark, SparkState
from tests.server.api.api_client import ApiClient


async def test_status_shows_the_spark_planner() -> None:
    client = ApiClient()
    view = Spark(SparkState.WORKING, min_partitions=10, job=3, partitions=20, since_ms=5)
    client.api.services = replace(client.api.services, spark=lambda: view)  # type: ignore[type-var]
    shown = (await client.get("/v1/status"))["spark"]
    assert shown == {
        "state": "working",
        "reason": "",
        "min_partitions": 10,
        "job": 3,
        "partitions": 20,
        "since_ms": 5,
        "forecast": None,
        "steps": {"same": 0, "differs": 0, "replanned": 0},
    }
