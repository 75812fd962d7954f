"""`/v1/pace`, and pace in `/v1/status` and `/v1/limits`."""

from typing import Any

import pytest

from controller.pace.effort import START
from controller.pace.readings import PaceMeasured, Probe, Source
from tests.server.api.api_client import ApiClient


async def paced() -> ApiClient:
    client = ApiClient()
    status, _ = await client.ask("PUT", "/v1/limits", {"pace": "auto"})
    assert status == 200
    return client


def measure(client: ApiClient, *, problem: str = "") -> None:
    for at in range(10):
        reading = PaceMeasured(at, Source.CANARY, [Probe(1, (), [4.0] * 5)], problem=problem)
        client.controller.do(reading)


async def test_pace_is_off_by_default() -> None:
    answer = await ApiClient().get("/v1/pace")
    assert answer["now"]["mode"] == "off"
    assert answer["samples"] == []


async def test_it_shows_latency_target_and_reason_by_broker() -> None:
    client = await paced()
    measure(client, problem="the canary topic is refused")
    now = (await client.get("/v1/pace"))["now"]
    assert (now["mode"], now["target"], now["source"]) == (
        "auto",
        "1.5 times the idle latency",
        "canary produces",
    )
    assert now["problem"] == "the canary topic is refused"
    row = now["brokers"][0]
    assert (row["id"], row["latency_ms"], row["target_ms"], row["effort"]) == (1, 4.0, 6.0, START)
    assert row["reason"]
    assert (await client.get("/v1/status"))["pace"] == now


async def test_samples_have_a_value_for_each_broker() -> None:
    client = await paced()
    measure(client)
    [first, *_] = (await client.get("/v1/pace"))["samples"]
    assert len(first["latencies_ms"]) == len(first["brokers"]) == len(first["efforts"]) == 6
    assert (await client.get(f"/v1/pace?since={first['time_ms']}"))["samples"] == []


async def test_the_target_is_changed_as_a_limit() -> None:
    client = await paced()
    assert (await client.get("/v1/limits"))["pace"] == "1.5 times the idle latency"
    status, answer = await client.ask("PUT", "/v1/limits", {"pace.ms": 12.5})
    assert (status, answer["pace"]) == (200, "12.5 ms")
    status, answer = await client.ask("PUT", "/v1/limits", {"pace": None})
    assert (status, answer["pace"]) == (200, None)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"pace": "fast"}, "pace is fast: it must be one of auto, off"),
        ({"pace": 1}, "pace is 1: it must be one of auto, off"),
        ({"pace.ms": "10"}, "pace.ms is 10: it must be a number"),
        ({"pace.ms": -1}, "pace.ms is -1: it must be a number from 0 to 600000"),
        ({"pace.factor": 1}, "pace.factor is 1: it must be a number from 1.05 to 100"),
        ({"reassignment.pace.topic": "a b"}, "it must be a topic name"),
    ],
)
async def test_other_values_are_refused(changes: Any, text: str) -> None:
    status, answer = await ApiClient().ask("PUT", "/v1/limits", changes)
    assert status == 400
    assert text in answer["error"]
