"""`GET /state`: what is executed and what is violated."""

import asyncio
import re

import pytest

from controller.messages.job_events import Pause
from controller.state.cluster import Disk
from server.cruisecontrol.shared.leaderships import Leaderships
from tests.builders import InMemoryController, partition
from tests.server.api.proposal_client import answer
from tests.server.cruisecontrol.client import BROKERS, CruiseControlClient


@pytest.fixture
def client() -> CruiseControlClient:
    return CruiseControlClient()


async def test_nothing_is_executed_at_first(client: CruiseControlClient) -> None:
    executor = (await client.ok("GET", "state?substates=executor"))["ExecutorState"]
    assert executor["state"] == "NO_TASK_IN_PROGRESS"


async def test_an_execution_is_told_with_its_bytes_and_its_start(client: CruiseControlClient) -> None:
    sent = await client.send("POST", "rebalance?dryrun=false")
    await client.progress.measure()
    answer = await client.ok("GET", "state?substates=Executor&verbose=false")
    executor = answer["ExecutorState"]
    assert executor["state"] == "INTER_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS"
    assert executor["triggeredUserTaskId"] == sent.headers["user-task-id"]
    assert re.search(r"Date: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", executor["triggeredTaskReason"])
    assert (executor["totalDataToMove"], executor["finishedDataMovement"]) == (1, 0)
    assert answer.keys() == {"ExecutorState", "version"}


async def test_partitions_that_move_and_that_wait_are_listed_on_demand(client: CruiseControlClient) -> None:
    changes = {f"foo_{number}": ([1, 2, 3], [4, 2, 3]) for number in range(3)}
    client.answer = answer({"brokers": BROKERS}, **changes)
    client.controller.with_limits(partitions=1)
    await client.ok("POST", "rebalance?dryrun=false")
    executor = (await client.checked("GET", "state?substates=executor&verbose=true"))["ExecutorState"]
    [moving] = executor["inProgressPartitionMovement"]
    assert (moving["state"], moving["proposal"]["newReplicas"]) == ("IN_PROGRESS", [4, 2, 3])
    waiting = [row["proposal"]["topicPartition"]["partition"] for row in executor["pendingPartitionMovement"]]
    assert sorted([*waiting, moving["proposal"]["topicPartition"]["partition"]]) == [0, 1, 2]


def leaders(executor: dict[str, int]) -> list[int]:
    """Return how many leaders change: all, finished, pending."""
    names = ("Total", "Finished", "Pending")
    return [executor[f"num{name}LeadershipMovements"] for name in names]


async def test_movements_of_leaders_are_counted(client: CruiseControlClient) -> None:
    changes = {
        "foo_0": ([1, 2, 3], [4, 2, 3]),
        "foo_1": ([1, 2, 3], [5, 2, 3]),
        "foo_2": ([1, 2, 3], [2, 1, 3]),
    }
    client.answer = answer({"brokers": BROKERS, "leader_changes": 3}, **changes)
    client.controller.with_limits(replicas=1)
    result = await client.ok("POST", "rebalance?dryrun=false")
    assert result["summary"]["numLeaderMovements"] == 3
    executor = (await client.checked("GET", "state?substates=executor"))["ExecutorState"]
    assert leaders(executor) == [3, 1, 2]
    client.controller.catch_up()
    again = CruiseControlClient(client.controller.restart())
    for each in (client, again):
        executor = (await each.ok("GET", "state?substates=executor"))["ExecutorState"]
        assert (executor["numFinishedPartitionMovements"], leaders(executor)) == (2, [3, 2, 1])


