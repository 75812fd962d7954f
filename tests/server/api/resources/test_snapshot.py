"""`/v1/snapshot`."""

import json

from controller.messages.events import LogDirFailed
from controller.model.cluster import Config, ResourceType
from controller.model.configs import CORDONED_LOG_DIRS, EXCLUDED_BROKERS
from controller.model.disks import DiskMove, MoveStage
from controller.model.replicas import StoredReplicas
from controller.state.cluster import Disk
from planner.model.snapshot import parse_snapshot
from server.api.resources.snapshot import SnapshotPartition, rows
from tests.builders import InMemoryController, key, partition
from tests.server.api.api_client import MOVE, ApiClient, plan
from tests.server.api.resources.test_embedded_brokers import Owned


async def test_brokers_are_listed_before_partitions_with_their_size() -> None:
    client = ApiClient()
    client.controller.stop(2)
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    broker, partition = json.loads(lines[2]), json.loads(lines[-1])
    assert (broker["kind"], broker["id"], broker["rack"], broker["live"]) == ("broker", 2, "rack-2", False)
    assert partition == {
        "kind": "partition",
        "topic": "foo",
        "partition": 2,
        "replicas": [1, 2, 3],
        "isr": [1, 3],
        "leader": 1,
        "bytes": 102,
        "min_isr": 1,
        "target": None,
        "sizes": None,
        "log_dirs": None,
        "tiered": False,
    }


async def test_a_size_that_is_not_known_is_null() -> None:
    client = ApiClient(InMemoryController().with_partitions(partition("unknown-0", [1])))
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    assert json.loads(lines[-1])["bytes"] is None


async def test_the_cluster_has_an_id_and_disks_have_sizes() -> None:
    client = ApiClient()
    client.controller.state.cluster.disks[1] = [Disk("/a", 100, 50, 1), Disk("/b", 200, 50, 1, cordoned=True)]
    client.controller.state.cluster.disks[2] = [Disk("/a", -1, -1, 1)]
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    assert json.loads(lines[0]) == {"kind": "cluster", "cluster_id": "cluster-1"}
    brokers = [json.loads(line) for line in lines[1:4]]
    assert [each["disk_bytes"] for each in brokers] == [300, None, None]
    second = {"total": 200, "usable": 50, "cordoned": True}
    assert brokers[0]["dirs"] == {"/a": {"total": 100, "usable": 50, "cordoned": False}, "/b": second}
    assert brokers[1]["dirs"] == {"/a": {"total": None, "usable": None, "cordoned": False}}
    assert brokers[2]["dirs"] is None


async def test_brokers_of_this_process_tell_their_directories() -> None:
    client = ApiClient()
    client.sizes.log_dirs[1] = {"/a": [], "/b": []}
    client.sizes.failed.add("/b")
    client.serve(brokers=Owned())
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    assert json.loads(lines[1])["dirs"] == {"/a": {"total": None, "usable": None, "cordoned": False}}


async def test_moves_between_directories_are_told() -> None:
    client = ApiClient()
    state = client.controller.state
    moving = DiskMove(1, "foo", 2, 2, "/a", "/b", 100, MoveStage.MOVING)
    state.put(moving)
    state.put(moving._replace(broker=3, stage=MoveStage.RETURNING))
    state.put(moving._replace(partition=1, stage=MoveStage.DONE))
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    assert json.loads(lines[-1])["next_dirs"] == [None, "/b", "/a"]
    assert "next_dirs" not in json.loads(lines[-2])
    assert parse_snapshot("x", map(str.encode, lines)).partitions["foo", 2].next_dirs == (None, "/b", "/a")


async def test_brokers_that_get_nothing_are_marked() -> None:
    client = ApiClient()
    client.controller.default(EXCLUDED_BROKERS, "1")
    client.controller.put(Config(ResourceType.BROKER, "2", CORDONED_LOG_DIRS, "*"))
    client.controller.state.cluster.disks[3] = [Disk("/a", -1, -1, 1, cordoned=True)]
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    rows = [json.loads(line) for line in lines[1:4]]
    assert [(row["excluded"], row["cordoned"]) for row in rows] == [
        (True, False), (False, True), (False, True)
    ]  # fmt: skip


