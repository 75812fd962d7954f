"""Requests that plan: what is asked for, what is answered, and that the approved plan is executed."""

import asyncio
from collections.abc import Collection
from typing import Any, Literal

import pytest

from server.api.shared.errors import HttpError
from server.cruisecontrol.shared.access import ClientRole, User
from server.cruisecontrol.shared.executions import executions
from server.cruisecontrol.shared.tasks import compressed
from tests.builders import InMemoryController, partition
from tests.server.api.proposal_client import answer
from tests.server.cruisecontrol.client import BROKERS, CruiseControlClient

DRY, RUN = "rebalance?dryrun=true", "rebalance?dryrun=false"


@pytest.fixture
def client() -> CruiseControlClient:
    return CruiseControlClient()


def targets(client: CruiseControlClient) -> dict[str, tuple[int, ...]]:
    """The targets of the partitions that are reassigned."""
    return {str(key): each.target for key, each in client.controller.state.orders.reassignments.items()}


def note(result: dict[str, Any]) -> str:
    text: str = result["summary"]["provisionRecommendation"]
    return text


async def test_a_rebalance_asks_for_the_default_goals(client: CruiseControlClient) -> None:
    await client.ok("POST", f"{DRY}&excluded_topics=x.*&destination_broker_ids=1,2")
    asked = client.inputs_options()
    assert asked["goals"] == ["balance"]
    options = {name: each for name, each in asked["options"].items() if each}
    assert options == {
        "by": "replicas,bytes",
        "tolerance_of": ["replicas=10%", "bytes=10%"],
        "allow_partial": True,
        "fix_racks": True,
        "headroom": "20%",
        "leaders": "balance",
        "exclude_brokers": "3,4,5,6",
        "exclude_topics": "x.*",
        "skip_moving": True,
    }


@pytest.mark.parametrize(
    ("request_line", "goals"),
    [
        ("add_broker?brokerid=5,6", ["add", "5,6"]),
        ("remove_broker?brokerid=1", ["drain", "1"]),
        ("demote_broker?brokerid=1", ["demote", "1"]),
        ("fix_offline_replicas", ["repair"]),
        ("topic_configuration?topic=fo.&replication_factor=2", ["rf", "2:fo."]),
        ("rebalance?goals=RackAwareGoal", ["racks"]),
        ("rebalance?goals=com.linkedin.x.LeaderReplicaDistributionGoal", ["leaders"]),
    ],
)
async def test_each_endpoint_asks_for_its_goal(
    client: CruiseControlClient, request_line: str, goals: list[str]
) -> None:
    await client.ok("POST", request_line)
    assert client.inputs_options()["goals"] == goals


async def test_both_loads_of_an_answer_have_the_same_brokers(
    client: CruiseControlClient,
) -> None:
    result = await client.ok("POST", f"{DRY}&verbose=true")
    before, after = (
        [row["Broker"] for row in result[name]["brokers"]]
        for name in ("loadBeforeOptimization", "loadAfterOptimization")
    )
    assert before == after == [1, 2, 3, 4, 5, 6]
    assert result["proposals"] == [
        {
            "topicPartition": {"topic": "foo", "partition": 0},
            "oldLeader": 1,
            "oldReplicas": [1, 2, 3],
            "newReplicas": [4, 2, 3],
        }
    ]


async def test_bytes_that_are_not_known_are_not_told_as_0(client: CruiseControlClient) -> None:
    controller = client.controller.with_partitions(partition("unknown-0", [1, 2, 3]))
    changes = {"unknown_0": ([1, 2, 3], [4, 2, 3]), "foo_1": ([1, 2, 3], [2, 1, 3])}
    client.answer = answer({"brokers": BROKERS, "bytes": 0}, **changes)
    result = await client.ok("POST", DRY)
    assert result["summary"]["dataToMoveMB"] == -1
    assert "the sizes of 1 partitions to copy are not known" in note(result)
    again = CruiseControlClient(controller.restart())
    assert "the sizes of 1 partitions to copy are not known" in note(await again.ok("POST", RUN))


