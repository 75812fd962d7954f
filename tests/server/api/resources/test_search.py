"""`/v1/search`."""

import pytest

from tests.builders import partition
from tests.server.api.api_client import MOVE, ApiClient, three_partitions


async def hits(client: ApiClient, query: str) -> list[tuple[str, str, str]]:
    found = (await client.get(f"/v1/search?{query}"))["hits"]
    return [(hit["kind"], hit["name"], hit["match"]) for hit in found]


async def searched() -> ApiClient:
    names = ("foobar-0", "Food-0", "a-foo-0", "topic3-0")
    client = ApiClient(three_partitions().with_partitions(*(partition(name, [1]) for name in names)))
    for _ in range(3):
        await client.post("/v1/jobs", MOVE)
    return client


async def test_exact_hits_come_first_then_prefixes_then_the_rest() -> None:
    assert await hits(await searched(), "q=foo") == [
        ("topic", "foo", "exact"),
        ("topic", "Food", "prefix"),
        ("topic", "foobar", "prefix"),
        ("topic", "a-foo", "contains"),
    ]


async def test_a_number_names_a_broker_and_a_job() -> None:
    found = await hits(await searched(), "q=1")
    assert found[:2] == [("broker", "1", "exact"), ("job", "1", "exact")]


async def test_a_broker_is_found_by_its_rack_and_host() -> None:
    client = await searched()
    assert await hits(client, "q=rack-2") == [("broker", "2", "prefix"), ("broker", "5", "prefix")]
    assert len(await hits(client, "q=localhost")) == 6


async def test_a_job_is_found_by_its_number_and_principal() -> None:
    client = await searched()
    assert await hits(client, "q=job 1") == [("job", "1", "exact")]
    assert ("job", "1", "contains") in await hits(client, "q=LOCAL:")


async def test_a_partition_is_found_by_its_name() -> None:
    client = await searched()
    assert await hits(client, "q=a-foo-0") == [("partition", "a-foo-0", "exact")]
    assert await hits(client, "q=a-foo-7") == []


async def test_a_hit_says_what_it_is() -> None:
    client = await searched()
    client.controller.stop(2)
    found = (await client.get("/v1/search?q=2"))["hits"]
    assert found[0]["text"] == "offline, localhost, rack rack-2"
    assert (await client.get("/v1/search?q=a-foo"))["hits"][0]["text"] == "1 partition"


async def test_hits_are_bounded() -> None:
    client = await searched()
    answer = await client.get("/v1/search?q=foo&limit=2")
    assert ([hit["name"] for hit in answer["hits"]], answer["more"]) == (["foo", "Food"], True)
    assert (await client.get("/v1/search?q=foo&limit=4"))["more"] is False


@pytest.mark.parametrize("query", ["", "q=", "q=%20"])
async def test_an_empty_query_is_refused(query: str) -> None:
    status, text = await ApiClient().refusal("GET", f"/v1/search?{query}")
    assert (status, text) == (
        400,
        "parameter 'q' is empty, expected a part of the name of a topic, broker or job",
    )


async def test_a_long_query_is_refused() -> None:
    status, text = await ApiClient().refusal("GET", f"/v1/search?q={'x' * 250}")
    assert status == 400
    assert "expected a text of 1 to 249 characters" in text
