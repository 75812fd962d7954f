"""Two-step verification: a request that changes something waits until a second person has approved it."""

import json
from typing import Any

import pytest

from controller.messages.held_events import DecideHeld, Hold, SubmitHeld
from server.cruisecontrol.shared.access import ClientRole, User
from server.cruisecontrol.table import ENDPOINTS
from tests.builders import InMemoryController
from tests.server.api.proposal_client import answer
from tests.server.cruisecontrol.client import BROKERS, CruiseControlClient

ANN, BOB = ("ann", "x"), ("bob", "x")
RUN = "rebalance?dryrun=false&verbose=true"
ROW = {"Id", "SubmitterAddress", "SubmissionTimeMs", "Status", "EndpointWithParams", "Reason"}


def client_of(controller: InMemoryController | None = None) -> CruiseControlClient:
    users = [User(name, b"x", ClientRole.ADMIN) for name in ("ann", "bob")]
    return CruiseControlClient(controller, users, two_step=True)


@pytest.fixture
def client() -> CruiseControlClient:
    return client_of()


async def rows(client: CruiseControlClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.ok("GET", "review_board", auth=BOB))["RequestInfo"]
    return found


async def approve(client: CruiseControlClient, path: str = RUN) -> None:
    """Send a request of Ann, which Bob approves."""
    await client.ok("POST", path, auth=ANN)
    await client.ok("POST", "review?approve=1", auth=BOB)


def moved(client: CruiseControlClient) -> dict[str, tuple[int, ...]]:
    return {str(key): each.target for key, each in client.controller.state.orders.reassignments.items()}


async def test_an_execution_waits_until_somebody_else_approves_it(client: CruiseControlClient) -> None:
    [held] = (await client.ok("POST", RUN, auth=ANN))["RequestInfo"]
    assert held.keys() == ROW
    assert (held["Id"], held["Status"]) == (1, "PENDING_REVIEW")
    assert held["EndpointWithParams"] == "REBALANCE?dryrun=false&verbose=true"
    [row] = (await client.ok("POST", "review?approve=1&reason=fine", auth=BOB))["RequestInfo"]
    assert (row["Status"], row["Reason"], moved(client)) == ("APPROVED", "fine (User:bob)", {})
    result = await client.ok("POST", "rebalance?review_id=1", auth=ANN)
    assert [each["newReplicas"] for each in result["proposals"]] == [[4, 2, 3]]
    assert (moved(client), (await rows(client))[0]["Status"]) == ({"foo-0": (4, 2, 3)}, "SUBMITTED")


async def test_what_is_approved_is_the_plan_that_was_shown_also_after_a_restart(
    client: CruiseControlClient,
) -> None:
    await client.ok("POST", "rebalance", auth=ANN)
    await approve(client)
    again = client_of(client.controller.restart())
    again.answer = answer({"brokers": BROKERS}, foo_1=([1, 2, 3], [5, 2, 3]))
    await again.ok("POST", "rebalance?review_id=1", auth=ANN)
    assert moved(again) == {"foo-0": (4, 2, 3)}


async def test_the_reason_of_an_approved_request_is_told_while_it_is_executed(
    client: CruiseControlClient,
) -> None:
    await approve(client, f"{RUN}&Reason=new%20racks")
    await client.ok("POST", "rebalance?review_id=1", auth=ANN)
    executor = (await client.ok("GET", "state?substates=executor", auth=BOB))["ExecutorState"]
    assert executor["triggeredTaskReason"].startswith("new racks (Client: ")


async def test_the_body_of_a_request_is_held_and_shown_too(client: CruiseControlClient) -> None:
    body = {"replication_factor": {"topic_by_replication_factor": {"2": "foo"}}}
    await client.ok("POST", "topic_configuration?dryrun=false", auth=ANN, content=json.dumps(body))
    [row] = await rows(client)
    assert row["EndpointWithParams"] == f"TOPIC_CONFIGURATION?dryrun=false {json.dumps(body)}"
    await client.ok("POST", "review?approve=1", auth=BOB)
    await client.ok("POST", "topic_configuration?review_id=1", auth=ANN)
    assert client.inputs_options()["goals"] == ["rf", "2:foo"]