async def test_sizes_that_are_not_known_are_measured_before_a_plan(client: CruiseControlClient) -> None:
    client.controller.with_partitions(partition("unknown-0", [1, 2, 3]), partition("unknown-1", [1, 2, 3]))
    asked: list[object] = []

    async def refresh(topics: Collection[str] | None) -> str:
        asked.append(None if topics is None else sorted(topics))
        client.sizes.unknown -= {*(topics or ())}
        return ""

    client.serve(refresh=refresh)
    client.answer = answer({"brokers": BROKERS}, unknown_0=([1, 2, 3], [4, 2, 3]))
    result = await client.ok("POST", DRY)
    assert (asked, result["summary"]["dataToMoveMB"]) == ([None, ["unknown"]], 1)


async def test_an_execution_runs_the_plan_of_the_dry_run(client: CruiseControlClient) -> None:
    await client.ok("POST", DRY)
    client.answer = answer({"brokers": BROKERS}, foo_1=([1, 2, 3], [5, 2, 3]))
    result = await client.ok("POST", f"{RUN}&concurrent_partition_movements_per_broker=2&verbose=true")
    assert note(result).endswith("; executes proposal 1")
    assert (targets(client), len(client.inputs)) == ({"foo-0": (4, 2, 3)}, 1)
    [job] = client.controller.state.orders.jobs.values()
    assert (job.limits.per_broker, job.throttle, job.elects) == (2, 0, True)


async def test_a_dry_run_is_executed_once(client: CruiseControlClient) -> None:
    for path in (DRY, RUN):
        await client.ok("POST", path)
    client.controller.settle()
    client.answer = answer({"brokers": BROKERS}, foo_0=([4, 2, 3], [5, 2, 3]))
    assert "; new proposal: no dry run of this request" in note(await client.ok("POST", RUN))
    assert targets(client) == {"foo-0": (5, 2, 3)}


