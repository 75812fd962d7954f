"""`/v1/jobs`."""

from typing import Any

import pytest

from controller.messages.job_events import Pause
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient, plan, three_partitions


async def test_a_plan_for_a_topic_that_was_just_created_is_accepted() -> None:
    client = ApiClient()
    client.on_refresh = lambda: (client.controller.with_partitions(partition("new-0", [2])), "")[1]
    plan = {"version": 1, "partitions": [{"topic": "new", "partition": 0, "replicas": [3]}]}
    assert (await client.post("/v1/jobs", plan))["accepted"] == 1
    assert client.refreshed == [{"new"}]


async def test_a_submitted_plan_returns_the_job_and_the_rollback_plan() -> None:
    client = ApiClient()
    status, answer = await client.ask("POST", "/v1/jobs", MOVE)
    assert (status, answer["job"], answer["accepted"], answer["refused"]) == (202, 1, 2, [])
    assert answer["rollback"]["partitions"][1] == {
        "topic": "foo",
        "partition": 1,
        "replicas": [1, 2, 3],
        "log_dirs": ["any"] * 3,
    }


async def test_the_rollback_plan_of_a_moving_partition_has_its_originals() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    answer = await client.post("/v1/jobs", plan(foo_0=[1, 5, 6]))
    assert answer["rollback"]["partitions"][0]["replicas"] == [1, 2, 3]


async def test_a_plan_that_changes_nothing_is_no_job() -> None:
    answer = await ApiClient().post("/v1/jobs", plan(foo_0=[1, 2, 3]))
    assert (answer["job"], answer["accepted"], answer["unchanged"]) == (None, 0, 1)


async def test_entries_that_change_nothing_are_counted_apart_from_those_in_the_job() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_1=[4, 5, 6]))
    answer = await client.post("/v1/jobs", plan(foo_0=[1, 2, 3], foo_1=[4, 5, 6], foo_2=[4, 5, 6]))
    total = (await client.get("/v1/jobs/2"))["job"]["total"]
    assert (answer["accepted"], answer["unchanged"], total) == (1, 2, 1)


async def test_a_plan_with_one_wrong_entry_is_refused_as_a_whole() -> None:
    client = ApiClient()
    status, text = await client.refusal("POST", "/v1/jobs", plan(foo_0=[4, 5, 6], nope_0=[1]))
    assert (status, text) == (422, "partitions[1] (nope-0): Unable to find a topic named nope.")
    assert client.controller.state.orders.jobs == {}


async def test_all_wrong_entries_of_a_plan_are_named() -> None:
    status, answer = await ApiClient().ask("POST", "/v1/jobs", plan(nope_0=[1], foo_0=[4, 5, 6], foo_9=[1]))
    assert (status, answer["error"].partition(":")[0]) == (422, "2 entries are wrong, the first")
    assert answer["faults"] == [
        "partitions[0] (nope-0): Unable to find a topic named nope.",
        "partitions[2] (foo-9): Unable to find partition foo:9.",
    ]


async def test_entries_of_a_wrong_form_do_not_hide_those_that_the_cluster_refuses() -> None:
    entries = plan(nope_0=[1], foo_0=[4, 4], foo_1=[4, 5, 6])
    entries["partitions"][2]["log_dirs"] = ["/nowhere", "any", "any"]
    status, answer = await ApiClient().ask("POST", "/v1/jobs", entries)
    assert status == 400
    assert [each.partition(":")[0] for each in answer["faults"]] == [
        "partitions[0] (nope-0)",
        "partitions[1] (foo-0)",
        "partitions[2] (foo-1)",
    ]


async def test_the_query_parameters_are_options_of_the_job() -> None:
    client = ApiClient()
    await client.post("/v1/jobs?throttle=1000&priority=5", MOVE, headers={"user-agent": "tool/1"})
    job = client.controller.state.orders.jobs[1]
    assert (job.throttle, job.priority, job.principal, job.client_id) == (1000, 5, "Local:unknown", "tool/1")


@pytest.mark.parametrize("query", ["paused=true", "paused=true&queue=true"])
async def test_a_job_may_be_submitted_paused(query: str) -> None:
    client = ApiClient()
    await client.post(f"/v1/jobs?{query}", MOVE)
    job = (await client.get("/v1/jobs/1"))["job"]
    assert (job["state"], job["moving"]) == ("paused", 0)


