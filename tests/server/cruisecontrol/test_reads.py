"""What Cruise Control's API tells of the cluster: load, partitions, brokers, and the last proposal."""

from collections.abc import Sequence

import pytest

from controller.model.load import LoadPage, LoadRow, LoadSort, LoadSummary, LoadUnit, Quality, Rates
from controller.model.replicas import StoredReplicas
from controller.state.cluster import Disk
from tests.builders import InMemoryController, partition
from tests.server.cruisecontrol.client import CruiseControlClient

KB, MB = 2**10, 2**20


class Load:
    """Partition n of foo gets n + 1 KB/s; twice that in the busy hour, half of it in a mean hour."""

    coverage = 1.0

    def summary(self) -> LoadSummary:
        return LoadSummary(True, coverage=self.coverage)

    def by_broker(self) -> Sequence[LoadRow]:
        rates = Rates(6 * KB, 12 * KB)
        return [LoadRow(1, None, None, rates, Quality.EXACT, 1.0, 0.0, cpu=0.6, potential_out=20 * KB)]

    def page(self, by: LoadUnit, sort: LoadSort, offset: int, limit: int) -> LoadPage:
        raise NotImplementedError

    def rates(self, topic: str, number: int) -> Rates | None:
        rate = KB * (number + 1)
        return Rates(rate, 2 * rate, 2 * rate, 4 * rate, rate / 2, rate) if topic == "foo" else None


@pytest.fixture
def client() -> CruiseControlClient:
    return CruiseControlClient()


async def test_load_has_a_row_for_each_broker_and_minus_one_for_what_is_not_known(
    client: CruiseControlClient,
) -> None:
    rows = (await client.checked("GET", "load"))["brokers"]
    assert [(row["Broker"], row["Replicas"], row["Leaders"]) for row in rows[:2]] == [(1, 3, 3), (2, 3, 0)]
    assert {rows[0][name] for name in ("CpuPct", "LeaderNwInRate", "DiskPct", "NumCore")} == {-1.0}


async def test_load_has_rates_and_the_cpu_where_they_are_measured(client: CruiseControlClient) -> None:
    client.serve(load=Load())
    first, second, *_ = (await client.checked("GET", "load"))["brokers"]
    names = ("CpuPct", "LeaderNwInRate", "NwOutRate", "PnwOutRate")
    assert [first[name] for name in names] == [60.0, 6.0, 12.0, 20.0]
    assert [second[name] for name in names] == [-1.0] * 4


async def test_load_lists_directories_with_what_their_replicas_take(client: CruiseControlClient) -> None:
    stored = StoredReplicas((1, 2, 3), (4 * MB, 1, 1), ("/a", "/x", "/x"))
    client.sizes.stored_replicas = {"foo-0": stored, "foo-1": stored}
    client.controller.state.cluster.measure({}, {1: [Disk("/a", 16 * MB, 0, 2), Disk("/b", -1, -1, 0)]}, {})
    row = (await client.checked("GET", "load?populate_disk_info=true"))["brokers"][0]
    assert row["DiskState"] == {
        "/a": {"DiskMB": 8.0, "DiskPct": 50.0, "NumLeaderReplicas": 2, "NumReplicas": 2},
        "/b": {"DiskMB": 0.0, "DiskPct": -1.0, "NumLeaderReplicas": 0, "NumReplicas": 0},
    }


async def test_only_capacities_are_told_on_demand(client: CruiseControlClient) -> None:
    client.controller.state.cluster.measure({}, {1: [Disk("/a", 16 * MB, 0, 2)]}, {})
    row = (await client.checked("GET", "load?capacity_only=true"))["brokers"][0]
    assert (row["DiskCapacityMB"], row["DiskMB"], row["Replicas"]) == (16.0, 0.0, 0)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [2, 1, 0]),
        ("resource=NW_IN&entries=2", [2, 1]),
        ("resource=networkOutbound&entries=1", [2]),
        ("resource=cpu&max_load=true", [2, 1, 0]),
        ("partition=0-1&topic=f.*", [1, 0]),
        ("partition=1&brokerid=3,4", [1]),
        ("topic=o", []),
        ("brokerid=5", []),
    ],
)
async def test_partition_load_selects_and_orders(
    client: CruiseControlClient, query: str, numbers: list[int]
) -> None:
    client.serve(load=Load())
    rows = (await client.checked("GET", f"partition_load?{query}"))["records"]
    assert [row["partition"] for row in rows] == numbers


@pytest.mark.parametrize(("query", "rate"), [("", 1.0), ("max_load=true", 2.0), ("avg_load=true", 0.5)])
async def test_partition_load_has_rates_of_now_of_the_busy_hour_or_of_a_mean_hour(
    client: CruiseControlClient, query: str, rate: float
) -> None:
    client.serve(load=Load())
    [row] = (await client.checked("GET", f"partition_load?partition=0&{query}"))["records"]
    assert (row["leader"], row["followers"], row["networkInbound"]) == (1, [2, 3], rate)
    assert row["networkOutbound"] == 2 * rate


async def test_the_cpu_of_a_broker_is_shared_out_by_what_its_partitions_carry(
    client: CruiseControlClient,
) -> None:
    client.serve(load=Load())
    rows = (await client.checked("GET", "partition_load"))["records"]
    assert sum(row["cpu"] for row in rows) == pytest.approx(60.0)


