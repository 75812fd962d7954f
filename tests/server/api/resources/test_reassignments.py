"""`/v1/reassignments`, and the ways to cancel."""

from typing import Any

import pytest

from controller.model.cluster import Config, ResourceType
from controller.reassignment.planning import charge_external
from tests.server.api.api_client import MOVE, ApiClient, plan, three_partitions

CANCEL = "/v1/reassignments/cancel"


async def moving(**limits: int) -> ApiClient:
    client = ApiClient(three_partitions(**limits))
    await client.post("/v1/jobs", MOVE)
    await client.post("/v1/jobs", plan(foo_2=[4, 5, 6]))
    return client


async def left(client: ApiClient) -> list[int]:
    answer = await client.get("/v1/reassignments")
    return [row["partition"] for row in answer.get("partitions", [])]


async def test_no_ongoing_reassignments_are_an_empty_object() -> None:
    assert (await ApiClient().raw("GET", "/v1/reassignments")).text == "{}\n"


async def test_a_reassignment_is_listed_with_adding_and_removing_replicas() -> None:
    answer = await (await moving()).get("/v1/reassignments")
    assert answer["partitions"][0] == {
        "topic": "foo",
        "partition": 0,
        "replicas": [4, 5, 6],
        "adding_replicas": [4, 5, 6],
        "removing_replicas": [1, 2, 3],
    }


@pytest.mark.parametrize(
    ("what", "cancelled", "rest"),
    [
        ({"all": True}, 3, []),
        ({"topic": "foo"}, 3, []),
        ({"job": 1}, 2, [2]),
        ({"partitions": [{"topic": "foo", "partition": 1}]}, 1, [0, 2]),
    ],
)
async def test_cancels(what: Any, cancelled: int, rest: list[int]) -> None:
    client = await moving()
    answer = await client.post(CANCEL, what)
    assert (answer["cancelled"], answer["refused"]) == (cancelled, [])
    assert [row["replicas"] for row in answer["partitions"]] == [[1, 2, 3]] * cancelled
    assert await left(client) == rest


async def test_a_cancel_without_reassignments_cancels_nothing() -> None:
    answer = await ApiClient().post(CANCEL, {"all": True})
    assert (answer["cancelled"], answer["refused"], answer["partitions"]) == (0, [], [])


@pytest.mark.parametrize("what", [{"all": True}, {"topic": "foo"}, {"job": 1}])
async def test_a_cancel_in_bulk_of_nothing_refuses_no_row(what: dict[str, Any]) -> None:
    client = await moving()
    assert (await client.post(CANCEL, what))["cancelled"] > 0
    answer = await client.post(CANCEL, what)
    assert (answer["cancelled"], answer["refused"]) == (0, [])


async def test_a_cancel_returns_the_remaining_throttles() -> None:
    client = await moving()
    client.controller.default("reassignment.throttle.bytes.per.second", "1000")
    client.controller.put(Config(ResourceType.BROKER, "6", "leader.replication.throttled.rate", "7"))
    answer = await client.post(CANCEL, {"job": 1})
    assert client.controller.in_flight() == ["foo-2"]
    assert answer["throttle"] == {"bytes_per_second": 1000, "set_by_others": [6]}


async def test_submitting_the_listed_plan_changes_nothing() -> None:
    client = await moving(per_partition=1)
    listed = await client.get("/v1/reassignments")
    assert all(len(row["replicas"]) == 3 for row in listed["partitions"])
    answer = await client.post("/v1/jobs", listed)
    assert answer["refused"] == []
    assert await client.get("/v1/reassignments") == listed


async def test_external_reassignments_are_listed() -> None:
    client = ApiClient(three_partitions())
    charge_external(client.controller.state, client.controller["foo-0"]._replace(adding=(3,)))
    assert await left(client) == [0]


async def test_a_partition_without_reassignment_is_a_refused_row() -> None:
    answer = await ApiClient().post(CANCEL, {"partitions": [{"topic": "foo", "partition": 0}]})
    assert (answer["cancelled"], answer["refused"][0]["error"]) == (0, "NO_REASSIGNMENT_IN_PROGRESS")


async def test_cancelling_a_job_withdraws_its_queued_partitions() -> None:
    client = await moving(per_partition=1)
    client.controller.catch_up()
    await client.post("/v1/jobs?queue=true", plan(foo_0=[1, 2, 6]))
    assert (await client.post(CANCEL, {"job": 3}))["cancelled"] == 1
    assert client.controller.settle().replicas("foo-0") == (1, 2, 3)


@pytest.mark.parametrize(
    ("what", "status", "text"),
    [
        ({}, 400, "expected one of all, topic, job, partitions, not 0 of them"),
        ({"all": True, "job": 1}, 400, "expected one of all, topic, job, partitions, not 2 of them"),
        ({"all": False}, 400, "'all' is false, expected true"),
        (
            {"everything": 1},
            400,
            'the body has the unknown key "everything"; known: all, topic, job, partitions',
        ),
        ([], 400, "the body is [], expected an object"),
        ({"topic": 1}, 400, "'topic' is 1, expected a topic's name"),
        ({"topic": "nope"}, 404, "Unable to find a topic named nope."),
        ({"job": 9}, 404, "There is no job 9; `reassignd jobs` lists them."),
        ({"job": 10**30}, 400, "'job' is 1" + "0" * 30 + ", expected a job's number"),
        ({"job": 0}, 400, "'job' is 0, expected a job's number"),
        ({"partitions": []}, 400, "'partitions' is [], expected a list of topics and partitions"),
        (
            {"partitions": [{"topic": "foo"}]},
            400,
            "partitions[0] (foo): 'partition' is missing, expected a number",
        ),
    ],
)
async def test_an_invalid_cancel_is_refused_in_one_line(what: Any, status: int, text: str) -> None:
    found = await ApiClient().refusal("POST", CANCEL, what)
    assert (found[0], found[1].removesuffix(" from 0 to 2147483647")) == (status, text)


async def test_the_refused_rows_of_a_large_cancel_are_complete_and_in_order() -> None:
    rows = [{"topic": "foo" if number < 2 else "nope", "partition": number} for number in range(20_000)]
    client = await moving()
    answer = await client.post(CANCEL, {"partitions": rows})
    assert (answer["cancelled"], len(answer["partitions"])) == (2, 2)
    assert [row["partition"] for row in answer["refused"]] == list(range(2, 20_000))
    assert await left(client) == [2]