async def test_a_queued_plan_waits_for_the_one_before_it_unless_appended() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    await client.post("/v1/jobs?queue=true", plan(foo_1=[4, 5, 6]))
    status, text = await client.refusal("POST", "/v1/jobs?queue=true", plan(foo_2=[4, 5, 6]))
    assert (status, text.partition(".")[0]) == (
        409,
        "A queued plan still has partitions that have not started",
    )
    await client.post("/v1/jobs?append=true", plan(foo_2=[4, 5, 6]))
    assert [job.kind.name for job in client.controller.state.orders.jobs.values()] == [
        "PLAN",
        "QUEUE",
        "QUEUE",
    ]


async def test_jobs_are_listed_the_newest_first_in_pages() -> None:
    client = ApiClient()
    for number in range(3):
        await client.post("/v1/jobs", plan(**{f"foo_{number}": [4, 5, 6]}))
    answer = await client.get("/v1/jobs?offset=1&limit=1")
    assert (answer["total"], [job["id"] for job in answer["jobs"]]) == (3, [2])


async def test_a_job_shows_its_progress_and_the_reasons_of_idle_partitions() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6], foo_1=[4, 5, 6], foo_2=[4, 5, 6]))
    client.controller.catch_up()
    answer = await client.get("/v1/jobs/1")
    numbers = {name: answer["job"][name] for name in ("total", "done", "moving", "waiting", "queued")}
    assert numbers == {"total": 3, "done": 1, "moving": 1, "waiting": 0, "queued": 1}
    assert answer["reasons"] == [{"reason": "limit P: 1 of 1 partition movements", "partitions": 1}]
    assert [part["state"] for part in answer["partitions"]] == ["moving", "queued", "done"]


async def test_a_step_whose_target_is_down_is_stalled() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 2, 3], foo_1=[5, 2, 3]))
    client.controller.stop(4)
    await client.progress.measure()
    answer = await client.get("/v1/jobs/1")
    assert (answer["job"]["moving"], answer["job"]["stalled"]) == (2, 1)
    assert answer["reasons"] == [{"reason": "target broker 4 is down", "partitions": 1}]
    totals = (await client.get("/v1/status"))["reassignments"]
    assert (totals["moving"], totals["stalled"]) == (2, 1)
    strip = await client.get("/v1/jobs/1/strip")
    assert strip["states"] == ["moving", "stalled"]
    assert [cell["counts"] for cell in strip["cells"]] == [[0, 1], [1, 0]]


async def test_a_stalled_step_that_has_ended_since_is_not_counted() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 2, 3]))
    client.controller.stop(4)
    await client.progress.measure()
    await client.post("/v1/reassignments/cancel", {"all": True})
    client.controller.catch_up()
    totals = (await client.get("/v1/status"))["reassignments"]
    assert (totals["moving"], totals["stalled"]) == (0, 0)


async def test_a_job_s_partitions_are_listed_in_pages() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    first, second = await client.get("/v1/jobs/1?limit=1"), await client.get("/v1/jobs/1?limit=5&offset=1")
    assert [[part["partition"] for part in page["partitions"]] for page in (first, second)] == [[0], [1]]
    assert (first["next"], second["next"]) == (1, None)


async def test_an_ended_job_counts_the_endings_of_its_partitions() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    await client.post("/v1/jobs", plan(foo_0=[1, 5, 6]))
    client.controller.settle()
    job = (await client.get("/v1/jobs/1"))["job"]
    assert job["endings"] == {"taken over": 1, "done": 1}
    assert (job["done"], job["total"], job["outcome"]) == (1, 2, "partly done")


async def test_listed_jobs_show_their_endings() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.controller.alter({"foo-0": None, "foo-1": None})
    await client.post("/v1/jobs", MOVE)
    client.controller.settle()
    await client.post("/v1/jobs/2/rollback")
    client.controller.settle()
    listed = (await client.get("/v1/jobs"))["jobs"]
    assert [job["outcome"] for job in listed] == ["done", "rolled back", "rolled back"]
    assert [job["rolled_back_by"] for job in listed] == [None, 3, None]


