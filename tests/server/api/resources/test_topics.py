"""`/v1/topics` and `/v1/partitions`."""

from typing import Any

import pytest

from controller.model.cluster import Topic
from controller.model.replicas import StoredReplicas
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient, three_partitions


def topics() -> ApiClient:
    """Four topics: foo of three partitions on brokers 1 to 3, and others of one."""
    controller = three_partitions(partitions=1).with_partitions(
        partition("bar-0", [4]), partition("Foobar-0", [4, 5]), partition("unknown-0", [6, 5])
    )
    return ApiClient(controller)


async def names(client: ApiClient, query: str = "") -> list[str]:
    return [row["topic"] for row in (await client.get(f"/v1/topics?{query}"))["topics"]]


async def parts(client: ApiClient, query: str = "") -> list[str]:
    found = (await client.get(f"/v1/partitions?{query}"))["partitions"]
    return [f"{row['topic']}-{row['partition']}" for row in found]


async def test_a_topic_is_shown_in_numbers() -> None:
    [row] = [each for each in (await topics().get("/v1/topics"))["topics"] if each["topic"] == "foo"]
    assert (row["partitions"], row["least_replicas"], row["most_replicas"]) == (3, 3, 3)
    assert (row["bytes"], row["replica_bytes"], row["unsized"]) == (303, 909, 0)
    assert (row["moving"], row["under_replicated"], row["offline"], row["deleting"]) == (0, 0, 0, False)


async def test_a_topic_of_unknown_size_says_so() -> None:
    answer = await topics().get("/v1/topics?q=unknown")
    assert [(row["bytes"], row["unsized"]) for row in answer["topics"]] == [(0, 1)]


async def test_moving_and_unhealthy_partitions_are_counted() -> None:
    client = topics()
    await client.post("/v1/jobs", MOVE)
    client.controller.stop(4)
    found = {row["topic"]: row for row in (await client.get("/v1/topics"))["topics"]}
    assert (found["foo"]["moving"], found["foo"]["reassigning"]) == (1, 2)
    assert (found["foo"]["least_replicas"], found["foo"]["most_replicas"]) == (3, 3)
    assert (found["Foobar"]["under_replicated"], found["bar"]["offline"]) == (1, 1)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Foobar", "bar", "foo", "unknown"]),
        ("q=FOO", ["Foobar", "foo"]),
        ("q=nothing", []),
        ("sort=partitions&descending=true&limit=1", ["foo"]),
        ("sort=replicas", ["bar", "Foobar", "unknown", "foo"]),
        ("sort=bytes&descending=true&limit=2", ["foo", "Foobar"]),
        ("sort=topic&descending=true&limit=1&offset=1", ["foo"]),
        ("state=moving", []),
    ],
)
async def test_topics_are_selected_and_sorted(query: str, expected: list[str]) -> None:
    assert await names(topics(), query) == expected


@pytest.mark.parametrize(("state", "expected"), [("moving", ["foo"]), ("reassigning", ["foo"])])
async def test_topics_are_selected_by_what_moves(state: str, expected: list[str]) -> None:
    client = topics()
    await client.post("/v1/jobs", MOVE)
    assert await names(client, f"state={state}") == expected
    assert await names(client, "sort=moving&descending=true&limit=1") == ["foo"]


async def test_topics_are_selected_by_what_is_wrong() -> None:
    client = topics()
    client.controller.stop(4)
    assert await names(client, "state=offline") == ["bar"]
    assert await names(client, "state=under-replicated") == ["Foobar"]
    assert await names(client, "sort=under_replicated&descending=true&limit=2") == ["bar", "Foobar"]
    client.controller.put(Topic("bar", b"b" * 16, deleting=True))
    assert await names(client, "state=deleting") == ["bar"]


async def test_a_topic_is_shown_with_a_page_of_its_partitions() -> None:
    client = topics()
    answer = await client.get("/v1/topics/foo?limit=2")
    assert [row["partition"] for row in answer["partitions"]] == [0, 1]
    assert (answer["topic"]["topic"], answer["total"], answer["next"]) == ("foo", 3, 2)
    assert answer["basis"]["counted_ms"] > 0
    assert (await client.get("/v1/topics/foo?limit=2&offset=2"))["next"] is None


async def test_a_partition_at_rest_has_no_target() -> None:
    row = (await topics().get("/v1/topics/foo/partitions/1"))["partition"]
    assert (row["state"], row["health"], row["replicas"], row["leader"]) == (
        "at rest",
        "in sync",
        [1, 2, 3],
        1,
    )
    assert (row["target"], row["job"], row["reason"], row["size"], row["bytes"]) == (
        None,
        None,
        "",
        101,
        None,
    )


