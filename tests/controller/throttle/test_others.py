from controller.configs.names import FOLLOWER_RATE, LEADER_RATE, THROTTLE
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.upstream_events import BrokerRatesSeen
from controller.model.configs import Config, Lease, ResourceType
from controller.throttle.others import rate_of_others, rates_of_others
from tests.builders import InMemoryController, partition
from tests.controller.kraft import Gateway


def gateway() -> Gateway:
    return Gateway(("foo-0", (1, 2)))


def test_the_lower_rate_of_a_broker_counts() -> None:
    controller = gateway()
    controller.do(BrokerRatesSeen({1: {LEADER_RATE: "9", FOLLOWER_RATE: "5"}, 3: {LEADER_RATE: "7"}}))
    assert rates_of_others(controller.state) == {1: 5, 3: 7}
    assert rate_of_others(controller.state, 2) is None


def test_a_rate_that_a_lease_owns_is_not_one_of_others() -> None:
    controller = gateway()
    controller.put(Lease(ResourceType.BROKER, "1", LEADER_RATE, "5,6", None))
    controller.do(BrokerRatesSeen({1: {LEADER_RATE: "6", FOLLOWER_RATE: "9"}, 2: {LEADER_RATE: "6"}}))
    assert rates_of_others(controller.state) == {1: 9, 2: 6}


def test_rates_that_are_not_seen_any_more_are_forgotten() -> None:
    controller = gateway()
    controller.do(BrokerRatesSeen({1: {LEADER_RATE: "9"}}))
    controller.do(BrokerRatesSeen({}))
    assert rates_of_others(controller.state) == {}


def test_a_value_that_is_no_rate_is_not_shown() -> None:
    controller = gateway()
    controller.do(BrokerRatesSeen({1: {LEADER_RATE: "", FOLLOWER_RATE: "-1"}}))
    assert rates_of_others(controller.state) == {}


def test_without_an_upstream_the_configs_tell_the_rates_of_others() -> None:
    controller = InMemoryController(range(1, 5)).with_partitions(partition("foo-0", (1, 2)))
    controller.put(Config(ResourceType.BROKER, "3", LEADER_RATE, "7"))
    controller.default(THROTTLE, "5")
    controller.alter({"foo-0": (1, 3)})
    assert controller.state.leases
    assert rates_of_others(controller.state) == {3: 7}


def test_without_an_upstream_a_rate_for_all_brokers_counts_at_each() -> None:
    controller = InMemoryController((1, 2))
    controller.put(Config(ResourceType.BROKER, CLUSTER_DEFAULT, LEADER_RATE, "7"))
    controller.put(Config(ResourceType.BROKER, "2", LEADER_RATE, "8"))
    assert rates_of_others(controller.state) == {1: 7, 2: 8}
