"""`/v1/queue`."""

from tests.server.api.api_client import ApiClient, plan, three_partitions


async def test_an_empty_queue() -> None:
    assert await ApiClient().get("/v1/queue") == {"total": 0, "entries": [], "next": None}


async def test_entries_are_listed_in_pages_until_they_start() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    await client.post("/v1/jobs?queue=true", plan(foo_1=[4, 5, 6], foo_2=[4, 5, 6]))
    first = await client.get("/v1/queue?limit=1")
    assert (first["total"], first["next"], first["entries"][0]["partition"]) == (2, 1, 1)
    assert first["entries"][0]["reason"] == "limit P: 1 of 1 partition movements"
    second = await client.get("/v1/queue?limit=5&offset=1")
    assert (second["total"], second["next"], second["entries"][0]["partition"]) == (2, None, 2)
    client.controller.catch_up()
    assert (await client.get("/v1/queue"))["total"] == 1
    client.controller.settle()
    assert (await client.get("/v1/queue"))["total"] == 0
