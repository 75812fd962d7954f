"""Conventions of Cruise Control's API: names, headers, sessions, user tasks, errors, users."""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from controller.model.tasks import CLIENT_ID
from server.api.other_instances import HEADER
from server.api.shared.errors import HttpError
from server.api.shared.roles import Identity, Role
from server.cruisecontrol import table
from server.cruisecontrol.shared.access import ClientRole, User
from server.cruisecontrol.shared.answers import TASK_ID, encode
from server.cruisecontrol.shared.tasks import TOO_LARGE, packed, unpacked
from tests.server.cruisecontrol.client import CruiseControlClient

USERS = [
    User("op", b"secret", ClientRole.ADMIN),
    User("eye", b"see", ClientRole.USER),
    User("guest", b"hi", ClientRole.VIEWER),
]


@pytest.fixture
def client() -> CruiseControlClient:
    return CruiseControlClient()


@pytest.fixture
def impatient(client: CruiseControlClient) -> CruiseControlClient:
    """Computations wait, and no request waits for them."""
    client.never_wait()
    return client


async def test_every_answer_has_the_headers_of_cruise_control(client: CruiseControlClient) -> None:
    for path in ("state", "nothing", "state?x=1"):
        headers = (await client.send("GET", path)).headers
        assert headers["cruise-control-version"] == "2.5.146-reassignd-1.2.3"
        assert headers["content-type"] == "application/json; charset=utf-8"
        assert len(headers[TASK_ID]) == 36


async def test_names_and_truth_values_have_no_case(client: CruiseControlClient) -> None:
    await client.ok("POST", "ReBalance?DryRun=TRUE&JSON=True&Verbose=False")
    assert client.controller.state.orders.jobs == {}


