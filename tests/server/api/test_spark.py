from dataclasses import replace

from server.api.spark import SparkState, SparkView
from tests.server.api.desk import Desk


def test_a_view_is_a_row_of_json() -> None:
    row = SparkView(SparkState.MISSING, "install it", 50_000).row()
    assert (row["state"], row["reason"], row["min_partitions"]) == ("missing", "install it", 50_000)


async def test_status_shows_it() -> None:
    desk = Desk()
    view = SparkView(SparkState.WORKING, min_partitions=10, job=3, partitions=20, since_ms=5)
    desk.api.core = replace(desk.api.core, spark=lambda: view)  # type: ignore[type-var]
    assert (await desk.get("/v1/status"))["spark"] == view.row()
