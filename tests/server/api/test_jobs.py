"""`/v1/jobs`."""

from typing import Any

import pytest

from controller.messages.job_events import Pause
from tests.builders import World, partition
from tests.server.api.desk import MOVE, Desk, plan, three


async def test_a_plan_becomes_a_job_and_the_way_back_is_told() -> None:
    desk = Desk()
    status, answer = await desk.ask("POST", "/v1/jobs", MOVE)
    assert (status, answer["job"], answer["accepted"], answer["refused"]) == (202, 1, 2, [])
    assert answer["rollback"]["partitions"][1] == {
        "topic": "foo",
        "partition": 1,
        "replicas": [1, 2, 3],
        "log_dirs": ["any"] * 3,
    }


async def test_the_way_back_of_what_moves_is_where_it_began() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    answer = await desk.post("/v1/jobs", plan(foo_0=[1, 5, 6]))
    assert answer["rollback"]["partitions"][0]["replicas"] == [1, 2, 3]


async def test_a_plan_that_changes_nothing_is_no_job() -> None:
    answer = await Desk().post("/v1/jobs", plan(foo_0=[1, 2, 3]))
    assert (answer["job"], answer["accepted"]) == (None, 1)


async def test_a_plan_with_one_wrong_entry_is_refused_as_a_whole() -> None:
    desk = Desk()
    status, text = await desk.refusal("POST", "/v1/jobs", plan(foo_0=[4, 5, 6], nope_0=[1]))
    assert (status, text) == (422, "partitions[1] (nope-0): Unable to find a topic named nope.")
    assert desk.world.state.jobs == {}


async def test_options_are_those_of_the_job() -> None:
    desk = Desk()
    await desk.post("/v1/jobs?throttle=1000&priority=5", MOVE, headers={"user-agent": "tool/1"})
    job = desk.world.state.jobs[1]
    assert (job.throttle, job.priority, job.principal, job.client_id) == (1000, 5, "User:local", "tool/1")


async def test_a_queued_plan_waits_for_the_one_before_it_unless_appended() -> None:
    desk = Desk(three(partitions=1))
    await desk.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    await desk.post("/v1/jobs?queue=true", plan(foo_1=[4, 5, 6]))
    status, text = await desk.refusal("POST", "/v1/jobs?queue=true", plan(foo_2=[4, 5, 6]))
    assert (status, text.partition(".")[0]) == (
        409,
        "A queued plan still has partitions that have not started",
    )
    await desk.post("/v1/jobs?append=true", plan(foo_2=[4, 5, 6]))
    assert [job.kind.name for job in desk.world.state.jobs.values()] == ["PLAN", "QUEUE", "QUEUE"]


async def test_jobs_are_listed_the_newest_first_in_pages() -> None:
    desk = Desk()
    for number in range(3):
        await desk.post("/v1/jobs", plan(**{f"foo_{number}": [4, 5, 6]}))
    answer = await desk.get("/v1/jobs?offset=1&limit=1")
    assert (answer["total"], [job["id"] for job in answer["jobs"]]) == (3, [2])


async def test_a_job_tells_how_far_it_is_and_why_it_does_not_move() -> None:
    desk = Desk(three(partitions=1))
    await desk.post("/v1/jobs", plan(foo_0=[4, 5, 6], foo_1=[4, 5, 6], foo_2=[4, 5, 6]))
    desk.world.catch_up()
    answer = await desk.get("/v1/jobs/1")
    numbers = {name: answer["job"][name] for name in ("total", "done", "moving", "waiting", "queued")}
    assert numbers == {"total": 3, "done": 1, "moving": 1, "waiting": 0, "queued": 1}
    assert answer["reasons"] == [{"reason": "limit P: 1 of 1 partition movements", "partitions": 1}]
    assert [part["state"] for part in answer["partitions"]] == ["moving", "queued", "done"]


async def test_a_job_s_partitions_come_in_pages() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    first, second = await desk.get("/v1/jobs/1?limit=1"), await desk.get("/v1/jobs/1?limit=5&offset=1")
    assert [[part["partition"] for part in page["partitions"]] for page in (first, second)] == [[0], [1]]
    assert (first["next"], second["next"]) == (1, None)