async def test_a_dry_run_is_not_used_up_by_an_execution_that_is_refused(
    client: CruiseControlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.ok("POST", DRY)

    async def refuse(*_: object) -> None:
        raise HttpError(503, "the cluster is not reachable")

    with monkeypatch.context() as patched:
        patched.setattr("server.cruisecontrol.shared.optimization.submit_kept", refuse)
        await client.error("POST", RUN)
    assert note(await client.ok("POST", RUN)).endswith("; executes proposal 1")


async def test_a_partition_that_has_changed_means_a_new_plan(client: CruiseControlClient) -> None:
    await client.ok("POST", DRY)
    client.controller.alter({"foo-0": (1, 2, 5)})
    client.controller.settle()
    client.answer = answer({"brokers": BROKERS}, foo_0=([1, 2, 5], [4, 2, 5]))
    text = note(await client.ok("POST", RUN))
    assert text.endswith("; new proposal: foo-0 has changed since the proposal; propose again.")
    assert targets(client) == {"foo-0": (4, 2, 5)}


async def test_a_dry_run_of_before_an_hour_is_not_executed(client: CruiseControlClient) -> None:
    await client.ok("POST", DRY)
    client.now_ms += 3_600_001
    assert "no dry run of this request in the last 60 minutes" in note(await client.ok("POST", RUN))


async def test_the_dry_run_of_another_client_is_not_executed() -> None:
    users = [User(name, b"x", ClientRole.ADMIN) for name in ("ann", "bob")]
    client = CruiseControlClient(users=users)
    await client.ok("POST", DRY, auth=("ann", "x"))
    assert "; new proposal" in note(await client.ok("POST", RUN, auth=("bob", "x")))


async def test_other_goals_are_another_request(client: CruiseControlClient) -> None:
    await client.ok("POST", DRY)
    assert note(await client.ok("POST", f"{RUN}&goals=ReplicaDistributionGoal")).startswith("new proposal")


async def test_the_limits_and_the_throttle_are_those_of_the_job(client: CruiseControlClient) -> None:
    await client.ok(
        "POST",
        f"{RUN}&concurrent_partition_movements_per_broker=2&max_partition_movements_in_cluster=9"
        "&concurrent_leader_movements=3&replication_throttle=5000",
    )
    [job] = client.controller.state.orders.jobs.values()
    assert (job.limits.per_broker, job.limits.replicas, job.limits.leaders) == (2, 9, 3)
    assert job.throttle == 5000


async def test_more_than_a_hundred_factors_are_refused(client: CruiseControlClient) -> None:
    by_factor = {f"{number:03}": "foo" for number in range(1, 102)}
    body = {"replication_factor": {"topic_by_replication_factor": by_factor}}
    status, text = await client.error("POST", "topic_configuration", json=body)
    assert (status, "101 replication factors; at most 100" in text) == (400, True)


async def test_one_execution_at_a_time(client: CruiseControlClient) -> None:
    await client.ok("POST", RUN)
    status, text = await client.error("POST", RUN)
    assert status == 500
    assert "OngoingExecutionException: Cannot execute new proposals while job 1 of this API runs" in text
    assert "stop_ongoing_execution" in text
    await client.ok("POST", DRY)


async def test_a_job_of_a_person_is_in_nobodys_way(client: CruiseControlClient) -> None:
    client.controller.alter({"foo-2": (4, 5, 6)})
    await client.ok("POST", RUN)
    assert targets(client) == {"foo-2": (4, 5, 6), "foo-0": (4, 2, 3)}


async def test_a_stop_cancels_what_this_api_executes(client: CruiseControlClient) -> None:
    client.controller.alter({"foo-2": (4, 5, 6)})
    await client.ok("POST", RUN)
    answered = await client.ok("POST", "stop_proposal_execution")
    assert answered == {"message": "Proposal execution stopped: job 2 cancelled.", "version": 1}
    assert (executions(client.controller.state), targets(client)) == ([], {"foo-2": (4, 5, 6)})
    [row] = await client.tasks()
    assert row["Status"] == "CompletedWithError"


async def test_an_execution_can_replace_the_one_before(client: CruiseControlClient) -> None:
    await client.ok("POST", RUN)
    client.answer = answer({"brokers": BROKERS}, foo_1=([1, 2, 3], [5, 2, 3]))
    await client.ok("POST", f"{RUN}&stop_ongoing_execution=true")
    assert targets(client) == {"foo-1": (5, 2, 3)}


async def test_a_plan_that_changes_nothing_is_completed(client: CruiseControlClient) -> None:
    client.answer = answer({"brokers": BROKERS})
    result = await client.ok("POST", RUN)
    assert (result["summary"]["numReplicaMovements"], client.controller.state.orders.jobs) == (1, {})
    [row] = await client.tasks()
    assert row["Status"] == "Completed"


async def test_a_plan_that_is_not_possible_has_all_reasons(client: CruiseControlClient) -> None:
    client.answer = b'{"reasons": ["no room", "no rack"]}'
    status, text = await client.error("POST", DRY)
    assert status == 500
    assert "OptimizationFailureException: no room; no rack" in text
    [row] = await client.tasks("fetch_completed_task=true")
    assert row["Status"] == "CompletedWithError"
    assert "no room; no rack" in row["originalResponse"]


async def test_a_hard_goal_that_nobody_can_judge_is_an_error_unless_it_is_skipped(
    client: CruiseControlClient,
) -> None:
    path = f"{DRY}&goals=CpuCapacityGoal,ReplicaDistributionGoal"
    status, text = await client.error("POST", path)
    assert status == 500
    assert "The hard goal CpuCapacityGoal cannot be judged: no capacity of brokers is known for it" in text
    result = await client.ok("POST", f"{path}&skip_hard_goal_check=true")
    assert [each["status"] for each in result["goalSummary"]] == ["NO-ACTION", "NO-ACTION"]
    assert note(result).startswith("CpuCapacityGoal cannot be judged: no capacity")


async def test_a_default_goal_that_is_hard_and_stays_violated_is_an_error_unless_it_is_skipped(
    client: CruiseControlClient,
) -> None:
    client.answer = answer({"brokers": BROKERS, "rack_excess": {"before": 2, "after": 1}}, foo_0=([1], [4]))
    status, text = await client.error("POST", RUN)
    assert (status, client.controller.state.orders.jobs) == (500, {})
    assert "OptimizationFailureException: the hard goal RackAwareDistributionGoal is violated after" in text
    result = await client.ok("POST", f"{DRY}&skip_hard_goal_check=true")
    assert result["goalSummary"][0]["status"] == "VIOLATED"


@pytest.mark.parametrize("path", ["fix_offline_replicas", "demote_broker?brokerid=1"])
async def test_a_plan_for_some_partitions_may_leave_a_goal_as_violated_as_it_was(
    client: CruiseControlClient, path: str
) -> None:
    client.answer = answer({"brokers": BROKERS, "rack_excess": {"before": 1, "after": 1}}, foo_0=([1], [4]))
    result = await client.ok("POST", path)
    assert result["goalSummary"][0]["status"] == "VIOLATED"


async def test_a_result_is_known_after_a_restart(client: CruiseControlClient) -> None:
    before = await client.send("POST", RUN)
    again = CruiseControlClient(client.controller.restart())
    [row] = await again.tasks("fetch_completed_task=true")
    assert (row["Status"], row["originalResponse"]) == ("InExecution", before.text)
    status, text = await again.error("POST", RUN)
    assert status == 500
    assert "OngoingExecutionException" in text


async def test_a_plan_that_was_shown_before_a_restart_is_executed(client: CruiseControlClient) -> None:
    client.answer = answer({"brokers": BROKERS}, foo_0=([1, 2, 3], [4, 2, 3]))
    await client.ok("POST", f"{DRY}&excluded_topics=x.*")
    again = CruiseControlClient(client.controller.restart())
    result = await again.ok("POST", f"{RUN}&excluded_topics=x.*&verbose=true")
    assert note(result).endswith("; executes proposal 1")
    assert [each["newReplicas"] for each in result["proposals"]] == [[4, 2, 3]]
    assert (targets(again), again.inputs) == ({"foo-0": (4, 2, 3)}, [])


async def test_brokers_that_were_to_be_drained_are_drained_after_a_restart(
    client: CruiseControlClient,
) -> None:
    await client.ok("POST", "remove_broker?brokerid=1")
    again = CruiseControlClient(client.controller.restart())
    await again.ok("POST", "remove_broker?brokerid=1&dryrun=false")
    assert (again.inputs, set(again.controller.state.settings.excluded_brokers)) == ([], {1})


async def test_a_dry_run_that_was_executed_before_a_restart_is_not_executed_again(
    client: CruiseControlClient,
) -> None:
    for path in (DRY, RUN, "stop_proposal_execution"):
        await client.ok("POST", path)
    again = CruiseControlClient(client.controller.restart())
    assert "; new proposal: no dry run of this request" in note(await again.ok("POST", RUN))


async def test_a_plan_of_another_version_is_not_executed(client: CruiseControlClient) -> None:
    await client.ok("POST", DRY)
    runs = client.controller.state.tasks.dry_runs
    for asked, run in list(runs.items()):
        runs[asked] = run._replace(plan=compressed(b'{"goals": []}'))
    again = CruiseControlClient(client.controller.restart())
    assert "too large to be kept for so long, or is of another version" in note(await again.ok("POST", RUN))


async def test_a_new_proposal_with_the_number_of_an_older_one_is_kept(client: CruiseControlClient) -> None:
    await client.ok("POST", DRY)
    again = CruiseControlClient(client.controller.restart())
    again.answer = answer({"brokers": BROKERS}, foo_1=([1, 2, 3], [5, 2, 3]))
    await again.ok("POST", DRY)
    third = CruiseControlClient(again.controller.restart())
    await third.ok("POST", RUN)
    assert (targets(third), third.inputs) == ({"foo-1": (5, 2, 3)}, [])


async def test_another_proposal_with_the_same_number_is_not_executed_after_a_restart(
    client: CruiseControlClient,
) -> None:
    await client.ok("POST", DRY)
    again = CruiseControlClient(client.controller.restart())
    again.answer = answer({"brokers": BROKERS}, foo_1=([1, 2, 3], [5, 2, 3]))
    await again.ok("POST", "add_broker?brokerid=5")
    assert [each.id for each in again.store.newest_first()] == [1]
    await again.ok("POST", RUN)
    assert targets(again) == {"foo-0": (4, 2, 3)}


async def test_a_plan_that_is_too_large_for_a_record_is_not_executed_after_a_restart(
    client: CruiseControlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.cruisecontrol.shared.dry_runs.MOST_PLAN_CHARACTERS", 100)
    await client.ok("POST", DRY)
    again = CruiseControlClient(client.controller.restart())
    again.answer = answer({"brokers": BROKERS}, foo_0=([1, 2, 3], [5, 2, 3]))
    assert "; new proposal: proposal 1 was too large to be kept" in note(await again.ok("POST", RUN))
    assert targets(again) == {"foo-0": (5, 2, 3)}


async def test_a_plan_tells_the_present_leader_of_a_partition_that_is_only_elected() -> None:
    client = CruiseControlClient(
        InMemoryController().with_partitions(partition("foo-0", [1, 2, 3], leader=2))
    )
    client.answer = answer({"brokers": BROKERS}, foo_0=([1, 2, 3], [1, 2, 3]))
    [row] = (await client.ok("POST", f"{DRY}&verbose=true"))["proposals"]
    assert (row["oldLeader"], row["oldReplicas"], row["newReplicas"]) == (2, [2, 1, 3], [1, 2, 3])


async def test_preferred_leaders_are_elected_without_a_change_of_lists() -> None:
    controller = InMemoryController().with_partitions(
        partition("foo-0", [1, 2, 3], leader=2), partition("foo-1", [1, 2, 3])
    )
    client = CruiseControlClient(controller)
    result = await client.ok("POST", f"{RUN}&goals=PreferredLeaderElectionGoal")
    assert result["summary"]["numLeaderMovements"] == 1
    controller.settle()
    assert (controller["foo-0"].leader, client.inputs) == (1, [])
    assert (await client.ok("POST", f"{DRY}&goals=PreferredLeaderElectionGoal"))["summary"][
        "numLeaderMovements"
    ] == 0


async def test_an_election_tells_who_leads_before_and_after() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2, 3], leader=2))
    client = CruiseControlClient(controller)
    result = await client.ok("POST", f"{DRY}&verbose=true&goals=PreferredLeaderElectionGoal")
    [change] = result["proposals"]
    assert (change["oldLeader"], change["newReplicas"]) == (2, [1, 2, 3])
    before, after = (
        {row["Broker"]: row["Leaders"] for row in result[name]["brokers"] if row["Leaders"]}
        for name in ("loadBeforeOptimization", "loadAfterOptimization")
    )
    assert (before, after, result["goalSummary"][0]["status"]) == ({2: 1}, {1: 1}, "FIXED")


