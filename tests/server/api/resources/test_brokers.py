"""`/v1/brokers`: lists, details, and the check before a stop."""

from typing import Any

import pytest

from controller.model.configs import EXCLUDED_BROKERS
from controller.model.replicas import StoredReplicas, TopicPartition
from controller.modes import GATEWAY
from controller.state.cluster import Disk
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient, plan, three_partitions
from tests.server.api.resources.test_embedded_brokers import Owned


async def rows(client: ApiClient, query: str = "") -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in (await client.get(f"/v1/brokers?{query}"))["brokers"]}


async def ids(client: ApiClient, query: str) -> list[int]:
    return list(await rows(client, query))


async def test_a_broker_has_its_replicas_leaders_and_bytes() -> None:
    found = await rows(ApiClient())
    held = [(each["replicas"], each["leaders"], each["bytes"], each["empty"]) for each in found.values()]
    assert held == [(3, 3, 303, False)] + [(3, 0, 303, False)] * 2 + [(0, 0, 0, True)] * 3
    assert (found[1]["rack"], found[1]["state"], found[1]["preferred"]) == ("rack-1", "live", 3)


async def test_a_broker_has_the_bytes_of_its_own_replicas() -> None:
    client = ApiClient()
    client.sizes.stored_replicas["foo-0"] = StoredReplicas((1, 2), (100, 40), ("/a", "/a"))
    found = await rows(client)
    assert [found[broker]["bytes"] for broker in (1, 2, 3)] == [303, 243, 303]
    assert (await client.get("/v1/topics"))["topics"][0]["replica_bytes"] == 849


async def test_moves_are_counted_in_flight_and_in_total() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    found = await rows(client)
    assert [found[1][name] for name in ("moving_in", "moving_out", "coming", "going")] == [0, 3, 0, 2]
    assert [found[4][name] for name in ("moving_in", "moving_out", "coming", "going")] == [1, 0, 2, 0]
    assert (found[4]["empty"], found[5]["rate_in"], found[1]["rate_in"]) == (False, None, 0)


async def test_a_stopped_broker_copies_nothing() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    assert (await rows(client))[5]["rate_in"] is None
    client.controller.stop(5)
    assert (await rows(client))[5]["rate_in"] == 0


async def test_a_stopped_broker_is_offline_and_its_replicas_lag_elsewhere() -> None:
    client = ApiClient()
    client.controller.stop(2)
    found = await rows(client)
    assert (found[2]["live"], found[2]["state"], found[2]["lagging"]) == (False, "offline", 3)
    assert await ids(client, "state=offline") == [2]


async def test_a_broker_that_is_registered_no_more_is_listed_while_it_has_replicas() -> None:
    client = ApiClient()
    for broker in (3, 6):
        client.controller.unregister(broker)
    found = await rows(client)
    assert [*found] == [1, 2, 3, 4, 5]
    assert (found[3]["host"], found[3]["live"], found[3]["replicas"]) == ("", False, 3)


async def test_disks_are_shown_by_directory_and_in_total() -> None:
    client = ApiClient()
    client.controller.state.cluster.disks.update(
        {1: [Disk("/a", 100, 40, 1), Disk("/b", 100, 90, 2, cordoned=True)], 2: [Disk("/a", -1, -1, 3)]}
    )
    found = await rows(client, "sort=disk&descending=true")
    assert next(iter(found)) == 1
    assert (found[1]["disk_total"], found[1]["disk_used"], found[1]["cordoned"]) == (200, 70, False)
    assert found[1]["log_dirs"][1] == {
        "path": "/b", "works": True, "total": 100, "used": 10, "cordoned": True,
        "excluded": False,
    }  # fmt: skip
    assert (found[2]["disk_total"], found[2]["log_dirs"][0]["total"], found[3]["cordoned"]) == (None,) * 3


async def test_directories_that_are_excluded_say_so() -> None:
    client, owned = ApiClient(), Owned()
    client.serve(brokers=owned)
    client.sizes.log_dirs[1] = {"/a": [], "/b": []}
    own = "/embedded/broker-2/logs-0"
    excluded = [{"broker": 1, "dir": "/b"}, {"broker": 2, "dir": own}]
    await client.post("/v1/placement", {"exclude_dirs": excluded})
    found = await rows(client)
    shown = {each["path"]: each["excluded"] for broker in (1, 2) for each in found[broker]["log_dirs"]}
    assert (shown["/a"], shown["/b"], shown[own]) == (False, True, True)


async def test_brokers_of_this_process_tell_their_directories() -> None:
    client, owned = ApiClient(), Owned()
    client.serve(brokers=owned)
    client.sizes.log_dirs[1] = {"/embedded/broker-1/logs-0": []}
    found = await rows(client)
    assert [(each["path"], each["works"]) for each in found[1]["log_dirs"]] == [
        ("/embedded/broker-1/logs-0", True)
    ]
    await client.post("/v1/brokers/2/fail-log-dir", {"path": "/embedded/broker-2/logs-0"})
    assert [each["works"] for each in (await rows(client))[2]["log_dirs"]] == [False]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sort=replicas&descending=true&limit=2", [3, 2]),
        ("sort=leaders&descending=true&limit=1", [1]),
        ("sort=bytes&limit=2", [4, 5]),
        ("sort=rack", [3, 6, 1, 4, 2, 5]),
        ("rack=rack-0", [3, 6]),
        ("q=RACK-2", [2, 5]),
        ("q=4", [4]),
        ("offset=4", [5, 6]),
        ("sort=moving", [1, 2, 3, 4, 5, 6]),
        ("sort=rate&limit=1", [1]),
        ("limit=0", []),
    ],
)
async def test_brokers_are_selected_and_sorted(query: str, expected: list[int]) -> None:
    assert await ids(ApiClient(), query) == expected