async def test_each_replica_has_the_size_that_its_broker_reports() -> None:
    client = ApiClient()
    client.sizes.stored_replicas["foo-0"] = StoredReplicas((1, 3), (100, 90), ("/a", "/b"))
    client.sizes.stored_replicas["foo-1"] = StoredReplicas((1, 2, 3), (1, 2, 3), ("/a", "/a", "/a"))
    client.controller.put(Config(ResourceType.TOPIC, "foo", "remote.storage.enable", "true"))
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    first, second, third = (json.loads(line) for line in lines[-3:])
    assert (first["sizes"], first["log_dirs"]) == ([100, None, 90], ["/a", None, "/b"])
    assert (second["sizes"], third["sizes"], third["tiered"]) == ([1, 2, 3], None, True)


async def test_a_moving_partition_has_the_replicas_of_its_last_completed_step() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    shown = rows("", client.controller.state, client.sizes, None)
    row = next(row for row in shown if isinstance(row, SnapshotPartition))
    assert (row.replicas, row.isr) == ((1, 2, 3), (1, 2, 3))
    assert row.target == (4, 5, 6)


async def test_a_replica_in_a_failed_directory_is_marked_until_it_is_in_sync_again() -> None:
    client = ApiClient()
    client.controller.do(LogDirFailed(2, [key("foo-1"), key("gone-1")]))

    def failed() -> list[tuple[int, ...]]:
        shown = rows("", client.controller.state, client.sizes, None)
        return [row.failed for row in shown if isinstance(row, SnapshotPartition)]

    assert failed() == [(), (2,), ()]
    client.controller.with_partitions(client.controller["foo-1"]._replace(isr=(1, 2, 3)))
    assert failed() == [(), (), ()]
    client.controller.do(LogDirFailed(2, [key("foo-1")]))
    client.controller.stop(2)
    assert failed() == [(), (), ()]
    client.controller.start(2)
    assert failed() == [(), (), ()]


async def holders(client: ApiClient) -> tuple[set[int], set[int], tuple[int, ...]]:
    """Return the brokers that the API has as not drained, those of the snapshot, and its `meanwhile`."""
    told = {
        broker for broker in range(1, 7) if not (await client.get(f"/v1/brokers/{broker}/drained"))["drained"]
    }
    lines = (await client.raw("GET", "/v1/snapshot")).text.encode().splitlines()
    [row] = parse_snapshot("", lines).partitions.values()
    return told, row.holders, row.meanwhile


async def test_brokers_of_a_step_that_is_undone_and_of_a_rollback_are_named_as_not_drained() -> None:
    one = InMemoryController().with_partitions(partition("foo-0", [1, 2, 3])).with_limits(per_partition=1)
    client = ApiClient(one)
    assert await holders(client) == ({1, 2, 3}, {1, 2, 3}, ())
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    assert await holders(client) == ({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, ())
    one.catch_up()
    one.catch_up()
    await client.post("/v1/jobs?queue=true", plan(foo_0=[4, 5, 2]))
    found, same, meanwhile = await holders(client)
    assert (found, bool(meanwhile)) == (same, True)
    await client.ask("DELETE", "/v1/reassignments", {"all": True})
    found, same, meanwhile = await holders(client)
    assert (found, bool(meanwhile)) == (same, True)


async def test_a_snapshot_is_that_of_the_moment_of_the_request() -> None:
    client = ApiClient()
    client.on_refresh = lambda: (client.controller.with_partitions(partition("new-0", [2])), "")[1]
    assert '"new"' in (await client.raw("GET", "/v1/snapshot")).text
    assert client.refreshed == [None]


async def test_a_cluster_that_cannot_be_asked_has_no_snapshot() -> None:
    client = ApiClient()
    client.on_refresh = lambda: "Kafka cannot be asked: nobody answers"
    assert await client.ask("GET", "/v1/snapshot") == (
        503,
        {"error": "Kafka cannot be asked: nobody answers"},
    )


async def test_a_partition_whose_topic_waits_for_its_deletion_ends_without_replicas() -> None:
    client = ApiClient()
    client.controller.put(client.controller.state.cluster.topics["foo"]._replace(deleting=True))
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    assert (json.loads(lines[-1])["replicas"], json.loads(lines[-1])["target"]) == ([1, 2, 3], [])
