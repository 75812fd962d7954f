"""Requests that move replicas between log directories: `remove_disks`, and `rebalance_disk`."""

import asyncio
import json
from typing import Any

import pytest

from controller.messages.disk_events import DisksSeen, SeenBroker, SeenDir, SeenLog
from controller.model.disks import MoveStage
from controller.modes import GATEWAY
from controller.state.cluster import Disk
from tests.builders import key
from tests.server.cruisecontrol.client import CruiseControlClient

GIB = 2**30
EMPTY = "remove_disks?brokerid_and_logdirs=1-/a"
RUN = "&dryrun=false"


def directory(path: str, before: int, after: int) -> dict[str, Any]:
    return {
        "broker": 1, "path": path, "total": 100 * GIB, "before": before * GIB, "after": after * GIB,
        "replicas_before": 1, "replicas_after": 1, "gains": 0, "losses": 0, "least": None, "most": None,
        "cordoned": False,
    }  # fmt: skip


FIGURES = {
    "moves": 1, "bytes": GIB, "bytes_bound": GIB, "fewest_bytes_proven": True,
    "dirs": [directory("/a", 90, 50), directory("/b", 10, 50)], "left_out": [], "left_out_replicas": 0,
    "short": [], "notes": ["a note"], "summary": ["moves 1 replica"],
}  # fmt: skip
PLAN = {"version": 1, "partitions": [{"topic": "foo", "partition": 0, "replicas": [1, 2, 3]}]}
MOVES = {
    "moves": [
        {"topic": "foo", "partition": 0, "broker": 1, "source": "/a", "target": "/b", "bytes": 100}
    ]
}  # fmt: skip


@pytest.fixture
def client() -> CruiseControlClient:
    """A cluster whose broker 1 has a full directory and an empty one."""
    client = CruiseControlClient()
    lines = [{"disks": FIGURES}, PLAN, PLAN, MOVES]
    client.answer = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
    client.sizes.log_dirs = {1: {"/a": ["foo-0", "foo-1", "foo-2"], "/b": []}}
    disks = [Disk("/a", 100 * GIB, 10 * GIB, 3), Disk("/b", 100 * GIB, 90 * GIB, 0)]
    others = [Disk("/a", 100 * GIB, 50 * GIB, 3)]
    by_broker = {broker: disks if broker == 1 else others for broker in range(1, 7)}
    client.controller.state.cluster.measure({}, by_broker, {})
    return client


def look(client: CruiseControlClient, path: str, copied: int | None = None) -> None:
    """Look at broker 1: the replica is in this directory, and has a copy in /b if `copied` is given."""
    disks, name = client.controller.state.disks, key("foo-0")
    futures = {} if copied is None else {name: SeenLog("/b", copied)}
    shown = SeenBroker({"/a": SeenDir(), "/b": SeenDir()}, {name: SeenLog(path, 100)}, futures)
    client.controller.do(DisksSeen({1: [each for each in disks.open if each.broker == 1]}, {1: shown}))


def goals(result: dict[str, Any]) -> dict[str, str]:
    return {each["goal"]: each["status"] for each in result["goalSummary"]}


async def test_directories_are_emptied_by_a_plan_of_their_own(client: CruiseControlClient) -> None:
    result = await client.checked("POST", f"{EMPTY},2-/b-c&excluded_topics=x.*")
    asked = client.inputs_options()
    assert (asked["goals"], asked["options"]["empty"]) == (["disks"], [[1, "/a"], [2, "/b-c"]])
    assert asked["options"]["exclude_topics"] == "x.*"
    summary = result["summary"]
    assert (summary["numIntraBrokerReplicaMovements"], summary["intraBrokerDataToMoveMB"]) == (1, 1024)
    assert (summary["numReplicaMovements"], summary["dataToMoveMB"]) == (0, 0)
    assert goals(result) == {"IntraBrokerDiskCapacityGoal": "FIXED"}
    assert summary["provisionRecommendation"] == "a note"