async def test_a_job_whose_rollback_was_rolled_back_is_done_again() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    for rolled_back in (1, 2):
        client.controller.settle()
        await client.post(f"/v1/jobs/{rolled_back}/rollback")
    client.controller.settle()
    listed = (await client.get("/v1/jobs"))["jobs"]
    assert [job["outcome"] for job in listed] == ["done", "rolled back", "done"]


async def test_a_running_job_says_why_nothing_of_it_moves() -> None:
    client = ApiClient()
    await client.post("/v1/pause")
    await client.post("/v1/jobs", MOVE)
    job = (await client.get("/v1/jobs/1"))["job"]
    assert (job["state"], job["held"]) == ("running", "all reassignments are paused")
    await client.post("/v1/resume")
    assert (await client.get("/v1/jobs/1"))["job"]["held"] is None


async def test_cancelled_partitions_are_not_done() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    client.controller.catch_up()
    await client.post("/v1/reassignments/cancel", {"all": True})
    job = (await client.get("/v1/jobs/1"))["job"]
    assert (job["done"], job["total"], job["endings"]) == (1, 2, {"done": 1, "rolled back": 1})
    client.controller.settle()


async def test_a_cancelled_rollback_is_not_done() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.controller.catch_up()
    await client.post("/v1/jobs/1/rollback")
    await client.post("/v1/reassignments/cancel", {"all": True})
    client.controller.settle()
    job = (await client.get("/v1/jobs/2"))["job"]
    assert (job["done"], job["endings"], job["outcome"]) == (0, {"rolled back": 2}, "rolled back")


async def test_a_rollback_is_a_job_and_names_skipped_partitions() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    await client.post("/v1/jobs", plan(foo_0=[1, 5, 6]))
    answer = await client.post("/v1/jobs/1/rollback")
    assert answer == {
        "job": 3,
        "cancelled": 0,
        "skipped": [{"topic": "foo", "partition": 0, "reason": "taken over by job 2"}],
    }
    assert (await client.get("/v1/jobs/3"))["job"]["undoes"] == 1
    assert client.controller.settle().replicas("foo-1") == (1, 2, 3)


async def test_a_rollback_is_previewed_in_numbers() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6], foo_1=[4, 5, 6], foo_2=[4, 5, 6]))
    client.controller.catch_up()
    await client.post("/v1/jobs", plan(foo_2=[1, 5, 6]))
    assert await client.get("/v1/jobs/1/rollback") == {
        "undoes": None,
        "partitions": 2,
        "bytes": 300,
        "unmoved": 0,
        "withdrawn": 0,
        "unchanged": 0,
        "skipped": 1,
        "examples": [{"topic": "foo", "partition": 2, "reason": "taken over by job 2"}],
        "waiting_partitions": 0,
        "waiting": [],
    }
    assert len(client.controller.state.orders.jobs) == 2


async def test_the_preview_of_a_rollback_names_what_waits_as_that_of_a_plan_does() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    client.controller.settle().stop(1)
    preview = await client.get("/v1/jobs/1/rollback")
    waiting = {"topic": "foo", "partition": 0, "replicas": [4, 5, 6], "reason": "offline: broker 1"}
    assert preview["waiting_partitions"] == 1
    assert preview["waiting"] == [waiting | {"replicas": [2, 3, 4]}]


async def test_the_preview_of_a_rollbacks_rollback_names_the_job_whose_targets_it_restores() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    client.controller.settle()
    await client.post("/v1/jobs/1/rollback")
    client.controller.settle()
    preview = await client.get("/v1/jobs/2/rollback")
    assert (preview["undoes"], preview["partitions"], preview["bytes"]) == (1, 1, 300)
    await client.post("/v1/jobs/2/rollback")
    assert client.controller.settle().replicas("foo-0") == (4, 5, 6)


async def test_partitions_that_have_not_moved_do_not_move_back() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6], foo_1=[4, 5, 6], foo_2=[4, 5, 6]))
    client.controller.catch_up()
    preview = await client.get("/v1/jobs/1/rollback")
    assert (preview["partitions"], preview["unmoved"], preview["unchanged"]) == (2, 1, 0)


