"""`/v1/proposals`."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from controller.messages.event import AnyEvent
from controller.model.configs import SCHEDULE
from controller.modes import GATEWAY
from server.api.resources import proposals
from server.api.shared.forecasts import Reviews
from server.api.shared.proposals import MAX_KEPT, MAX_OPEN, ProposalRequest, ProposalStore
from tests.server.api.api_client import MOVE
from tests.server.api.proposal_client import ProposalClient, answer
from tests.server.api.resources.test_load import FixedLoad
from tests.server.api.resources.test_reviews import forecast

DRAIN = {"drain": [1]}
LATER_MS = 2**45
"""In the year 3084."""


@pytest.fixture
def client() -> ProposalClient:
    return ProposalClient()


@pytest.fixture
def large(client: ProposalClient, monkeypatch: pytest.MonkeyPatch) -> ProposalClient:
    """A cluster that counts as large, whose computations wait."""
    monkeypatch.setattr(proposals, "SMALL", 0)
    client.hold.clear()
    return client


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_small_cluster_is_answered_with_the_figures(client: ProposalClient) -> None:
    status, proposal = await client.ask("POST", "/v1/proposals", DRAIN)
    assert (status, proposal["state"], proposal["id"], proposal["goals"]) == (200, "ready", 1, ["drain", "1"])
    assert (proposal["cluster_partitions"], proposal["read_partitions"]) == (3, 3)
    assert proposal["figures"]["summary"] == ["moves 1 replica"]
    assert (await client.get("/v1/proposals/1"))["figures"] == proposal["figures"]


async def test_the_computation_gets_the_measured_loads(client: ProposalClient) -> None:
    client.serve(load=FixedLoad())
    await client.post("/v1/proposals", {"balance": True, "by": "in"})
    lines = b"".join(client.inputs[0]).splitlines()
    assert [json.loads(line).get("in") for line in lines[-3:]] == [None, 1.5, None]


async def test_the_forecast_has_the_time_within_the_schedule(client: ProposalClient) -> None:
    forecast = {
        "steps": 1, "waves": 1, "bytes": 100, "bandwidth": 50, "seconds": 2, "least_seconds": 2,
        "waiting_partitions": 0
    }  # fmt: skip
    client.answer = answer({"forecast": forecast}, foo_0=([1, 2, 3], [4, 2, 3]))
    proposal = await client.post("/v1/proposals", DRAIN)
    assert proposal["figures"]["forecast"]["scheduled_seconds"] == 2
    client.controller.default(SCHEDULE, "00:00-24:00 throttle=10")
    [listed] = (await client.get("/v1/proposals"))["proposals"]
    shown = await client.get("/v1/proposals/1")
    assert [each["figures"]["forecast"]["scheduled_seconds"] for each in (listed, shown)] == [10, 10]


async def test_the_computation_gets_goals_options_limits_and_the_cluster(client: ProposalClient) -> None:
    body = {
        "drain": [1], "demote": [2, 3], "add": [4, 5],
        "balance": True, "rf": 3, "racks": True, "leaders": True,
        "topics": "fo+", "partitions": [{"topic": "foo", "partition": 7}],
        "spread": "topic", "minimize": "bytes",
        "exclude_brokers": [6], "tolerance": "3%", "preferred_leaders": "keep", "max_moves": 9,
        "fix_racks": True,
        "by": "both", "byte_tolerance": "2%", "max_bytes": "1GiB", "headroom": "20%", "strict_racks": True,
        "disable_rack_aware": True, "weights": ["4=0.5"],
        "skip_moving": True, "exclude_topics": "bar",
    }  # fmt: skip
    await client.post("/v1/proposals", body)
    head, *rest = b"".join(client.inputs[0]).splitlines()
    request = json.loads(head)
    goals = ["drain", "1", "demote", "2,3", "add", "4,5", "balance", "racks", "leaders", "rf", "3"]
    assert request["goals"] == goals
    assert request["options"] == {
        "topics": "fo+", "partitions": [["foo", 7]], "exclude_topics": "bar",
        "exclude_brokers": "6", "tolerance": "3%",
        "leaders": "keep",
        "max_moves": 9, "fix_racks": True, "disable_rack_aware": True, "weights": ["4=0.5"],
        "skip_moving": True,
        "by": "both", "byte_tolerance": "2%", "max_bytes": "1GiB", "headroom": "20%", "strict_racks": True,
        "strict_sizes": False, "relieve": None, "relieve_to": None, "allow_partial": False,
        "tolerance_of": [], "at": None, "allow_unknown": False, "empty": None,
            "spread": "topic", "minimize": "bytes",
    }  # fmt: skip
    assert request["bandwidth"] is None
    assert [json.loads(line)["kind"] for line in rest] == ["cluster", *["broker"] * 6, *["partition"] * 3]


async def test_a_repair_is_a_goal_of_its_own(client: ProposalClient) -> None:
    await client.post("/v1/proposals", {"repair": True})
    head, *_ = b"".join(client.inputs[0]).splitlines()
    assert json.loads(head)["goals"] == ["repair"]


async def test_topics_get_factors_of_their_own(client: ProposalClient) -> None:
    factors = [{"factor": 3, "topics": "a.*"}, {"factor": 2, "topics": "b"}]
    await client.post("/v1/proposals", {"factors": factors})
    head, *_ = b"".join(client.inputs[0]).splitlines()
    assert json.loads(head)["goals"] == ["rf", "3:a.*", "2:b"]


async def test_a_large_cluster_is_polled(large: ProposalClient) -> None:
    status, proposal = await large.ask("POST", "/v1/proposals", DRAIN)
    assert (status, proposal["state"], proposal["figures"]) == (202, "waiting", None)
    await settled()
    assert (await large.get("/v1/proposals/1"))["state"] == "computing"
    await large.clock.advance(2.0)
    large.hold.set()
    await settled()
    ready = await large.get("/v1/proposals/1")
    assert (ready["state"], ready["seconds"], ready["figures"]["moves"]) == ("ready", 2.0, 1)


async def test_one_is_computed_at_a_time_and_a_few_may_wait(large: ProposalClient) -> None:
    for _ in range(MAX_OPEN):
        await large.post("/v1/proposals", DRAIN)
    await settled()
    assert len(large.inputs) == 1
    status, text = await large.refusal("POST", "/v1/proposals", DRAIN)
    assert (status, text) == (429, "4 proposals are being computed: wait for one, or cancel it.")
    large.hold.set()
    await settled()
    assert len(large.inputs) == MAX_OPEN


async def test_a_computation_is_cancelled(large: ProposalClient) -> None:
    for _ in range(2):
        await large.post("/v1/proposals", DRAIN)
    await settled()
    status, left = await large.ask("DELETE", "/v1/proposals/1")
    await settled()
    assert (status, [each["id"] for each in left["proposals"]]) == (200, [2])
    assert (large.cancelled, len(large.inputs)) == (1, 2)
    assert (await large.refusal("GET", "/v1/proposals/1"))[0] == 404


async def test_all_computations_end_with_the_server(large: ProposalClient) -> None:
    await large.post("/v1/proposals", DRAIN)
    await settled()
    await large.store.close()
    assert large.cancelled == 1


async def test_numbers_are_not_used_again_after_a_restart(client: ProposalClient) -> None:
    later = ProposalStore(client.compute, lambda: None, lambda: 1_795_387_018_000, client.clock)
    kept = later.start(["racks"], (frozenset(), frozenset()), 3, lambda _: nothing())
    assert kept.id == 795_387_019
    await later.close()


async def nothing() -> AsyncIterator[bytes]:
    yield b""


async def test_only_the_last_proposals_are_kept(client: ProposalClient) -> None:
    for _ in range(MAX_KEPT + 2):
        await client.post("/v1/proposals", DRAIN)
    kept = (await client.get("/v1/proposals"))["proposals"]
    assert [each["id"] for each in kept] == list(range(MAX_KEPT + 2, 2, -1))


async def test_a_goal_that_cannot_be_met_is_refused_with_the_reasons(client: ProposalClient) -> None:
    client.answer = b'{"reasons": ["broker 9 is not in the cluster", "too few"]}\n'
    refused = await client.refusal("POST", "/v1/proposals", {"drain": [9]})
    assert refused == (422, "broker 9 is not in the cluster; too few")
    shown = await client.get("/v1/proposals/1")
    assert (shown["state"], shown["reasons"]) == ("failed", ["broker 9 is not in the cluster", "too few"])
    assert await client.refusal("GET", "/v1/proposals/1/plan") == (
        409,
        "Proposal 1 has no plan: it is failed.",
    )


async def test_a_computation_that_breaks_is_a_reason(client: ProposalClient) -> None:
    client.answer = b"nonsense"
    status, text = await client.refusal("POST", "/v1/proposals", DRAIN)
    assert (status, text.startswith("the computation failed: ")) == (422, True)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            {},
            (
                "no goal: give at least one of drain, demote, relieve, add, to, balance, rf, racks, repair,"
                " leaders and disks"
            ),
        ),
        ({"rf": 0}, "rf"),
        ({"drain": "7"}, "drain"),
        ({"move": True}, "unknown"),
    ],
)
async def test_bad_requests_are_refused(client: ProposalClient, body: Any, text: str) -> None:
    status, error = await client.refusal("POST", "/v1/proposals", body)
    assert (status, text in error) == (400, True), error
    assert client.inputs == []


async def test_a_missing_solver_is_named(client: ProposalClient) -> None:
    client.obstacle = "propose needs OR-tools"
    assert await client.refusal("POST", "/v1/proposals", DRAIN) == (501, "propose needs OR-tools")


async def test_the_plan_and_its_rollback_are_plans(client: ProposalClient) -> None:
    await client.post("/v1/proposals", DRAIN)
    assert (await client.get("/v1/proposals/1/plan"))["partitions"][0]["replicas"] == [4, 2, 3]
    assert (await client.get("/v1/proposals/1/rollback"))["partitions"][0]["replicas"] == [1, 2, 3]


async def test_a_proposal_is_executed_once(client: ProposalClient) -> None:
    await client.post("/v1/proposals", DRAIN)
    status, accepted = await client.ask("POST", "/v1/proposals/1/execute?throttle=5")
    assert (status, accepted["job"], accepted["accepted"]) == (202, 1, 1)
    assert client.controller.state.orders.jobs[1].throttle == 5
    assert (await client.get("/v1/proposals/1"))["job"] == 1
    refused = await client.refusal("POST", "/v1/proposals/1/execute")
    assert refused == (409, "Proposal 1 is executed by job 1.")


async def test_a_demotion_elects_until_a_time(client: ProposalClient) -> None:
    client.answer = answer({"elects": True}, foo_0=([1, 2, 3], [2, 3, 1]))
    await client.post("/v1/proposals", {"demote": [1]})
    await client.post(f"/v1/proposals/1/execute?until_ms={LATER_MS}")
    job = client.controller.state.orders.jobs[1]
    assert (job.elects, job.until_ms, client.controller["foo-0"].leader) == (True, LATER_MS, 2)


async def test_of_two_requests_at_once_one_executes(
    client: ProposalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post("/v1/proposals", DRAIN)
    decide = client.driver.submit

    async def submit(event: AnyEvent) -> Any:
        await settled()
        return await decide(event)

    monkeypatch.setattr(client.driver, "submit", submit)
    request = "POST", "/v1/proposals/1/execute"
    answers = await asyncio.gather(client.ask(*request), client.ask(*request))
    assert sorted(status for status, _ in answers) == [202, 409]
    assert (await client.get("/v1/proposals/1"))["job"] == 1


async def test_drained_brokers_are_excluded_and_added_ones_allowed(client: ProposalClient) -> None:
    await client.post("/v1/placement", {"exclude": [5]})
    await client.post("/v1/proposals", {"drain": [1], "add": [5]})
    await client.post("/v1/proposals/1/execute")
    assert (await client.get("/v1/placement"))["excluded"] == [1]


async def test_a_refused_execution_excludes_nothing(client: ProposalClient) -> None:
    await client.post("/v1/placement", {"exclude": [5]})
    await client.post("/v1/proposals", {"drain": [1], "add": [5]})
    client.driver.refuse_orders = True
    await client.ask("POST", "/v1/proposals/1/execute")
    assert (await client.get("/v1/placement"))["excluded"] == [5]


async def test_a_gateway_cordons_the_drained_brokers(client: ProposalClient) -> None:
    await client.post("/v1/proposals", DRAIN)
    client.controller.state.mode = GATEWAY
    client.sizes.log_dirs, client.sizes.cordoned = {1: {"/a": []}}, {"/a"}
    assert (await client.post("/v1/proposals/1/execute"))["notes"] == []
    assert (await client.get("/v1/placement"))["excluded"] == [1]


async def test_a_partition_that_has_changed_is_named(client: ProposalClient) -> None:
    client.answer = answer(foo_1=([1, 3, 2], [4, 3, 2]))
    await client.post("/v1/proposals", DRAIN)
    refused = await client.refusal("POST", "/v1/proposals/1/execute")
    assert refused == (409, "foo-1 has changed since the proposal; propose again.")
    assert (await client.get("/v1/placement"))["excluded"] == []


async def test_a_partition_that_moves_is_named(client: ProposalClient) -> None:
    await client.post("/v1/proposals", DRAIN)
    await client.post("/v1/jobs", MOVE)
    refused = await client.refusal("POST", "/v1/proposals/1/execute")
    assert refused == (409, "foo-0 is being reassigned or queued; wait for the end.")


async def test_a_proposal_is_made_again_for_the_present_replicas(client: ProposalClient) -> None:
    await client.post(
        "/v1/proposals", {"drain": [1], "max_moves": 5, "spread": "cluster", "minimize": "bytes"}
    )
    client.answer = answer(foo_1=([1, 3, 2], [4, 3, 2]))
    status, shown = await client.ask("POST", "/v1/proposals/1/again")
    assert (status, shown["id"], shown["goals"]) == (200, 2, ["drain", "1"])
    first, second = (json.loads(pieces[0]) for pieces in client.inputs)
    assert first == second
    assert (first["options"]["max_moves"], first["options"]["minimize"]) == (5, "bytes")
    assert (await client.get("/v1/proposals/1/plan"))["partitions"][0]["partition"] == 0
    assert (await client.get("/v1/proposals/2/plan"))["partitions"][0]["partition"] == 1
    assert (await client.refusal("POST", "/v1/proposals/9/again"))[0] == 404


async def test_an_empty_proposal_is_not_executed(client: ProposalClient) -> None:
    client.answer = answer()
    await client.post("/v1/proposals", {"balance": True})
    assert await client.refusal("POST", "/v1/proposals/1/execute") == (409, "Proposal 1 changes nothing.")
    said = "Proposal 1 changes no partition: there is nothing to forecast."
    assert await client.refusal("GET", "/v1/proposals/1/review?throttle=10") == (409, said)


async def test_a_broker_that_is_empty_already_gets_nothing_new(client: ProposalClient) -> None:
    client.answer = answer()
    proposal = await client.post("/v1/proposals", DRAIN)
    assert proposal["placement"] == {"exclude": [1], "allow": [], "exclude_dirs": []}
    accepted = await client.post("/v1/proposals/1/execute")
    assert accepted["job"] is None
    assert client.controller.state.settings.excluded_brokers == {1}
    assert (await client.get("/v1/proposals/1"))["placement"] is None
    added = await client.post("/v1/proposals", {"add": [1]})
    assert added["placement"] == {"exclude": [], "allow": [1], "exclude_dirs": []}


async def test_topics_move_to_chosen_brokers_without_excluding_the_others(client: ProposalClient) -> None:
    proposal = await client.post("/v1/proposals", {"to": [4, 5, 6], "topics": "foo"})
    head = json.loads(b"".join(client.inputs[0]).splitlines()[0])
    assert (proposal["goals"], head["goals"]) == (["to", "4,5,6"], ["drain", "1,2,3"])
    await client.post(f"/v1/proposals/{proposal['id']}/execute")
    assert not client.controller.state.settings.excluded_brokers


async def test_a_request_whose_proposal_is_deleted_meanwhile_is_answered(client: ProposalClient) -> None:
    client.hold.clear()
    asked = asyncio.create_task(client.refusal("POST", "/v1/proposals", DRAIN))
    await settled()
    await client.ask("DELETE", "/v1/proposals/1")
    assert await asked == (409, "Proposal 1 was deleted while it was computed.")


async def test_a_request_whose_proposal_takes_long_is_to_be_polled(
    client: ProposalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "WAIT_SECONDS", 0.0)
    client.hold.clear()
    assert (await client.ask("POST", "/v1/proposals", DRAIN))[0] == 202


@pytest.mark.parametrize("path", ["/v1/proposals", "/v1/proposals/1/again"])
async def test_a_request_without_a_wait_is_answered_at_once(client: ProposalClient, path: str) -> None:
    await client.post("/v1/proposals", DRAIN)
    client.hold.clear()
    status, proposal = await client.ask("POST", f"{path}?wait=false", DRAIN)
    assert (status, proposal["id"], proposal["state"]) == (202, 2, "waiting")
    await settled()
    await client.ask("DELETE", "/v1/proposals/2")
    assert client.cancelled == 1


async def test_what_moves_while_brokers_are_cordoned_is_not_taken_over(
    client: ProposalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def others_move(*_: object) -> list[str]:
        client.controller.alter({"foo-0": [4, 5, 6]})
        return []

    await client.post("/v1/proposals", DRAIN)
    monkeypatch.setattr(proposals, "follow_cordons", others_move)
    assert (await client.refusal("POST", "/v1/proposals/1/execute"))[0] == 409
    assert not client.controller.state.settings.excluded_brokers


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (
            {"to": [4]},
            400,
            "`to` moves some topics: name them by `topics` (an expression) or `partitions`",
        ),
        ({"to": [9], "topics": "foo"}, 422, "broker 9 is not in the cluster"),
        ({"to": [4], "drain": [4], "topics": "foo"}, 400, "broker 4 is in `to` and in `drain`"),
        (
            {"to": [1, 2, 3, 4, 5, 6], "topics": "foo"},
            400,
            "`to` names all brokers: no replica would have to move",
        ),
    ],
)
async def test_brokers_that_topics_cannot_move_to_are_refused(
    client: ProposalClient, body: Any, status: int, text: str
) -> None:
    assert await client.refusal("POST", "/v1/proposals", body) == (status, text)


async def test_brokers_are_relieved_by_name_or_above_a_level() -> None:
    named = ProposalRequest(relieve=[7, 8], relieve_to="60%")
    assert proposals.words(named) == ["relieve", "7,8"]
    above = proposals.options(ProposalRequest(relieve_over="85%:75%", allow_partial=True))
    assert (above["relieve"], above["allow_partial"]) == ("85%:75%", True)


DIR = {
    "broker": 1, "path": "/a", "total": 100, "before": 60, "after": 20, "replicas_before": 3,
    "replicas_after": 1, "gains": 0, "losses": 2, "least": 18, "most": 22, "cordoned": False
}  # fmt: skip
DISK_FIGURES = {
    "moves": 2, "bytes": 40, "bytes_bound": 40, "fewest_bytes_proven": True, "dirs": [DIR], "left_out": [],
    "left_out_replicas": 0, "short": [], "notes": [], "summary": ["moves 2 replicas"], "forecast": None,
}  # fmt: skip
MOVES = {
    "moves": [{"topic": "foo", "partition": 0, "broker": 1, "source": "/a", "target": "/b", "bytes": 20}]
}


@pytest.fixture
def of_disks(client: ProposalClient) -> ProposalClient:
    """Proposes moves between directories."""
    lines: list[dict[str, Any]] = [{"disks": DISK_FIGURES}, PLAN, {**PLAN, "version": 1}, MOVES]
    client.answer = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
    return client


PLAN = {"version": 1, "partitions": [{"topic": "foo", "partition": 0, "replicas": [1], "log_dirs": ["/b"]}]}


async def test_moves_between_directories_have_figures_of_their_own(of_disks: ProposalClient) -> None:
    proposal = await of_disks.post("/v1/proposals", {"disks": {"brokers": [1, 2]}})
    assert (proposal["goals"], proposal["figures"], proposal["disks"]) == (
        ["disks", "1,2"],
        None,
        DISK_FIGURES,
    )
    assert await of_disks.get("/v1/proposals/1/plan") == PLAN
    assert await of_disks.get("/v1/proposals/1/moves") == MOVES


async def test_the_forecast_of_moves_between_directories_says_where_its_rate_is_from(
    client: ProposalClient,
) -> None:
    client.store.bandwidth = lambda: 10
    figures = DISK_FIGURES | {"forecast": {"bandwidth": 10, "seconds": 4.0}}
    lines: list[dict[str, Any]] = [{"disks": figures}, PLAN, PLAN, MOVES]
    client.answer = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
    proposal = await client.post("/v1/proposals", {"disks": {}})
    assert proposal["disks"]["forecast"] == {
        "bandwidth": 10,
        "seconds": 4.0,
        "rate_origin": "assumed",
        "scheduled_seconds": 4.0,
    }
    request = json.loads(b"".join(client.inputs[0]).splitlines()[0])
    assert (request["rates"], request["seconds_of_move"]) == ([], 1.0)


async def test_directories_to_empty_are_handed_over(of_disks: ProposalClient) -> None:
    body = {"disks": {"empty": [{"broker": 3, "dir": "/data,4:x"}]}, "relieve_to": "90%"}
    await of_disks.post("/v1/proposals", body)
    request = json.loads(b"".join(of_disks.inputs[0]).splitlines()[0])
    assert (request["goals"], request["options"]["empty"]) == (["disks"], [[3, "/data,4:x"]])
    assert request["options"]["relieve_to"] == "90%"


async def test_moves_between_directories_are_executed_as_a_job(of_disks: ProposalClient) -> None:
    of_disks.sizes.log_dirs = {1: {"/a": ["foo-0"], "/b": []}}
    await of_disks.post("/v1/proposals", {"disks": {}})
    status, answer = await of_disks.ask("POST", "/v1/proposals/1/execute?throttle=7")
    assert (status, answer["job"], answer["accepted"]) == (202, 1, 1)
    assert of_disks.controller.state.orders.jobs[1].throttle == 7
    assert (await of_disks.ask("POST", "/v1/proposals/1/execute"))[0] == 409


async def test_directories_that_would_be_excluded_are_named(of_disks: ProposalClient) -> None:
    of_disks.controller.state.mode = GATEWAY
    dirs = [{"broker": 1, "dir": path} for path in ("/a", "/b", "/c,d")]
    of_disks.sizes.log_dirs, of_disks.sizes.cordoned = {1: {"/b": []}}, {"/b"}
    await of_disks.post("/v1/placement", {"exclude_dirs": dirs[1:2]})
    proposal = await of_disks.post("/v1/proposals", {"disks": {"empty": dirs}})
    assert proposal["placement"]["exclude_dirs"] == dirs[:1]


async def test_moves_from_another_directory_are_not_executed(of_disks: ProposalClient) -> None:
    of_disks.sizes.log_dirs = {1: {"/a": [], "/b": [], "/c": ["foo-0"]}}
    await of_disks.post("/v1/proposals", {"disks": {}})
    refused = await of_disks.refusal("POST", "/v1/proposals/1/execute")
    assert refused == (409, "foo-0 on broker 1 is in /c, not in /a; propose again")


async def test_the_forecast_of_a_proposal_changes_with_a_throttle(client: ProposalClient) -> None:
    services = client.api.services
    assert services is not None
    client.api.services = replace(services, reviews=Reviews(forecast, lambda: 50))
    await client.post("/v1/proposals", DRAIN)
    review = await client.get("/v1/proposals/1/review")
    assert (review["replica_movements"], review["seconds"], review["rate_origin"]) == (1, 2, "assumed")
    review = await client.get("/v1/proposals/1/review?throttle=10")
    assert (review["seconds"], review["bandwidth"], review["rate_origin"]) == (10, 10, "given")
    client.controller.alter({"foo-0": [4, 5, 6]})
    assert (await client.refusal("GET", "/v1/proposals/1/review"))[0] == 409


async def test_moves_between_directories_have_no_such_forecast(of_disks: ProposalClient) -> None:
    await of_disks.post("/v1/proposals", {"disks": {}})
    said = "Proposal 1 is about log directories: its forecast has no throttle."
    assert await of_disks.refusal("GET", "/v1/proposals/1/review?throttle=1") == (409, said)


async def test_other_proposals_have_no_moves_between_directories(client: ProposalClient) -> None:
    await client.post("/v1/proposals", DRAIN)
    status, answer = await client.ask("GET", "/v1/proposals/1/moves")
    assert (status, "is not about log directories" in json.dumps(answer)) == (404, True)