async def test_a_directory_that_is_empty_already_gets_nothing_new(client: CruiseControlClient) -> None:
    lines = [{"disks": FIGURES | {"moves": 0, "bytes": 0}}, PLAN, PLAN, {"moves": []}]
    client.answer = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
    client.controller.state.mode, client.sizes.cordoned = GATEWAY, {"/a"}
    await client.ok("POST", f"{EMPTY}{RUN}")
    assert client.controller.state.settings.excluded_dirs == {1: ["/a"]}
    assert not client.controller.state.disks.moves


async def test_directories_are_evened_out(client: CruiseControlClient) -> None:
    result = await client.checked("POST", "rebalance?rebalance_disk=true")
    assert client.inputs_options()["goals"] == ["disks"]
    assert goals(result) == {
        "IntraBrokerDiskCapacityGoal": "FIXED",
        "IntraBrokerDiskUsageDistributionGoal": "FIXED",
    }


async def test_proposals_even_out_directories_too(client: CruiseControlClient) -> None:
    result = await client.checked("GET", "proposals?rebalance_disk=true&verbose=true")
    assert result["summary"]["numIntraBrokerReplicaMovements"] == 1
    [proposal] = result["proposals"]
    assert proposal["oldReplicas"] == proposal["newReplicas"] == [1, 2, 3]


async def test_what_was_approved_is_executed_and_told_by_the_executor(client: CruiseControlClient) -> None:
    await client.ok("POST", EMPTY)
    fields = "&concurrent_intra_broker_partition_movements=2&replication_throttle=9&reason=why"
    executed = await client.ok("POST", f"{EMPTY}{RUN}{fields}")
    assert "executes proposal" in executed["summary"]["provisionRecommendation"]
    job = client.controller.state.orders.jobs[1]
    assert (job.limits.per_broker, job.throttle, len(client.inputs)) == (2, 9, 1)
    look(client, "/a")
    look(client, "/a", copied=40)
    executor = (await client.checked("GET", "state"))["ExecutorState"]
    assert executor["state"] == "INTRA_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS"
    assert executor["numInProgressIntraBrokerPartitionMovements"] == 1
    assert executor["triggeredTaskReason"].startswith("why (Client: ")
    look(client, "/b")
    [newest, *_] = await client.tasks()
    assert (await client.ok("GET", "state"))["ExecutorState"]["state"] == "NO_TASK_IN_PROGRESS"
    assert newest["Status"] == "Completed"


async def test_a_plan_whose_replicas_have_moved_is_made_again(client: CruiseControlClient) -> None:
    await client.ok("POST", EMPTY)
    client.sizes.log_dirs = {1: {"/a": [], "/b": [], "/c": ["foo-0"]}}
    status, text = await client.error("POST", f"{EMPTY}{RUN}")
    assert (status, len(client.inputs)) == (500, 2), "a second plan, which does not fit either"
    assert "foo-0 on broker 1 is in /c, not in /a" in text


async def test_a_stop_takes_back_what_moves(client: CruiseControlClient) -> None:
    await client.ok("POST", f"{EMPTY}{RUN}")
    look(client, "/a")
    stop = asyncio.create_task(client.ok("POST", "stop_proposal_execution"))
    while not stop.done():
        await asyncio.sleep(0.01)
        look(client, "/a")
    [move] = client.controller.state.disks.moves[1].values()
    assert move.stage is MoveStage.ROLLED_BACK


@pytest.mark.parametrize(
    ("request_line", "status", "text"),
    [
        ("remove_disks", 400, "brokerid_and_logdirs"),
        ("remove_disks?brokerid_and_logdirs=/a", 400, "'/a', expected BROKER-PATH."),
        ("remove_disks?brokerid_and_logdirs=9-/a", 500, "Broker [9] does not exist"),
        ("rebalance?rebalance_disk=true&goals=RackAwareGoal", 400, "not RackAwareGoal."),
        ("rebalance?rebalance_disk=true&destination_broker_ids=1", 400, "no destination_broker_ids."),
    ],
)
async def test_what_cannot_be_is_refused(
    client: CruiseControlClient, request_line: str, status: int, text: str
) -> None:
    found, message = await client.error("POST", request_line)
    assert (found, text in message) == (status, True), message
