"""`/v1/status`, `/v1/pause` and `/v1/resume`."""

from typing import Any

import pytest

from controller.model.configs import LEADER_RATE, Config, ResourceType
from server.api.shared.spark import Spark, SparkState
from tests.server.api.api_client import MOVE, ApiClient, three_partitions


async def test_an_idle_cluster() -> None:
    answer = await ApiClient().get("/v1/status")
    assert answer["brokers"] == {
        "registered": 6,
        "live": 6,
        "offline": [],
        "idle": [],
        "excluded": [],
        "hidden": [],
        "placed_by": "reassignd",
    }
    assert answer["partitions"] == {"total": 3, "offline": 0, "under_replicated": 0, "under_min_isr": 0}
    assert (answer["jobs"], answer["paused"], answer["spark"]["state"]) == ([], False, "off")


async def test_a_cluster_has_its_id_and_a_name() -> None:
    client = ApiClient()
    client.serve(cluster_name="prod")
    answer = await client.get("/v1/status")
    assert (answer["cluster_id"], answer["cluster_name"]) == ("cluster-1", "prod")


async def test_status_shows_reassignments_and_reasons() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs?throttle=5000", MOVE)
    answer = await client.get("/v1/status")
    assert answer["reassignments"] == {
        "ongoing": 2,
        "moving": 1,
        "stalled": 0,
        "waiting": 0,
        "queued": 1,
        "pending": 0,
        "others": 0,
        "directories": 0,
    }
    assert [job["id"] for job in answer["jobs"]] == [1]
    assert answer["reasons"] == [{"reason": "limit P: 1 of 1 partition movements", "partitions": 1}]
    assert answer["throttle"]["bytes_per_second"] == 5000
    assert answer["throttle"]["leases"] > 0


async def test_throttles_of_others_are_shown_by_rate() -> None:
    client = ApiClient()
    for broker, rate in ((4, "7"), (1, "9"), (3, "9")):
        client.controller.put(Config(ResourceType.BROKER, str(broker), LEADER_RATE, rate))
    await client.post("/v1/jobs?throttle=5000", MOVE)
    shown = (await client.get("/v1/status"))["throttle"]["set_by_others"]
    assert shown == [{"bytes_per_second": 7, "brokers": [4]}, {"bytes_per_second": 9, "brokers": [1, 3]}]


async def test_an_offline_broker_is_listed() -> None:
    client = ApiClient()
    client.controller.stop(2)
    answer = await client.get("/v1/status")
    assert (answer["brokers"]["offline"], answer["partitions"]["under_replicated"]) == ([2], 3)
    assert answer["health"]["problems"] == ["broker 2 is offline", "3 partitions under-replicated"]


async def test_partitions_without_a_leader_or_below_min_isr_are_problems() -> None:
    client = ApiClient()
    for broker in (1, 2, 3):
        client.controller.stop(broker)
    found = (await client.get("/v1/status"))["health"]["problems"]
    assert found[3:] == ["3 partitions offline", "3 partitions under-replicated"]


async def test_brokers_that_clients_do_not_see_are_problems() -> None:
    client = ApiClient()
    client.hidden_brokers.update(range(1, 7))
    answer = await client.get("/v1/status")
    assert answer["brokers"]["hidden"] == [1, 2, 3, 4, 5, 6]
    *named, total = answer["health"]["problems"]
    assert named == [f"clients do not see broker {n}: its port cannot be opened" for n in range(1, 6)]
    assert total == "clients do not see 6 brokers in total"


async def test_a_healthy_cluster_has_no_problems() -> None:
    healthy: dict[str, Any] = {"problems": [], "trouble": None, "holds": None, "unseen_since_ms": None}
    assert (await ApiClient().get("/v1/status"))["health"] == healthy


async def test_a_cluster_that_does_not_answer_shows_since_when() -> None:
    client = ApiClient()
    client.controller.state.gateway.unreachable = client.controller.state.gateway.health_problem = (
        "connection refused"
    )
    client.controller.state.gateway.unreachable_since_ms = 7
    health = (await client.get("/v1/status"))["health"]
    assert (health["trouble"], health["unseen_since_ms"]) == ("connection refused", 7)


@pytest.mark.parametrize("steps", [0, 1, None])
async def test_a_health_guard_shows_how_many_steps_it_allows(steps: int | None) -> None:
    client = ApiClient()
    client.controller.state.gateway.health_problem = "missing: broker 2"
    client.controller.state.backlog.hold(steps)
    health = (await client.get("/v1/status"))["health"]
    assert (health["trouble"], health["holds"]) == ("missing: broker 2", steps)


async def test_all_jobs_are_paused_and_resumed() -> None:
    client = ApiClient()
    assert await client.post("/v1/pause") == {"paused": True}
    await client.post("/v1/jobs", MOVE)
    assert (client.controller.in_flight(), (await client.get("/v1/status"))["paused"]) == ([], True)
    assert await client.post("/v1/resume") == {"paused": False}
    assert client.controller.in_flight() == ["foo-0", "foo-1"]


async def test_status_shows_the_spark_planner() -> None:
    client = ApiClient()
    view = Spark(SparkState.WORKING, min_partitions=10, job=3, partitions=20, since_ms=5)
    client.serve(spark=lambda: view)
    shown = (await client.get("/v1/status"))["spark"]
    assert shown == {
        "state": "working",
        "reason": "",
        "min_partitions": 10,
        "job": 3,
        "partitions": 20,
        "since_ms": 5,
        "forecast": None,
        "steps": {"same": 0, "differs": 0, "replanned": 0},
    }
