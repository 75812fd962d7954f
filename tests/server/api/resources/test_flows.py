"""`/v1/flows`. Partition n has 100 + n bytes."""

from collections import Counter
from typing import Any

import pytest

from controller.model.cluster import Broker
from server.api.resources.flows import LARGE_CLUSTER, MOST_FLOWS
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient, plan


async def flows(client: ApiClient, query: str = "") -> Any:
    await client.progress.measure()
    return await client.get(f"/v1/flows{query}")


def pairs(answer: Any) -> list[tuple[Any, Any, int]]:
    return [(each["source"], each["target"], each["bytes"]) for each in answer["flows"]]


async def test_there_are_none_while_nothing_is_to_be_copied() -> None:
    answer = await flows(ApiClient())
    del answer["measured_ms"]
    assert answer == {
        "by": "broker", "bytes": 0, "flows": [], "other_flows": 0, "other_bytes": 0,
    }  # fmt: skip


async def test_they_say_when_sizes_were_measured() -> None:
    client = ApiClient()
    assert (await client.get("/v1/flows"))["measured_ms"] is None
    first = (await flows(client))["measured_ms"]
    client.sizes.measured = lambda: 0.0
    await client.clock.advance(60)
    assert (await flows(client))["measured_ms"] == first


async def test_they_lead_from_the_leader_to_each_new_replica() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.sizes.received_bytes = {("foo-0", 4): 30}
    answer = await flows(client)
    assert (answer["by"], answer["bytes"]) == ("broker", 573)
    assert pairs(answer) == [(1, 5, 201), (1, 6, 201), (1, 4, 171)]


async def test_a_rollback_that_comes_first_is_followed_by_the_queued_move() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 2, 3]))
    await client.post("/v1/jobs?queue=true", plan(foo_0=[1, 2, 6]))
    assert (1, 6, 100) in pairs(await flows(client))


async def test_those_of_one_job_and_of_one_broker_can_be_chosen() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 2, 3]))
    await client.post("/v1/jobs", plan(foo_1=[1, 2, 5]))
    assert pairs(await flows(client, "?job=2")) == [(1, 5, 101)]
    assert pairs(await flows(client, "?broker=4")) == [(1, 4, 100)]
    assert pairs(await flows(client, "?job=9")) == []


async def test_large_clusters_are_shown_by_rack() -> None:
    cluster = InMemoryController(range(1, LARGE_CLUSTER + 2)).with_partitions(partition("foo-0", [1, 2, 3]))
    broker = cluster.state.cluster.brokers[1]
    cluster.put(Broker(*broker[:3], "a", broker.epoch), Broker(9, *broker[1:3], None, broker.epoch))
    client = ApiClient(cluster)
    await client.post("/v1/jobs", plan(foo_0=[9, 2, 3]))
    answer = await flows(client)
    assert (answer["by"], pairs(answer)) == ("rack", [("a", None, 100)])
    assert pairs(await flows(client, "?by=broker")) == [(1, 9, 100)]
    assert pairs(await flows(client, "?broker=9")) == [(1, 9, 100)]


async def test_the_largest_are_listed_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = range(MOST_FLOWS + 2)
    client = ApiClient(InMemoryController(brokers).with_partitions(partition("foo-0", [0, 1])))
    found = Counter({(0, each): each for each in brokers if each})
    monkeypatch.setattr(client.progress, "flows", lambda _: found)
    answer = await client.get("/v1/flows?by=broker")
    assert len(answer["flows"]) == MOST_FLOWS
    assert pairs(answer)[0] == (0, MOST_FLOWS + 1, MOST_FLOWS + 1)
    assert (answer["other_flows"], answer["other_bytes"]) == (1, 1)


async def test_a_wrong_unit_is_named() -> None:
    assert (await ApiClient().refusal("GET", "/v1/flows?by=host"))[0] == 400