async def test_excluded_topics_keep_their_leaders() -> None:
    controller = InMemoryController().with_partitions(
        partition("foo-0", [1, 2, 3], leader=2), partition("bar-0", [1, 2, 3], leader=2)
    )
    client = CruiseControlClient(controller)
    await client.ok("POST", f"{RUN}&goals=PreferredLeaderElectionGoal&excluded_topics=f.*")
    controller.settle()
    assert (controller["foo-0"].leader, controller["bar-0"].leader) == (2, 1)


async def test_an_election_is_refused_for_a_review(client: CruiseControlClient) -> None:
    status, text = await client.error("POST", f"{DRY}&goals=PreferredLeaderElectionGoal&review_id=1")
    assert (status, "review_id: reviews are not offered" in text) == (400, True)


async def test_a_preferred_leader_that_is_not_in_sync_is_a_violated_goal() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2, 3], isr=(2, 3), leader=2))
    client = CruiseControlClient(controller)
    result = await client.ok("POST", f"{RUN}&goals=PreferredLeaderElectionGoal")
    assert (result["goalSummary"][0]["status"], controller.state.orders.jobs) == ("VIOLATED", {})
    assert note(result).startswith("preferred leaders of 1 partitions are not in sync")


BODY = b'{"replication_factor":{"topic_by_replication_factor":{"3":"foo|baz","2":"b.r"}}}'


