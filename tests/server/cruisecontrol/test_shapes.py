"""Every answer of every endpoint has the shape that its clients read, whatever the cluster looks like."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from common.json.models import fields_of, without_null
from controller.state.cluster import Disk
from server.cruisecontrol.shared.call import Endpoint
from server.cruisecontrol.table import ENDPOINTS
from tests.builders import InMemoryController, partition
from tests.server.cruisecontrol.client import CruiseControlClient
from tests.server.cruisecontrol.schemas import SHAPES, USER_TASKS_WITH_ANSWERS, check
from tests.server.cruisecontrol.test_reads import Load

NEEDED = {
    "add_broker": "brokerid=4",
    "remove_broker": "brokerid=3",
    "remove_disks": "brokerid_and_logdirs=1-/a",
    "demote_broker": "brokerid=1",
    "topic_configuration": "topic=foo&replication_factor=3",
}
"""What the endpoints cannot do without."""

VALUES = {
    "brokerid": "1,2", "destination_broker_ids": "4,5", "goals": "RackAwareGoal,ReplicaDistributionGoal",
    "substates": "executor,monitor", "resource": "nw_in", "partition": "0-1", "topic": "foo",
    "execution_progress_check_interval_ms": "5000", "drop_recently_removed_brokers": "1",
    "replica_movement_strategies": "PostponeUrpReplicaMovementStrategy", "brokerid_and_logdirs": "1-/a",
    "disable_self_healing_for": "GOAL_VIOLATION", "disable_concurrency_adjuster_for": "LEADERSHIP",
}  # fmt: skip
"""A valid value of parameters that do not take every one of their type."""


def value_of(name: str, kind: inspect.Type) -> str:
    if name in VALUES:
        return VALUES[name]
    match without_null(kind):
        case inspect.BoolType():
            return "true"
        case inspect.IntType() | inspect.FloatType() | inspect.ListType(item_type=inspect.IntType()):
            return "3"
        case _:
            return "x"


def parameters(endpoint: Endpoint) -> dict[str, str]:
    known = fields_of(inspect.type_info(endpoint.parameters))
    return {name: value_of(name, kind) for name, kind in known.items()}


ROWS = [(endpoint, name) for endpoint in ENDPOINTS for name in parameters(endpoint)]


@pytest.mark.parametrize(("endpoint", "name"), ROWS, ids=lambda row: getattr(row, "name", row))
async def test_each_parameter_is_answered_or_refused_with_a_reason(endpoint: Endpoint, name: str) -> None:
    """A refused one says so; all others are answered as without it."""
    client = CruiseControlClient()
    client.serve(load=Load())
    needed = [each for each in NEEDED.get(endpoint.name, "").split("&") if each]
    query = [each for each in needed if each.partition("=")[0] != name]
    query.append(f"{name}={parameters(endpoint)[name]}")
    answer = await client.send(endpoint.method, f"{endpoint.name}?{'&'.join(query)}")
    if answer.status_code == 200:
        check(f"{endpoint.method} {endpoint.name}", 200, answer.text)
    else:
        text = check(endpoint.name, answer.status_code, answer.text)["errorMessage"]
        assert "Error: " not in text
        refusals = (
            "not offered",
            "reassignd ",
            "not reviewed",
            "throttle",
            "brokerid is missing",
            "NotEnough",
        )
        assert any(part in text for part in (*refusals, "cannot be judged")), text


def test_every_endpoint_has_a_shape_or_is_refused() -> None:
    refused = {"POST review", "POST rightsize"}
    assert SHAPES.keys() | refused == {f"{each.method} {each.name}" for each in ENDPOINTS}


REPLICAS = st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True)
CLUSTERS = st.lists(REPLICAS, min_size=1, max_size=12)
BROKERS = st.sets(st.integers(1, 6), max_size=4)


@settings(deadline=None)
@given(CLUSTERS, BROKERS, st.sampled_from([None, Load]), st.integers(-1, 2**50))
def test_every_answer_has_the_shape_that_clients_read(
    replicas: Sequence[list[int]], stopped: set[int], load: type[Load] | None, disk: int
) -> None:
    asyncio.run(_check_all(replicas, stopped, load, disk))


async def _check_all(
    replicas: Sequence[list[int]], stopped: set[int], load: type[Load] | None, disk: int
) -> None:
    rows = [partition(f"foo-{number}", brokers) for number, brokers in enumerate(replicas)]
    controller = InMemoryController().with_partitions(*rows)
    for broker in sorted(stopped):
        controller.stop(broker)
    controller.state.cluster.measure({}, {1: [Disk("/a", disk, min(disk, 0), 0)]}, {})
    client = CruiseControlClient(controller)
    if load is not None:
        client.serve(load=load())
    for path in ("kafka_cluster_state?verbose=true", "load?populate_disk_info=true", "user_tasks"):
        await _check(client, f"GET {path}")
    for request in SHAPES:
        _, name = request.split()
        if name not in ("pause_sampling", "resume_sampling"):
            await _check(client, f"{request}?{NEEDED.get(name, '')}".rstrip("?"))
    answer = await client.send("GET", "user_tasks?fetch_completed_task=true")
    USER_TASKS_WITH_ANSWERS(answer.json(), "user_tasks")


async def _check(client: CruiseControlClient, request: str) -> None:
    method, path = request.split()
    answer = await client.send(method, path)
    check(f"{method} {path.partition('?')[0]}", answer.status_code, answer.text)