async def test_an_ended_job_tells_how_its_partitions_ended() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    await desk.post("/v1/jobs", plan(foo_0=[1, 5, 6]))
    desk.world.settle()
    detail = await desk.get("/v1/jobs/1")
    assert detail["endings"] == detail["job"]["endings"] == {"taken over": 1, "done": 1}


async def test_jobs_that_ended_otherwise_are_told_from_those_that_are_done() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    desk.world.alter({"foo-0": None, "foo-1": None})
    await desk.post("/v1/jobs", MOVE)
    desk.world.settle()
    await desk.post("/v1/jobs/2/rollback")
    desk.world.settle()
    listed = (await desk.get("/v1/jobs"))["jobs"]
    assert [list(job["endings"]) for job in listed] == [["done"], ["done"], ["rolled back"]]


async def test_a_job_is_rolled_back_by_another_and_what_is_skipped_is_named() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    await desk.post("/v1/jobs", plan(foo_0=[1, 5, 6]))
    answer = await desk.post("/v1/jobs/1/rollback")
    assert answer == {
        "job": 3,
        "skipped": [{"topic": "foo", "partition": 0, "reason": "job 2 took it over"}],
    }
    assert (await desk.get("/v1/jobs/3"))["job"]["undoes"] == 1
    assert desk.world.settle().replicas("foo-1") == (1, 2, 3)


async def test_a_job_is_paused_and_goes_on() -> None:
    desk = Desk(three(partitions=1))
    await desk.post("/v1/jobs", MOVE)
    assert await desk.post("/v1/jobs/1/pause") == {"paused": True}
    assert (await desk.get("/v1/jobs/1"))["job"]["state"] == "paused"
    assert await desk.post("/v1/jobs/1/resume") == {"paused": False}
    assert (await desk.get("/v1/jobs/1"))["job"]["state"] == "running"


async def test_a_priority_is_changed() -> None:
    desk = Desk(three(partitions=1))
    await desk.post("/v1/jobs", MOVE)
    await desk.post("/v1/jobs/1/priority", {"priority": 9})
    assert desk.world.state.jobs[1].priority == 9


@pytest.mark.parametrize("body", [{}, {"priority": "1"}, {"priority": True}, {"priority": 1001}])
async def test_a_priority_that_is_none_is_refused(body: Any) -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    status, text = await desk.refusal("POST", "/v1/jobs/1/priority", body)
    assert (status, text.partition(" is ")[0]) == (400, "'priority'")


@pytest.mark.parametrize("verb", ["", "/rollback", "/pause", "/resume", "/priority"])
async def test_an_unknown_job_is_refused_by_name(verb: str) -> None:
    method, body = ("POST", {"priority": 1}) if verb else ("GET", None)
    status, text = await Desk().refusal(method, f"/v1/jobs/7{verb}", body)
    assert (status, text) == (404, "There is no job 7; `reassignd jobs` lists them.")


@pytest.mark.parametrize("name", ["x", "-1", "1e3", "9" * 30])
async def test_a_job_that_is_no_number_is_refused(name: str) -> None:
    status, text = await Desk().refusal("GET", f"/v1/jobs/{name}")
    assert (status, text) == (404, f"There is no job '{name}': expected a number.")


async def test_a_job_that_has_ended_cannot_be_paused() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    desk.world.settle()
    assert await desk.refusal("POST", "/v1/jobs/1/pause") == (409, "Job 1 has ended.")


async def test_all_paused_is_the_reason_of_every_job() -> None:
    desk = Desk()
    desk.world.do(Pause(None, True))
    await desk.post("/v1/jobs", MOVE)
    assert (await desk.get("/v1/jobs/1"))["reasons"] == [{"reason": "everything is paused", "partitions": 2}]


async def test_many_partitions_are_prepared_beside_the_loop() -> None:
    names = [f"foo-{number}" for number in range(600)]
    desk = Desk(World().having(*(partition(name, [1, 2, 3]) for name in names)))
    answer = await desk.post("/v1/jobs", plan(**{f"foo_{number}": [4, 5, 6] for number in range(600)}))
    assert (answer["accepted"], len(answer["rollback"]["partitions"])) == (600, 600)


async def test_large_plans_are_read_beside_the_loop() -> None:
    padded = {**MOVE, "comment": "x" * 100_000}
    assert (await Desk().post("/v1/jobs", padded))["job"] == 1
