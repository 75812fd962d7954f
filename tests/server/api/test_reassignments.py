"""`/v1/reassignments`, and the ways to cancel."""

from typing import Any

import pytest

from controller.model.cluster import Config, ResourceType
from controller.reassignment.next_step import charge_external
from tests.server.api.desk import MOVE, Desk, plan, three

CANCEL = "/v1/reassignments/cancel"


async def moving(**limits: int) -> Desk:
    desk = Desk(three(**limits))
    await desk.post("/v1/jobs", MOVE)
    await desk.post("/v1/jobs", plan(foo_2=[4, 5, 6]))
    return desk


async def left(desk: Desk) -> list[int]:
    answer = await desk.get("/v1/reassignments")
    return [row["partition"] for row in answer.get("partitions", [])]


async def test_nothing_ongoing_is_an_empty_object() -> None:
    assert (await Desk().raw("GET", "/v1/reassignments")).text == "{}\n"


async def test_what_is_ongoing_is_a_plan_with_what_is_gained_and_lost() -> None:
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
    desk = await moving()
    answer = await desk.post(CANCEL, what)
    assert (answer["cancelled"], answer["refused"]) == (cancelled, [])
    assert [row["replicas"] for row in answer["partitions"]] == [[1, 2, 3]] * cancelled
    assert await left(desk) == rest


async def test_cancelling_where_nothing_moves_cancels_nothing() -> None:
    answer = await Desk().post(CANCEL, {"all": True})
    assert (answer["cancelled"], answer["refused"], answer["partitions"]) == (0, [], [])


async def test_a_cancel_tells_the_throttles_that_stay() -> None:
    desk = await moving()
    desk.world.default("reassignment.throttle.bytes.per.second", "1000")
    desk.world.put(Config(ResourceType.BROKER, "6", "leader.replication.throttled.rate", "7"))
    answer = await desk.post(CANCEL, {"job": 1})
    assert desk.world.moving() == ["foo-2"]
    assert answer["throttle"] == {"bytes_per_second": 1000, "set_by_others": [6]}


async def test_what_is_listed_can_be_ordered_again_and_changes_nothing() -> None:
    desk = await moving(per_partition=1)
    listed = await desk.get("/v1/reassignments")
    assert all(len(row["replicas"]) == 3 for row in listed["partitions"])
    answer = await desk.post("/v1/jobs", listed)
    assert answer["refused"] == []
    assert await desk.get("/v1/reassignments") == listed


async def test_moves_of_others_are_listed_where_nothing_else_is() -> None:
    desk = Desk(three())
    charge_external(desk.world.state, desk.world["foo-0"]._replace(adding=(3,)))
    assert await left(desk) == [0]


async def test_a_partition_that_does_not_move_is_a_row_of_the_answer() -> None:
    answer = await Desk().post(CANCEL, {"partitions": [{"topic": "foo", "partition": 0}]})
    assert (answer["cancelled"], answer["refused"][0]["error"]) == (0, "NO_REASSIGNMENT_IN_PROGRESS")


async def test_a_cancelled_job_withdraws_what_it_has_queued() -> None:
    desk = await moving(per_partition=1)
    desk.world.catch_up()
    await desk.post("/v1/jobs?queue=true", plan(foo_0=[1, 2, 6]))
    assert (await desk.post(CANCEL, {"job": 3}))["cancelled"] == 1
    assert desk.world.settle().replicas("foo-0") == (1, 2, 3)


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
        ({"partitions": []}, 400, "'partitions' is [], expected a list of topics and partitions"),
        (
            {"partitions": [{"topic": "foo"}]},
            400,
            "partitions[0] (foo): 'partition' is missing, expected a number",
        ),
    ],
)
async def test_what_cannot_be_cancelled_is_said_in_one_line(what: Any, status: int, text: str) -> None:
    found = await Desk().refusal("POST", CANCEL, what)
    assert (found[0], found[1].removesuffix(" from 0 to 2147483647")) == (status, text)