async def test_limits_wait_too(client: CruiseControlClient) -> None:
    path = "admin?concurrent_leader_movements=7"
    await client.ok("POST", path, auth=ANN)
    assert client.controller.state.backlog.usage.limits.leaders != 7
    await client.ok("POST", "review?approve=1", auth=BOB)
    await client.ok("POST", "admin?review_id=1", auth=ANN)
    assert client.controller.state.backlog.usage.limits.leaders == 7


@pytest.mark.parametrize(
    ("user", "path", "part"),
    [
        (ANN, "review?approve=1", "Nothing is decided: request 1 is of User:ann: somebody else"),
        (BOB, "review?approve=1,2", "there is no request 2"),
        (BOB, "review", "Name requests to approve or to discard."),
        (ANN, "rebalance?review_id=1", "review_id: request 1 is PENDING_REVIEW."),
        (BOB, "rebalance?review_id=1", "review_id: there is no request 1 of User:bob."),
        (ANN, "add_broker?brokerid=5&review_id=1", "request 1 is one to /rebalance."),
        (ANN, "pause_sampling?review_id=1", "reviews are not offered"),
    ],
)
async def test_what_is_not_approved_is_refused(
    client: CruiseControlClient, user: tuple[str, str], path: str, part: str
) -> None:
    await client.ok("POST", RUN, auth=ANN)
    if path.startswith("add_broker"):
        await client.ok("POST", "review?approve=1", auth=BOB)
    status, text = await client.error("POST", path, auth=user)
    assert (status, part in text, moved(client)) == (400, True, {}), text


async def test_an_approval_counts_once(client: CruiseControlClient) -> None:
    await approve(client)
    await client.ok("POST", "rebalance?review_id=1", auth=ANN)
    await client.ok("POST", "stop_proposal_execution", auth=ANN)
    assert (await client.error("POST", "rebalance?review_id=1", auth=ANN))[0] == 400
    assert moved(client) == {}


async def test_a_client_that_polls_its_approved_request_starts_one_task(client: CruiseControlClient) -> None:
    await approve(client)
    client.never_wait()
    polls = [await client.send("POST", "rebalance?review_id=1", auth=ANN) for _ in range(3)]
    assert {each.status_code for each in polls} == {202}
    [running] = client.served._serving().tasks.active()
    client.hold.set()
    await running.work
    assert (await client.send("POST", "rebalance?review_id=1", auth=ANN)).status_code == 200


async def test_an_approval_is_not_used_up_where_no_task_can_start(client: CruiseControlClient) -> None:
    await approve(client)
    client.never_wait()
    for number in range(1, 6):
        await client.send("POST", f"rebalance?destination_broker_ids={number}", auth=ANN)
    assert (await client.error("POST", "rebalance?review_id=1", auth=ANN))[0] == 500
    assert (await rows(client))[0]["Status"] == "APPROVED"


async def test_dry_runs_and_a_stop_do_not_wait(client: CruiseControlClient) -> None:
    for path in ("rebalance", "remove_broker?brokerid=1&dryrun=true", "stop_proposal_execution"):
        assert "RequestInfo" not in await client.ok("POST", path, auth=ANN)
    assert await rows(client) == []


async def test_the_board_lists_what_is_asked_for(client: CruiseControlClient) -> None:
    for _ in range(3):
        await client.ok("POST", RUN, auth=ANN)
    await client.ok("POST", "review?discard=2&reason=no", auth=ANN)
    board = await client.ok("GET", "review_board?review_ids=2,3,9", auth=BOB)
    assert [(row["Id"], row["Status"]) for row in board["RequestInfo"]] == [
        (2, "DISCARDED"),
        (3, "PENDING_REVIEW"),
    ]


def test_all_that_plans_and_limits_are_held() -> None:
    planning = {each.name for each in ENDPOINTS if each.method == "POST" and each.work is not None}
    assert {each.name for each in ENDPOINTS if each.held} == planning | {"admin"}


async def test_decisions_name_who_asks_for_the_audit_log(client: CruiseControlClient) -> None:
    await approve(client)
    await client.ok("POST", "rebalance?review_id=1", auth=ANN)
    asked = [each for each in client.driver.events if isinstance(each, Hold | DecideHeld | SubmitHeld)]
    assert [each.requester.principal for each in asked] == ["User:ann", "User:bob", "User:ann"]
    assert all((each.requester.client_id or "").startswith("cruise-control ") for each in asked)
