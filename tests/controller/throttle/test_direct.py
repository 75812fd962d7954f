from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES, THROTTLE
from controller.messages.events import AlterConfigs, DeleteTopics, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from tests.builders import World, partition


def throttled(rate: int | None = 1_000) -> World:
    world = World().having(partition("foo-0", [1, 2]), partition("foo-1", [2, 1]))
    if rate is not None:
        world.default(THROTTLE, str(rate))
    return world


def lists(world: World) -> tuple[str | None, str | None]:
    config = world.state.config
    return config(ResourceType.TOPIC, "foo", LEADER_REPLICAS), config(
        ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS
    )


def rates(world: World) -> dict[int, str]:
    found = {b: world.state.config(ResourceType.BROKER, str(b), RATES[1]) for b in world.state.brokers}
    return {broker: rate for broker, rate in found.items() if rate is not None}


def set_by_hand(world: World, resource: ResourceType, name: str, config: str, value: str) -> None:
    changes = [ConfigChange(config, ConfigOp.SET, value)]
    world.do(AlterConfigs([ResourceChanges(resource, name, changes)]))


def test_replicas_in_flight_are_throttled_on_both_sides() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    assert lists(world) == ("0:1,0:2", "0:3")
    assert rates(world) == {1: "1000", 3: "1000"}


def test_nothing_is_left_when_the_move_is_over() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    world.settle()
    assert (lists(world), rates(world), world.state.leases) == ((None, None), {}, {})


def test_nothing_is_left_when_the_move_is_cancelled() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    world.alter({"foo-0": None})
    assert (lists(world), rates(world)) == ((None, None), {})


def test_the_lists_follow_the_window() -> None:
    world = throttled().limited(partitions=1)
    world.alter({"foo-0": [1, 3], "foo-1": [2, 4]})
    assert lists(world) == ("0:1,0:2", "0:3")
    world.catch_up()
    assert lists(world) == ("1:2,1:1", "1:4")


def test_the_rate_can_be_changed_while_it_runs() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    world.default(THROTTLE, "5000")
    assert rates(world) == {1: "5000", 3: "5000"}
    world.default(THROTTLE, None)
    assert (lists(world), rates(world)) == ((None, None), {})


def test_previous_lists_are_restored() -> None:
    world = throttled()
    set_by_hand(world, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "1:1")
    world.alter({"foo-0": [1, 3]})
    assert lists(world)[1] == "1:1,0:3"
    assert lists(world.settle()) == (None, "1:1")


def test_a_list_with_a_trailing_comma_is_extended_and_restored_unchanged() -> None:
    world = throttled()
    set_by_hand(world, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "1:1,")
    world.alter({"foo-0": [1, 3]})
    assert lists(world)[1] == "1:1,0:3"
    assert lists(world.settle()) == (None, "1:1,")


def test_existing_rates_are_not_changed() -> None:
    world = throttled()
    set_by_hand(world, ResourceType.BROKER, "3", RATES[1], "77")
    world.alter({"foo-0": [1, 3]})
    assert rates(world) == {1: "1000", 3: "77"}
    assert rates(world.settle()) == {3: "77"}


def test_a_rate_that_someone_changes_during_the_lease_is_kept() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    set_by_hand(world, ResourceType.BROKER, "3", RATES[1], "77")
    assert rates(world.settle()) == {3: "77"}


def test_a_partition_with_a_lagging_original_is_not_throttled_at_its_leader() -> None:
    world = throttled().having(partition("foo-2", [1, 2], isr=(1,)))
    world.alter({"foo-2": [1, 2, 3]})
    assert lists(world) == (None, "2:3")


def test_without_a_rate_no_config_is_changed() -> None:
    world = throttled(rate=None)
    world.alter({"foo-0": [1, 3]})
    assert (lists(world), world.state.leases) == ((None, None), {})


def test_a_restart_during_a_move_leaves_no_throttle() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    again = world.restarted().settle()
    assert (lists(again), rates(again), again.state.leases) == ((None, None), {}, {})


def test_the_leases_of_a_deleted_topic_are_deleted() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    world.do(DeleteTopics(["foo"]))
    world.settle()
    assert world.state.leases == {}
    assert world.state.topics == {}


def test_entries_that_someone_adds_during_the_lease_are_kept() -> None:
    world = throttled()
    world.alter({"foo-0": [1, 3]})
    set_by_hand(world, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "0:3,7:1")
    assert lists(world.settle())[1] == "7:1"


def test_a_cluster_wide_rate_is_not_overridden() -> None:
    world = throttled()
    world.default(RATES[1], "10")
    world.alter({"foo-0": [1, 3]})
    assert rates(world) == {}