async def test_a_partition_has_the_size_and_directory_of_each_replica() -> None:
    client = topics()
    client.sizes.stored_replicas["foo-1"] = StoredReplicas((1, 3), (101, 90), ("/a", "/b"))
    row = (await client.get("/v1/topics/foo/partitions/1"))["partition"]
    assert (row["sizes"], row["log_dirs"]) == ([101, None, 90], ["/a", None, "/b"])


async def test_a_moving_partition_has_its_step_and_one_that_waits_a_reason() -> None:
    client = topics()
    await client.post("/v1/jobs", MOVE)
    moving, queued = (await client.get("/v1/topics/foo?limit=2"))["partitions"]
    assert (moving["state"], moving["step"], moving["job"], moving["bytes"]) == ("moving", [4, 5, 6], 1, 300)
    assert (queued["state"], queued["target"]) == ("queued", [4, 5, 6])
    assert queued["reason"] == "limit P: 1 of 1 partition movements"


async def test_a_partition_that_an_offline_broker_holds_up_waits() -> None:
    client = topics()
    for broker in (4, 5, 6):
        client.controller.stop(broker)
    await client.post("/v1/jobs", MOVE)
    row = (await client.get("/v1/topics/foo/partitions/0"))["partition"]
    assert row["state"] == "waiting"
    assert "offline" in row["reason"]


async def test_a_queued_plan_and_a_move_of_others_have_their_states() -> None:
    client = topics()
    await client.post("/v1/jobs?queue=true", MOVE)
    client.controller.state.gateway.external.add(client.controller["foo-2"].key)
    assert await parts(client, "state=external") == ["foo-2"]
    first = (await client.get("/v1/topics/foo/partitions/2"))["partition"]
    assert (first["state"], first["target"]) == ("external", [1, 2, 3])


async def test_the_health_of_a_partition_is_the_worst_that_applies() -> None:
    client = topics()
    client.controller.with_topic_config("min.insync.replicas", "3")
    client.controller.stop(3)
    client.controller.stop(4)
    found = (await client.get("/v1/partitions"))["partitions"]
    assert {row["topic"]: row["health"] for row in found} == {
        "Foobar": "under-replicated", "bar": "offline", "foo": "under min ISR", "unknown": "in sync",
    }  # fmt: skip
    assert await parts(client, "health=offline") == ["bar-0"]
    assert (await parts(client, "sort=health&limit=2")) == ["bar-0", "foo-0"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Foobar-0", "bar-0", "foo-0", "foo-1", "foo-2", "unknown-0"]),
        ("offset=2&limit=2", ["foo-0", "foo-1"]),
        ("offset=5", ["unknown-0"]),
        ("limit=0", []),
        ("descending=true&limit=1", ["unknown-0"]),
        ("topic=OBAR", ["Foobar-0"]),
        ("broker=5", ["Foobar-0", "unknown-0"]),
        ("leader=1&limit=1", ["foo-0"]),
        ("sort=size&descending=true&limit=2", ["foo-2", "foo-1"]),
        ("sort=state&limit=1", ["Foobar-0"]),
        ("sort=size&descending=true&limit=1&offset=9999", []),
        ("sort=size&descending=true&limit=10000&offset=5", ["unknown-0"]),
    ],
)
async def test_partitions_are_selected_and_sorted(query: str, expected: list[str]) -> None:
    assert await parts(topics(), query) == expected


async def test_partitions_of_a_broker_include_those_that_it_is_to_get() -> None:
    client = topics()
    await client.post("/v1/jobs", MOVE)
    assert await parts(client, "broker=6&topic=foo") == ["foo-0", "foo-1"]
    assert await parts(client, "sort=state&limit=2") == ["foo-0", "foo-1"]
    assert (await client.get("/v1/partitions?broker=6&topic=foo&limit=1"))["next"] == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("topics/nope", 'There is no topic "nope".'),
        ("topics/nope/partitions/0", 'There is no topic "nope".'),
        ("topics/foo/partitions/3", 'Topic foo has no partition "3"; it has 3, from 0.'),
        ("topics/foo/partitions/x", 'Topic foo has no partition "x"; it has 3, from 0.'),
    ],
)
async def test_what_does_not_exist_is_named(path: str, text: str) -> None:
    assert await topics().refusal("GET", f"/v1/{path}") == (404, text)


async def test_a_topic_that_is_newer_than_the_numbers_is_shown() -> None:
    many = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1, 2]) for n in range(1_500)))
    client = ApiClient(many)
    await client.get("/v1/topics")
    many.with_partitions(partition("new-0", [1]))
    answer: dict[str, Any] = await client.get("/v1/topics/new")
    assert (answer["topic"]["partitions"], len(answer["partitions"])) == (1, 1)


async def test_a_large_cluster_is_searched_in_the_worker_thread() -> None:
    many = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1, 2]) for n in range(6_000)))
    client = ApiClient(many)
    assert await parts(client, "sort=size&descending=true&limit=2") == ["foo-5999", "foo-5998"]
    assert (await client.get("/v1/partitions?leader=1&limit=1"))["total"] == 6_000