async def test_factors_of_a_body_are_one_plan() -> None:
    controller = InMemoryController().with_partitions(
        *(partition(name, [1, 2]) for name in ("foo-0", "bar-0"))
    )
    client = CruiseControlClient(controller)
    await client.ok("POST", "topic_configuration?dryrun=true&skip_rack_awareness_check=true", content=BODY)
    assert client.inputs_options()["goals"] == ["rf", "3:foo|baz", "2:b.r"]
    assert client.inputs_options()["options"]["disable_rack_aware"]


@pytest.mark.parametrize(
    ("query", "body", "status", "part"),
    [
        ("", b"", 400, "Give topic and replication_factor, or a body"),
        ("", b"{", 400, "JSON"),
        ("", b'{"replication_factor":{"x":1}}', 400, 'unknown key "x"'),
        (
            "",
            b'{"replication_factor":{"topic_by_replication_factor":{"0":"foo"}}}',
            400,
            "'0' is no replication",
        ),
        ("topic=nope&replication_factor=3", b"", 500, "There is no topic 'nope'."),
        ("topic=(&replication_factor=3", b"", 400, "The expression '(' is not valid"),
    ],
)
async def test_wrong_factors_are_named(
    client: CruiseControlClient, query: str, body: bytes, status: int, part: str
) -> None:
    found, text = await client.error("POST", f"topic_configuration?{query}", content=body)
    assert found == status, text
    assert part in text


