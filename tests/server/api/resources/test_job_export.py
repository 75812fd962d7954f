"""The files of a job's partitions. Partition n has 100 + n bytes."""

import csv
from io import StringIO

from controller.model.plan import read_plan
from tests.server.api.api_client import MOVE, ApiClient, plan


async def ended() -> ApiClient:
    """A client of a cluster in which job 1 is done."""
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.controller.settle()
    return client


async def test_csv_has_a_line_for_each_partition() -> None:
    answer = await (await ended()).raw("GET", "/v1/jobs/1/partitions.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="job-1.csv"'
    rows = list(csv.DictReader(StringIO(answer.text)))
    assert [row["partition"] for row in rows] == ["0", "1"]
    assert rows[0] == {
        "topic": "foo", "partition": "0", "state": "done", "original": "1 2 3", "target": "4 5 6",
        "replicas": "4 5 6", "leader": "4", "bytes": "300", "copied": "300", "reason": "",
        "move_broker": "", "move_source": "", "move_target": "",
    }  # fmt: skip


async def test_json_has_the_rows_of_the_job_without_pages() -> None:
    client = await ended()
    whole = await client.get("/v1/jobs/1/partitions.json")
    assert whole == {"job": 1, "partitions": (await client.get("/v1/jobs/1"))["partitions"]}


async def test_the_rollback_file_is_a_plan_with_the_replicas_before_the_job() -> None:
    answer = await (await ended()).raw("GET", "/v1/jobs/1/rollback.json")
    assert answer.headers["content-disposition"] == 'attachment; filename="rollback-1.json"'
    assert "log_dirs" not in answer.text, "Kafka's tool takes null for an error"
    assert [(each.partition, each.replicas) for each in read_plan(answer.json())] == [
        (0, (1, 2, 3)),
        (1, (1, 2, 3)),
    ]


async def test_the_rollback_file_leaves_out_what_another_job_has_taken_over() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    await client.post("/v1/jobs", plan(foo_1=[1, 2, 5]))
    answer = await client.get("/v1/jobs/1/rollback.json")
    assert [each["partition"] for each in answer["partitions"]] == [0]


async def test_an_unknown_job_is_named() -> None:
    for name in ("partitions.csv", "partitions.json", "rollback.json"):
        assert (await ApiClient().refusal("GET", f"/v1/jobs/7/{name}"))[0] == 404