@pytest.mark.parametrize(
    ("request_line", "status", "part"),
    [
        ("GET nothing", 404, "There is no endpoint 'nothing'; known: add_broker"),
        ("GET rebalance", 405, "/rebalance takes POST, not GET."),
        ("GET state?x=1", 400, "Unrecognized parameter 'x'; known here:"),
        ("GET state?json=maybe", 400, "json is true or false, not 'maybe'."),
        ("GET state?json=true&JSON=true", 400, "The parameter 'json' is given twice."),
        ("POST add_broker", 400, "`brokerid`"),
        ("POST add_broker?brokerid=1,b", 400, "brokerid takes integers, not 'b'."),
        (
            "POST add_broker?brokerid=77",
            500,
            "java.lang.IllegalArgumentException: Broker [77] does not exist.",
        ),
        ("POST rebalance?goals=NoGoal", 400, "There is no goal 'NoGoal'; known: RackAwareGoal"),
        ("POST rebalance?replica_movement_strategies=Fast", 400, "There is no strategy 'Fast'"),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(
    client: CruiseControlClient, request_line: str, status: int, part: str
) -> None:
    found, text = await client.error(*request_line.split())
    assert found == status, text
    assert part in text


async def test_a_starting_server_is_a_model_that_is_not_ready(client: CruiseControlClient) -> None:
    client.health.obstacle = "records are being loaded"
    status, text = await client.error("POST", "rebalance?dryrun=true")
    assert status == 500
    assert "NotEnoughValidWindowsException: records are being loaded" in text


async def test_a_request_that_takes_long_is_answered_with_its_progress(
    impatient: CruiseControlClient,
) -> None:
    answer = await impatient.send("POST", "rebalance?dryrun=true")
    assert answer.status_code == 202
    [operation] = answer.json()["progress"]
    assert operation["operation"] == "rebalance"
    assert operation["operationProgress"][0].keys() == {
        "step", "description", "completionPercentage", "time-in-ms"
    }  # fmt: skip
    [row] = await impatient.tasks()
    assert (row["UserTaskId"], row["Status"]) == (answer.headers[TASK_ID], "Active")
    assert row["RequestURL"] == "POST /kafkacruisecontrol/rebalance?dryrun=true"


async def test_the_same_request_in_a_session_finds_its_task(impatient: CruiseControlClient) -> None:
    """As cccli, which sends the request until the answer is no longer 202: one task, one job."""
    ids = {(await impatient.send("POST", "rebalance?dryrun=False")).headers[TASK_ID] for _ in range(5)}
    [running] = impatient.served._serving().tasks.active()
    impatient.hold.set()
    await running.work
    final = await impatient.send("POST", "rebalance?dryrun=False")
    assert (final.status_code, {final.headers[TASK_ID]}) == (200, ids)
    assert len(impatient.controller.state.orders.jobs) == 1


async def test_a_session_is_no_use_with_another_cookie_or_request(impatient: CruiseControlClient) -> None:
    first = await impatient.send("POST", "rebalance?dryrun=true")
    impatient.cruise_control.cookies.set("JSESSIONID", "x")
    other = await impatient.send("POST", "rebalance?dryrun=true")
    third = await impatient.send("POST", "rebalance?dryrun=true&verbose=true")
    assert len({each.headers[TASK_ID] for each in (first, other, third)}) == 3


async def test_the_header_finds_a_task_of_the_same_request_only(client: CruiseControlClient) -> None:
    first = await client.send("POST", "rebalance?dryrun=true")
    header = {TASK_ID: first.headers[TASK_ID]}
    again = await client.send("POST", "rebalance?dryrun=true", headers=header)
    assert (again.headers[TASK_ID], again.json()) == (first.headers[TASK_ID], first.json())
    status, text = await client.error("POST", "rebalance?dryrun=false", headers=header)
    assert status == 500
    assert "belongs to another request" in text
    assert (await client.error("POST", "rebalance", headers={TASK_ID: "x"}))[0] == 500


async def test_the_header_finds_no_task_of_another_client() -> None:
    client = CruiseControlClient(users=[*USERS, User("ann", b"x", ClientRole.ADMIN)])
    client.never_wait()
    running = await client.send("POST", "rebalance", auth=("op", "secret"))
    header = {TASK_ID: running.headers[TASK_ID]}
    status, text = await client.error("POST", "rebalance", headers=header, auth=("ann", "x"))
    assert (status, "There is no user task" in text) == (500, True)
    again = await client.send("POST", "rebalance", headers=header, auth=("op", "secret"))
    assert again.status_code == 202


async def test_a_viewer_sees_the_answers_to_its_own_requests_only() -> None:
    client = CruiseControlClient(users=USERS)
    await client.ok("POST", "rebalance?dryrun=true", auth=("op", "secret"))
    for user, sees in ((("op", "secret"), True), (("eye", "see"), True), (("guest", "hi"), False)):
        [row] = (await client.ok("GET", "user_tasks?fetch_completed_task=true", auth=user))["userTasks"]
        assert ("originalResponse" in row) is sees


async def test_no_cookie_is_sent_back_that_could_be_a_header(client: CruiseControlClient) -> None:
    answer = await client.send("POST", "rebalance", headers={"cookie": 'JSESSIONID="a\\012b"'})
    assert re.fullmatch("JSESSIONID=[0-9a-f]{32}; .*", answer.headers["set-cookie"])


async def test_the_sixth_active_task_is_refused(impatient: CruiseControlClient) -> None:
    for number in range(1, 6):
        await impatient.send("POST", f"add_broker?brokerid={number}")
    assert len(await impatient.tasks()) == 5
    status, text = await impatient.error("POST", "add_broker?brokerid=6")
    assert status == 500
    assert "There are already 5 active user tasks, which has reached the servlet capacity." in text


async def test_requests_that_only_read_leave_room_for_others(impatient: CruiseControlClient) -> None:
    for number in range(1, 4):
        await impatient.send("GET", f"proposals?ignore_proposal_cache=true&destination_broker_ids={number}")
    status, text = await impatient.error("GET", "proposals?destination_broker_ids=4")
    assert (status, "There are already 3 active user tasks" in text) == (500, True)
    assert (await impatient.send("POST", "rebalance")).status_code == 202


async def test_a_body_where_none_belongs_is_ignored(client: CruiseControlClient) -> None:
    await client.ok("POST", "rebalance?dryrun=true", content=b'{"withCredentials":true}')


@pytest.mark.parametrize(
    ("user", "requests", "statuses"),
    [
        (("op", "secret"), ["GET state", "GET user_tasks", "POST stop_proposal_execution"], [200, 200, 200]),
        (("eye", "see"), ["GET state", "GET user_tasks", "POST stop_proposal_execution"], [200, 200, 403]),
        (("guest", "hi"), ["GET state", "GET user_tasks", "POST stop_proposal_execution"], [403, 200, 403]),
        (("op", "wrong"), ["GET state"], [401]),
        (("nobody", "secret"), ["GET state"], [401]),
        (None, ["GET state"], [401]),
    ],
)
async def test_roles_of_users(user: Any, requests: list[str], statuses: list[int]) -> None:
    client = CruiseControlClient(users=USERS)
    answers = [await client.send(*each.split(), auth=user) for each in requests]
    assert [each.status_code for each in answers] == statuses
    if statuses == [401]:
        assert answers[0].headers["www-authenticate"] == 'Basic realm="reassignd"'


async def test_user_tasks_have_five_fields_and_a_sixth_on_demand(client: CruiseControlClient) -> None:
    answer = await client.send("POST", "rebalance?dryrun=true")
    [row] = await client.tasks()
    assert row.keys() == {"Status", "ClientIdentity", "RequestURL", "UserTaskId", "StartMs"}
    [fetched] = await client.tasks("fetch_completed_task=true")
    assert fetched["originalResponse"] == answer.text
    assert await client.tasks("types=Active") == []
    assert len(await client.tasks(f"user_task_ids={row['UserTaskId']}&endpoints=REBALANCE")) == 1


def test_a_large_result_is_kept_without_its_partitions() -> None:
    names = [sha256(str(number).encode()).hexdigest() for number in range(10_000)]
    body = encode({"summary": {"numReplicaMovements": 1}, "proposals": names, "version": 1})
    assert unpacked(packed(body)) == b'{"summary":{"numReplicaMovements":1},"version":1}'
    assert unpacked(packed(encode({"x": names}))) == TOO_LARGE


async def test_a_result_that_nobody_fetches_is_not_in_memory_for_ever(
    impatient: CruiseControlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await impatient.send("POST", "rebalance")
    tasks = impatient.served._serving().tasks
    running = tasks.find(first.headers[TASK_ID])
    assert running is not None
    impatient.hold.set()
    await running.work
    monkeypatch.setattr("server.cruisecontrol.shared.tasks.SESSION_SECONDS", -1.0)
    await impatient.send("POST", "rebalance?verbose=true")
    assert tasks.find(running.id) is None


async def test_a_task_lasts_until_its_job_has_ended(client: CruiseControlClient) -> None:
    answer = await client.send("POST", "rebalance?dryrun=false")
    [row] = await client.tasks()
    assert row["Status"] == "InExecution"
    [job] = client.controller.state.orders.jobs.values()
    assert job.client_id == CLIENT_ID + answer.headers[TASK_ID]
    client.controller.settle()
    [row] = await client.tasks()
    assert row["Status"] == "Completed"


def test_every_endpoint_has_one_handler() -> None:
    assert all((each.handle is None) != (each.work is None) for each in table.ENDPOINTS)


class Others:
    """Implements `OtherInstances`: signed requests are those of an operator."""

    def __init__(self, error: HttpError | None = None) -> None:
        self.error = error
        self.passed: list[Identity] = []

    def client_of(self, request: Request) -> Identity | None:
        return Identity("User:ann", Role.OPERATOR) if HEADER in request.headers else None

    async def may_answer(self) -> bool:
        return True

    async def answer(
        self, request: Request, identity: Identity, refusal: Callable[[], str] = str
    ) -> Response:
        self.passed.append(identity)
        if self.error is not None:
            raise self.error
        return Response(b"{}", 200)


async def test_a_standby_checks_the_role_and_passes_the_request_on() -> None:
    client, others = CruiseControlClient(users=USERS), Others()
    client.api.others, client.api.services = others, None
    answers = [await client.send("GET", "state", auth=each) for each in (("eye", "see"), ("guest", "hi"))]
    assert [each.status_code for each in answers] == [200, 403]
    assert others.passed == [Identity("User:eye", Role.VIEWER)]


async def test_the_active_instance_takes_the_client_from_the_standby() -> None:
    client = CruiseControlClient(users=USERS)
    client.api.others = Others()
    await client.ok("POST", "rebalance?dryrun=false", headers={HEADER: "signed"})
    [job] = client.controller.state.orders.jobs.values()
    assert job.principal == "User:ann"


async def test_a_viewer_of_a_standby_is_a_viewer_of_the_active_instance() -> None:
    client = CruiseControlClient(users=[User("ann", b"x", ClientRole.VIEWER)])
    client.api.others = Others()
    answer = await client.ok("GET", "permissions", headers={HEADER: "signed"})
    assert answer["roles"] == ["VIEWER"]


async def test_no_active_instance_is_a_model_that_is_not_ready() -> None:
    client = CruiseControlClient()
    client.api.others, client.api.services = Others(HttpError(503, "no instance is active")), None
    status, text = await client.error("GET", "state")
    assert status == 500
    assert "NotEnoughValidWindowsException: no instance is active" in text


def test_least_roles_are_those_of_cruise_control() -> None:
    lightest = {"kafka_cluster_state", "user_tasks", "review_board", "permissions"}
    starting = {"bootstrap", "train"}
    for each in table.ENDPOINTS:
        reads = each.method == "GET" and each.name not in starting
        role = ClientRole.VIEWER if each.name in lightest else ClientRole.USER if reads else ClientRole.ADMIN
        assert each.role is role, each.name