async def test_of_two_executions_that_are_planned_at_once_one_is_submitted(
    client: CruiseControlClient,
) -> None:
    client.hold.clear()
    both = [asyncio.create_task(client.send("POST", f"{RUN}&verbose={each}")) for each in ("true", "false")]
    await client.planning(2)
    client.hold.set()
    statuses = sorted([(await each).status_code for each in both])
    assert (statuses, len(client.controller.state.orders.jobs)) == ([200, 500], 1)


class Turns(asyncio.Lock):
    """A lock that counts who has asked for it."""

    asked = 0

    async def acquire(self) -> Literal[True]:
        self.asked += 1
        return await super().acquire()

    async def asked_by(self, number: int) -> None:
        while self.asked < number:
            await asyncio.sleep(0.01)


async def test_a_stop_also_ends_an_execution_that_is_being_submitted(client: CruiseControlClient) -> None:
    client.served._serving().executing = turns = Turns()
    async with turns:
        planned = asyncio.create_task(client.send("POST", RUN))
        await turns.asked_by(2)
        stop = asyncio.create_task(client.ok("POST", "stop_proposal_execution"))
        await turns.asked_by(3)
    assert (await planned).status_code == 200
    assert (await stop)["message"] == "Proposal execution stopped: job 1 cancelled."
    assert executions(client.controller.state) == []


async def test_a_stop_also_ends_an_execution_that_is_being_planned(client: CruiseControlClient) -> None:
    client.hold.clear()
    planned = asyncio.create_task(client.error("POST", RUN))
    await client.planning(1)
    await client.ok("POST", "stop_proposal_execution")
    client.hold.set()
    status, text = await planned
    assert (status, client.controller.state.orders.jobs) == (500, {})
    assert "stopped before the plan was submitted" in text
