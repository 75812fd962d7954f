"""The partitions of a job: filters, order and pages."""

from typing import Any

import pytest

from tests.builders import InMemoryController, partition
from tests.server.api.api_client import ApiClient, plan


async def job(**limits: int) -> ApiClient:
    """Four partitions: foo-0 to foo-2 of 100 to 102 bytes, and 9-0, whose topic is named by a number."""
    names = ("foo-0", "foo-1", "foo-2", "9-0")
    cluster = InMemoryController().with_partitions(*(partition(name, [1, 2, 3]) for name in names))
    client = ApiClient(cluster.with_limits(**limits))
    await client.post("/v1/jobs", plan(foo_0=[4, 2, 3], foo_1=[4, 5, 3], foo_2=[6, 2, 3]))
    await client.post("/v1/jobs", {"partitions": [{"topic": "9", "partition": 0, "replicas": [4, 2, 3]}]})
    return client


async def names(client: ApiClient, query: str, number: int = 1) -> list[str]:
    answer = await client.get(f"/v1/jobs/{number}?{query}")
    assert answer["matching"] >= len(answer["partitions"])
    return [f"{row['topic']}-{row['partition']}" for row in answer["partitions"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=moving", ["foo-0"]),
        ("state=queued", ["foo-1", "foo-2"]),
        ("state=done", []),
        ("topic=fo", ["foo-0", "foo-1", "foo-2"]),
        ("topic=bar", []),
        ("broker=4", ["foo-0", "foo-1"]),
        ("broker=6&state=queued", ["foo-2"]),
        ("broker=1", ["foo-0", "foo-1", "foo-2"]),
    ],
)
async def test_partitions_are_selected(query: str, found: list[str]) -> None:
    client = await job(partitions=1)
    assert await names(client, query) == found
    assert (await client.get(f"/v1/jobs/1?{query}&limit=0"))["matching"] == len(found)


async def test_a_topic_may_be_named_by_a_number() -> None:
    assert await names(await job(), "topic=9", 2) == ["9-0"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("sort=partition&descending=true", ["foo-2", "foo-1", "foo-0"]),
        ("sort=state&descending=true", ["foo-2", "foo-1", "foo-0"]),
        ("sort=bytes", ["foo-0", "foo-2", "foo-1"]),
        ("descending=true", ["foo-2", "foo-1", "foo-0"]),
    ],
)
async def test_partitions_are_sorted(query: str, found: list[str]) -> None:
    assert await names(await job(partitions=1), query) == found


async def test_sorted_partitions_are_listed_in_pages() -> None:
    client = await job()
    assert await names(client, "sort=bytes&limit=2&offset=1") == ["foo-2", "foo-1"]
    first = await client.get("/v1/jobs/1?sort=bytes&limit=2")
    assert (first["matching"], first["next"]) == (3, 2)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("state=gone", 'parameter \'state\' is "gone", expected "moving" or "waiting" or'),
        ("sort=size", 'parameter \'sort\' is "size", expected "progress" or "partition" or'),
        ("broker=x", "parameter 'broker' is \"x\", expected a number"),
    ],
)
async def test_an_invalid_filter_is_named(query: str, text: str) -> None:
    status, said = await (await job()).refusal("GET", f"/v1/jobs/1?{query}")
    assert (status, said[: len(text)]) == (400, text)


async def row(client: ApiClient, name: str) -> dict[str, Any]:
    rows = (await client.get("/v1/jobs/1"))["partitions"]
    [found] = [row for row in rows if f"{row['topic']}-{row['partition']}" == name]
    return dict(found)


async def test_partitions_show_their_bytes_and_the_source_broker() -> None:
    client = await job(partitions=1)
    client.sizes.received_bytes = {("foo-0", 4): 30}
    moving, queued = await row(client, "foo-0"), await row(client, "foo-1")
    assert (moving["bytes"], moving["copied"], moving["leader"]) == (100, 30, 1)
    assert (queued["bytes"], queued["copied"]) == (202, 0)
    client.controller.settle()
    done = await row(client, "foo-1")
    assert (done["bytes"], done["copied"], done["leader"]) == (202, 202, 4)


async def test_bytes_are_null_when_sizes_are_not_known() -> None:
    client = ApiClient(InMemoryController().with_partitions(partition("unknown-0", [1])))
    await client.post("/v1/jobs", {"partitions": [{"topic": "unknown", "partition": 0, "replicas": [2]}]})
    assert [(await row(client, "unknown-0"))[name] for name in ("bytes", "copied")] == [None, None]