async def test_a_movement_that_ends_while_all_are_counted_is_one(
    client: CruiseControlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.tasks.ROWS_PER_SLICE", 1)
    changes = {
        f"foo_{each}": ([1, 2, 3], after) for each, after in enumerate(([4, 2, 3], [5, 2, 3], [2, 1, 3]))
    }
    client.answer = answer({"brokers": BROKERS, "leader_changes": 3}, **changes)
    client.controller.with_limits(replicas=1)
    await client.ok("POST", "rebalance?dryrun=false")
    [job] = client.controller.state.orders.jobs.values()
    counting = asyncio.ensure_future(Leaderships().of(client.controller.state, job))
    await asyncio.sleep(0)
    client.controller.catch_up()
    assert await counting == (3, 1)


async def test_a_job_that_ends_while_all_are_counted_has_its_numbers(
    client: CruiseControlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.tasks.ROWS_PER_SLICE", 1)
    await client.ok("POST", "rebalance?dryrun=false")
    [job] = client.controller.state.orders.jobs.values()
    counting = asyncio.ensure_future(Leaderships().of(client.controller.state, job))
    await asyncio.sleep(0)
    client.controller.catch_up()
    assert job.id not in client.controller.state.orders.open
    assert await counting == (1, 0)


async def test_elections_are_movements_of_leaders() -> None:
    controller = InMemoryController().with_partitions(
        *(partition(f"foo-{number}", [1, 2, 3], leader=2) for number in range(3))
    )
    controller.do(Pause(None, True))
    client = CruiseControlClient(controller)
    await client.ok("POST", "rebalance?dryrun=false&goals=PreferredLeaderElectionGoal")
    executor = (await client.ok("GET", "state?substates=executor"))["ExecutorState"]
    assert leaders(executor) == [3, 0, 3]


async def test_the_reason_of_an_execution_is_told(client: CruiseControlClient) -> None:
    await client.ok("POST", "rebalance?dryrun=false&Reason=new%20disks%21")
    executor = (await client.ok("GET", "state?substates=executor"))["ExecutorState"]
    assert executor["triggeredTaskReason"].startswith("new disks! (Client: 127.0.0.1, Date: ")


async def test_a_change_of_orders_is_a_movement_of_leaders(client: CruiseControlClient) -> None:
    client.answer = client.answer.replace(b"[4, 2, 3]", b"[2, 1, 3]")
    client.controller.do(Pause(None, True))
    await client.ok("POST", "rebalance?dryrun=false")
    executor = (await client.ok("GET", "state?substates=executor"))["ExecutorState"]
    assert executor["state"] == "LEADER_MOVEMENT_TASK_IN_PROGRESS"


async def test_an_execution_that_waits_for_its_first_step_is_starting(client: CruiseControlClient) -> None:
    client.controller.do(Pause(None, True))
    await client.ok("POST", "rebalance?dryrun=false")
    executor = (await client.ok("GET", "state?substates=executor"))["ExecutorState"]
    assert executor["state"] == "STARTING_EXECUTION"


async def test_a_goal_is_reported_while_it_is_violated() -> None:
    controller = InMemoryController(brokers=(1, 2)).with_partitions(partition("foo-0", [1]))
    client = CruiseControlClient(controller)
    assert await violations(client) == []
    controller.state.cluster.disks.update({1: [Disk("/a", 100, 1, 1)], 2: [Disk("/a", 400, 300, 0)]})
    [found] = await violations(client)
    assert found["fixableViolatedGoals"] == ["DiskCapacityGoal"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(found["detectionDate"]))
    assert isinstance(found["detectionMs"], int)


async def violations(client: CruiseControlClient) -> list[dict[str, object]]:
    state = await client.ok("GET", "state?substates=anomaly_detector")
    found: list[dict[str, object]] = state["AnomalyDetectorState"]["recentGoalViolations"]
    return found


async def test_a_broker_that_is_gone_is_told(client: CruiseControlClient) -> None:
    client.controller.stop(3)
    state = (await client.ok("GET", "state?substates=anomaly_detector"))["AnomalyDetectorState"]
    [failure] = state["recentBrokerFailures"]
    assert failure["failedBrokersByTimeMs"] == {"3": 1_000_000}
