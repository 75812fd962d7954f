"""What Cruise Control's API changes beside plans: limits, placement and sampling; and what it refuses."""

import pytest

from controller.cluster.config_keys import BROKER_KEYS
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import EXCLUDED_BROKERS, LOAD_SAMPLING, ConfigChange, ConfigOp
from controller.state.settings import CLUSTER_DEFAULT
from tests.server.cruisecontrol.client import CruiseControlClient
from tests.server.cruisecontrol.test_reads import Load


@pytest.fixture
def client() -> CruiseControlClient:
    return CruiseControlClient()


async def test_concurrency_is_a_limit_of_the_cluster(client: CruiseControlClient) -> None:
    given = "concurrent_partition_movements_per_broker=3&concurrent_leader_movements=50"
    answer = await client.checked("POST", f"admin?{given}&max_partition_movements_in_cluster=7")
    limits = client.controller.state.backlog.usage.limits
    assert (limits.per_broker, limits.leaders, limits.replicas) == (3, 50, 7)
    assert answer["ongoingConcurrencyChangeRequest"].startswith("limit B: none before, 3 now")


async def test_what_is_off_can_be_switched_off_and_not_on(client: CruiseControlClient) -> None:
    answer = await client.checked("POST", "admin?disable_self_healing_for=broker_failure")
    assert answer["selfHealingEnabledAfter"] == {"BROKER_FAILURE": False}
    off = await client.checked("POST", "admin?disable_concurrency_adjuster_for=leadership")
    assert off["concurrencyAdjusterEnabledBefore"] == {"LEADERSHIP": False}
    for name in ("enable_self_healing_for=GOAL_VIOLATION", "enable_concurrency_adjuster_for=LEADERSHIP"):
        assert (await client.error("POST", f"admin?{name}"))[0] == 403


async def test_a_refused_part_changes_nothing(client: CruiseControlClient) -> None:
    query = "admin?concurrent_leader_movements=9&enable_self_healing_for=GOAL_VIOLATION"
    await client.error("POST", query)
    assert client.driver.events == []


async def test_a_removed_broker_may_get_replicas_again(client: CruiseControlClient) -> None:
    changes = [ConfigChange(EXCLUDED_BROKERS, ConfigOp.SET, "2,3")]
    client.controller.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes)]))
    state = await client.ok("GET", "state?substates=executor")
    assert state["ExecutorState"]["recentlyRemovedBrokers"] == [2, 3]
    answer = await client.checked("POST", "admin?drop_recently_removed_brokers=1,2")
    assert answer["dropRecentBrokersRequest"] == "Brokers that get new partitions again: 2"
    assert client.controller.state.settings.excluded_brokers == {3}
    again = await client.checked(
        "POST", "admin?drop_recently_removed_brokers=2&drop_recently_demoted_brokers=2"
    )
    assert again["dropRecentBrokersRequest"] == "No broker of these was kept from getting new partitions."


@pytest.mark.parametrize(
    ("request_line", "status", "part"),
    [
        ("POST admin?drop_recently_removed_brokers=77", 500, "Broker [77] does not exist."),
        ("POST admin?disable_self_healing_for=x", 400, "There is no type 'X'; known: BROKER_FAILURE"),
        ("POST admin?concurrent_leader_movements=0", 400, "A parameter is not valid"),
        ("POST admin?review_id=1", 400, "reviews are not offered"),
        ("POST review?approve=1", 403, "Requests are not reviewed"),
        ("POST rightsize?num_brokers_to_add=1", 403, "reassignd starts no brokers"),
        ("POST pause_sampling", 500, "load is not measured here"),
    ],
)
async def test_what_is_not_offered_is_refused_with_the_reason(
    client: CruiseControlClient, request_line: str, status: int, part: str
) -> None:
    found, text = await client.error(*request_line.split())
    assert found == status, text
    assert part in text


async def test_sampling_is_paused_and_resumed(client: CruiseControlClient) -> None:
    assert LOAD_SAMPLING in BROKER_KEYS
    client.serve(load=Load())
    for path, value in (("resume_sampling", "on"), ("pause_sampling?reason=quiet", None)):
        await client.checked("POST", path)
        configs = client.controller.state.settings.cluster_configs
        assert configs.get(LOAD_SAMPLING) == value


@pytest.mark.parametrize("path", ["review_board?review_ids=1", "bootstrap?start=1", "train"])
async def test_there_is_nothing_to_review_or_to_train(client: CruiseControlClient, path: str) -> None:
    await client.checked("GET", path)