async def test_a_page_says_what_follows() -> None:
    client = ApiClient()
    first = await client.get("/v1/brokers?limit=4")
    last = await client.get("/v1/brokers?limit=4&offset=4")
    assert (first["total"], first["next"], last["total"], last["next"]) == (6, 4, 6, None)


async def test_an_answer_says_what_it_is_based_on() -> None:
    client = ApiClient()
    client.serve(seen_ms=lambda: 5_000)
    basis = (await client.get("/v1/brokers/1"))["basis"]
    assert basis["seen_ms"] == 5_000
    assert basis["counted_ms"] > 0
    assert basis["sizes_ms"] > 0


async def test_one_broker_is_shown_alone() -> None:
    client = ApiClient()
    assert (await client.get("/v1/brokers/2"))["broker"] == (await rows(client))[2]
    assert await client.refusal("GET", "/v1/brokers/9") == (404, "There is no broker 9.")


async def test_a_gateway_shows_the_brokers_that_it_excludes() -> None:
    client = ApiClient()
    assert (await rows(client))[1]["excluded"] is False
    client.controller.state.mode = GATEWAY
    client.controller.default(EXCLUDED_BROKERS, "1,2")
    shown = await rows(client)
    assert [shown[broker]["excluded"] for broker in (1, 2, 3)] == [True, True, False]


async def test_the_check_before_a_stop_asks_the_cluster() -> None:
    client = ApiClient()
    answer = await client.get("/v1/brokers/1/drained")
    assert client.refreshed == [None]
    assert (answer["drained"], answer["replicas"], answer["partitions"]) == (
        False, 3, ["foo-0", "foo-1", "foo-2"],
    )  # fmt: skip
    assert (await client.get("/v1/brokers/6/drained"))["drained"] is True


async def test_a_broker_that_is_to_get_a_replica_is_not_drained() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    assert (await client.get("/v1/brokers/4/drained"))["partitions"] == ["foo-0", "foo-1"]


async def test_a_broker_of_a_plan_that_waits_for_a_rollback_is_not_drained() -> None:
    client = ApiClient(three_partitions(per_partition=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 3]))
    client.controller.catch_up()
    await client.post("/v1/jobs?queue=true", plan(foo_0=[1, 2, 6]))
    assert (await client.get("/v1/topics/foo/partitions/0"))["partition"]["target"] == [1, 2, 3]
    answer = await client.get("/v1/brokers/6/drained")
    assert (answer["drained"], answer["partitions"]) == (False, ["foo-0"])
    assert (await client.get("/v1/partitions?broker=6"))["total"] == 1
    assert ((await rows(client))[6]["coming"], (await rows(client))[6]["empty"]) == (1, False)


async def test_a_broker_of_a_rollback_before_a_queued_plan_is_not_empty() -> None:
    client = ApiClient(three_partitions(per_partition=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    client.controller.catch_up()
    client.controller.catch_up()
    client.controller.with_partitions(partition("foo-1", [2]), partition("foo-2", [2]))
    await client.post("/v1/jobs?queue=true", plan(foo_0=[4, 5, 2]))
    back = client.controller.state.orders.reassignments[TopicPartition("foo", 0)].target
    gone = [broker for broker in back if broker not in client.controller["foo-0"].replicas]
    assert gone
    found = await rows(client)
    assert [(found[each]["coming"], found[each]["empty"]) for each in gone] == [(1, False)] * len(gone)


async def test_without_the_cluster_there_is_no_answer_about_a_stop() -> None:
    client = ApiClient()
    client.on_refresh = lambda: "Kafka cannot be asked: refused"
    status = await client.refusal("GET", "/v1/brokers/6/drained")
    assert status == (503, "Kafka cannot be asked: refused")
    client.on_refresh = str
    assert await client.refusal("GET", "/v1/brokers/9/drained") == (404, "There is no broker 9.")


async def test_a_small_cluster_is_counted_for_every_request() -> None:
    client = ApiClient()
    await rows(client)
    client.controller.with_partitions(partition("bar-0", [4]))
    assert (await rows(client))[4]["replicas"] == 1


async def test_requests_share_the_numbers_of_a_large_cluster() -> None:
    many = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1, 2]) for n in range(1_500)))
    client = ApiClient(many)
    first = await client.get("/v1/brokers")
    many.with_partitions(partition("bar-0", [4]))
    assert (await client.get("/v1/brokers"))["basis"] == first["basis"]
    assert (await rows(client))[4]["replicas"] == 0