async def test_a_job_is_paused_and_resumed() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    assert await client.post("/v1/jobs/1/pause") == {"paused": True}
    assert (await client.get("/v1/jobs/1"))["job"]["state"] == "paused"
    assert await client.post("/v1/jobs/1/resume") == {"paused": False}
    assert (await client.get("/v1/jobs/1"))["job"]["state"] == "running"


async def test_a_priority_is_changed() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await client.post("/v1/jobs/1/priority", {"priority": 9})
    assert client.controller.state.orders.jobs[1].priority == 9


async def test_a_throttle_is_changed_and_removed() -> None:
    client = ApiClient()
    await client.post("/v1/jobs?throttle=1000", MOVE)
    for throttle in (5_000, None):
        assert await client.post("/v1/jobs/1/throttle", {"throttle": throttle}) == {"throttle": throttle}
        assert (await client.get("/v1/jobs/1"))["job"]["throttle"] == throttle


async def test_limits_of_a_job_are_set_changed_and_removed() -> None:
    client = ApiClient()
    await client.post("/v1/jobs?limits=p=20,B=2", MOVE)
    limits = (await client.get("/v1/jobs/1"))["job"]["limits"]
    assert [(row["name"], row["limit"]) for row in limits] == [("P", 20), ("B", 2)]
    answer = await client.post("/v1/jobs/1/limits", {"p": 5, "B": None})
    assert [(row["name"], row["limit"]) for row in answer["limits"]] == [("P", 5)]


@pytest.mark.parametrize(
    ("body", "named"),
    [({}, "the body is"), ({"P": 0}, "P is 0"), ({"X": 1}, '"X" is no limit'), ({"P": "5"}, 'P is "5"')],
)
async def test_an_invalid_limit_of_a_job_is_refused(body: Any, named: str) -> None:
    client = ApiClient()
    await client.post("/v1/jobs?limits=P=3", MOVE)
    status, text = await client.refusal("POST", "/v1/jobs/1/limits", body)
    assert status == 400
    assert named in text
    assert client.controller.state.orders.jobs[1].limits.partitions == 3


async def test_a_plan_with_an_invalid_limit_is_refused() -> None:
    status, text = await ApiClient().refusal("POST", "/v1/jobs?limits=P=0", MOVE)
    assert (status, text) == (400, "limits: 'P=0': expected an integer in [1, 2147483647]")


@pytest.mark.parametrize("body", [{}, {"throttle": 0}, {"throttle": "5MB"}, {"throttle": True}])
async def test_an_invalid_throttle_is_refused(body: Any) -> None:
    client = ApiClient()
    await client.post("/v1/jobs?throttle=1000", MOVE)
    status, text = await client.refusal("POST", "/v1/jobs/1/throttle", body)
    assert (status, text.partition(" is ")[0]) == (400, "'throttle'")


@pytest.mark.parametrize("body", [{}, {"priority": "1"}, {"priority": True}, {"priority": 1001}])
async def test_an_invalid_priority_is_refused(body: Any) -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    status, text = await client.refusal("POST", "/v1/jobs/1/priority", body)
    assert (status, text.partition(" is ")[0]) == (400, "'priority'")


@pytest.mark.parametrize("verb", ["", "/rollback", "/pause", "/resume", "/priority", "/throttle"])
async def test_an_unknown_job_is_refused_by_name(verb: str) -> None:
    method, body = ("POST", {verb[1:]: 1}) if verb else ("GET", None)
    status, text = await ApiClient().refusal(method, f"/v1/jobs/7{verb}", body)
    assert (status, text) == (404, "There is no job 7; `reassignd jobs` lists them.")


@pytest.mark.parametrize("name", ["x", "-1", "1e3", "\u0663"])
async def test_a_job_id_that_is_not_a_number_is_refused(name: str) -> None:
    status, text = await ApiClient().refusal("GET", f"/v1/jobs/{name}")
    assert (status, text) == (404, f"There is no job '{name}': expected a number.")


async def test_a_job_number_may_have_any_number_of_digits() -> None:
    client = ApiClient()
    text = "There is no job 99999999999; `reassignd jobs` lists them."
    assert await client.refusal("GET", "/v1/jobs/99999999999") == (404, text)
    text = f"There is no job {'9' * 18}...: its number has too many digits."
    assert await client.refusal("POST", f"/v1/jobs/{'9' * 5000}/pause") == (404, text)