async def test_partitions_beyond_a_page_are_sorted_too() -> None:
    names = [f"foo-{number}" for number in range(1_200)]
    controller = InMemoryController().with_partitions(*(partition(name, [1, 2]) for name in names))
    rows = (await CruiseControlClient(controller).checked("GET", "partition_load"))["records"]
    assert [row["partition"] for row in rows] == list(reversed(range(1_200)))


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("partition_load?resource=x", "There is no resource 'x'; known: disk, cpu, nw_in, nw_out"),
        ("partition_load?partition=5-", "partition is a number or a range such as 0-9, not '5-'."),
        ("partition_load?topic=(", "The expression '(' is not valid"),
        ("partition_load?max_load=true&avg_load=true", "max_load and avg_load exclude each other."),
        ("partition_load?brokerid=77", "Broker [77] does not exist."),
        ("partition_load?entries=0", "A parameter is not valid"),
        ("kafka_cluster_state?topic=(", "The expression '(' is not valid"),
        ("proposals?dryrun=false", "Unrecognized parameter 'dryrun'"),
    ],
)
async def test_a_wrong_selection_is_told(client: CruiseControlClient, path: str, part: str) -> None:
    assert part in (await client.error("GET", path))[1]


async def test_the_cluster_state_counts_and_lists_what_is_not_well(client: CruiseControlClient) -> None:
    client.sizes.log_dirs = {1: {"/a": [], "/b": []}}
    client.sizes.failed = {"/b"}
    client.controller.isr("foo-1", [1, 2])
    client.controller.stop(3)
    answer = await client.checked("GET", "kafka_cluster_state")
    brokers, partitions = answer["KafkaBrokerState"], answer["KafkaPartitionState"]
    assert brokers["OnlineLogDirsByBrokerId"] | {"3": ["broker_dead"]} == brokers["OnlineLogDirsByBrokerId"]
    assert (brokers["OnlineLogDirsByBrokerId"]["1"], brokers["OfflineLogDirsByBrokerId"]["1"]) == (
        ["/a"], ["/b"],
    )  # fmt: skip
    assert brokers["OfflineReplicaCountByBrokerId"]["3"] == 3
    assert [row["partition"] for row in partitions["with-offline-replicas"]] == [0, 1, 2]
    assert partitions["urp"][0]["out-of-sync"] == [3]
    assert "other" not in partitions


async def test_partitions_without_a_leader_or_below_min_isr_have_lists_of_their_own() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("bar-0", [3, 4]))
    controller.with_topic_config("min.insync.replicas", "2")
    client = CruiseControlClient(controller)
    for broker in (1, 2):
        controller.stop(broker)
    partitions = (await client.checked("GET", "kafka_cluster_state?verbose=true"))["KafkaPartitionState"]
    assert [row["topic"] for row in partitions["offline"]] == ["foo"]
    assert [row["topic"] for row in partitions["under-min-isr"]] == ["foo"]
    assert [row["topic"] for row in partitions["other"]] == ["bar"]
    selected = await client.checked("GET", "kafka_cluster_state?verbose=true&topic=b.*")
    assert selected["KafkaPartitionState"]["offline"] == []


async def test_proposals_are_computed_once_in_a_quarter_of_an_hour(client: CruiseControlClient) -> None:
    await client.checked("GET", "proposals")
    client.now_ms += 14 * 60_000
    again = await client.checked("GET", "proposals?verbose=true")
    assert len(client.inputs) == 1
    assert "made 840 s ago" in again["summary"]["provisionRecommendation"]
    assert again["proposals"][0]["newReplicas"] == [4, 2, 3]
    await client.checked("GET", "proposals?ignore_proposal_cache=true")
    client.now_ms += 16 * 60_000
    await client.checked("GET", "proposals")
    assert len(client.inputs) == 3


async def test_a_proposal_that_fits_no_more_is_computed_anew(client: CruiseControlClient) -> None:
    await client.checked("GET", "proposals")
    client.controller.alter({"foo-0": [5, 2, 3]})
    client.controller.settle()
    await client.send("GET", "proposals")
    assert len(client.inputs) == 2


async def test_reads_execute_nothing(client: CruiseControlClient) -> None:
    await client.checked("GET", "proposals")
    assert client.controller.state.orders.jobs == {}


async def test_the_role_of_the_client_is_told(client: CruiseControlClient) -> None:
    assert (await client.checked("GET", "permissions"))["roles"] == ["ADMIN"]


@pytest.mark.parametrize(("sampling", "status"), [(None, None), (0.5, "notReady"), (0.99, "ready")])
async def test_goals_that_need_rates_are_named_once_rates_are_measured(
    client: CruiseControlClient, sampling: float | None, status: str | None
) -> None:
    """Koperator waits until all goals that are named are ready."""
    if sampling is not None:
        load = Load()
        load.coverage = sampling
        client.serve(load=load)
    goals = (await client.checked("GET", "state"))["AnalyzerState"]["goalReadiness"]
    by_name = {goal["name"]: goal["status"] for goal in goals}
    assert by_name.get("NetworkInboundUsageDistributionGoal") == status
    assert by_name["ReplicaDistributionGoal"] == "ready"


async def test_brokers_that_are_gone_are_a_failure_since_they_were_missing_first(
    client: CruiseControlClient,
) -> None:
    client.controller.stop(3)
    await client.checked("GET", "state")
    client.now_ms += 5_000
    client.controller.stop(2)
    [failure] = (await client.checked("GET", "state"))["AnomalyDetectorState"]["recentBrokerFailures"]
    assert failure["failedBrokersByTimeMs"] == {"2": 1_005_000, "3": 1_000_000}