async def test_a_long_topic_name_is_cut_in_the_refusal() -> None:
    status, text = await ApiClient().refusal("POST", "/v1/jobs", plan(**{"x" * 900_000 + "_0": [1]}))
    named = "x" * 250 + "… (900000 characters)"
    assert (status, text) == (422, f"partitions[0] ({named}-0): Unable to find a topic named {named}.")
    _, text = await ApiClient().refusal("POST", "/v1/jobs", plan(**{"x" * 900_000 + "_0": [1, 1]}))
    assert text == f"partitions[0] ({named}-0): broker 1 is in 'replicas' more than once"
    _, text = await ApiClient().refusal("POST", "/v1/jobs", plan(**{"x" * 900_000 + "_0": [-1]}))
    assert text.startswith(f"partitions[0] ({named}-0): replicas[0] is -1")


async def test_a_row_with_too_many_replicas_is_refused_by_its_number() -> None:
    body = plan(foo_0=[4, 5, 6], foo_1=list(range(10_001)))
    status, text = await ApiClient().refusal("POST", "/v1/jobs", body)
    expected = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11..., expected a list of 1 to 10000 broker ids"
    assert (status, text) == (400, f"partitions[1] (foo-1): 'replicas' is {expected}")


async def test_a_job_that_has_ended_cannot_be_paused() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.controller.settle()
    assert await client.refusal("POST", "/v1/jobs/1/pause") == (409, "Job 1 has ended.")


async def test_the_global_pause_is_the_reason_of_every_job() -> None:
    client = ApiClient()
    client.controller.do(Pause(None, True))
    await client.post("/v1/jobs", MOVE)
    assert (await client.get("/v1/jobs/1"))["reasons"] == [
        {"reason": "all reassignments are paused", "partitions": 2}
    ]


async def test_a_plan_of_many_partitions_is_prepared_in_the_worker_thread() -> None:
    names = [f"foo-{number}" for number in range(600)]
    client = ApiClient(InMemoryController().with_partitions(*(partition(name, [1, 2, 3]) for name in names)))
    answer = await client.post("/v1/jobs", plan(**{f"foo_{number}": [4, 5, 6] for number in range(600)}))
    assert (answer["accepted"], len(answer["rollback"]["partitions"])) == (600, 600)


async def test_a_large_body_is_read_in_the_worker_thread() -> None:
    padded = {**MOVE, "comment": "x" * 100_000}
    assert (await ApiClient().post("/v1/jobs", padded))["job"] == 1


LATER_MS = 2**45
"""In the year 3084."""


async def test_a_job_elects_and_is_rolled_back_at_a_time() -> None:
    client = ApiClient()
    await client.post(f"/v1/jobs?elect=true&until_ms={LATER_MS}", plan(foo_0=[2, 1, 3]))
    assert client.controller["foo-0"].leader == 2
    job = (await client.get("/v1/jobs/1"))["job"]
    assert (job["elects"], job["until_ms"]) == (True, LATER_MS)
    restore = {"job": 1, "until_ms": LATER_MS, "partitions": 1}
    assert (await client.get("/v1/status"))["restores"] == [restore]
    await client.post("/v1/jobs/1/rollback")
    assert (await client.get("/v1/status"))["restores"] == []


@pytest.mark.parametrize(
    ("query", "replicas", "status", "text"),
    [
        ("until_ms=5", [2, 1, 3], 400, "until_ms is in the past: give a later time."),
        (f"until_ms={LATER_MS}", [2, 1, 4], 422, "foo-0 gets other replicas: a plan with until_ms may only"),
        ("elect=true&queue=true", [2, 1, 3], 400, "A queued plan cannot have elect or until_ms"),
        (f"until_ms={LATER_MS}&append=true", [2, 1, 3], 400, "A queued plan cannot have elect or until_ms"),
    ],
)
async def test_a_job_that_cannot_elect_or_end_so_is_refused(
    query: str, replicas: list[int], status: int, text: str
) -> None:
    client = ApiClient()
    answer = await client.refusal("POST", f"/v1/jobs?{query}", plan(foo_0=replicas))
    assert (answer[0], answer[1][: len(text)]) == (status, text)
    assert client.controller.state.orders.jobs == {}
