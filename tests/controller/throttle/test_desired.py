from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES, THROTTLE
from controller.model.configs import ResourceType
from controller.throttle.desired import (
    NO_THROTTLE,
    Throttle,
    desired_throttle,
    throttle_rate,
    throttle_source,
)
from tests.builders import InMemoryController, key, partition
from tests.controller.kraft import Gateway

FOO = Throttle(5, {1, 2}, {"foo": ["0:1"]}, {"foo": ["0:2", "1:3"]})


def test_the_resources_are_all_topics_and_brokers_that_need_a_value() -> None:
    assert FOO.resources() == {
        (ResourceType.TOPIC, "foo"),
        (ResourceType.BROKER, "1"),
        (ResourceType.BROKER, "2"),
    }


def test_each_resource_has_a_value_for_each_of_its_configs() -> None:
    assert FOO.configs((ResourceType.TOPIC, "foo")) == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2,1:3"}
    assert FOO.configs((ResourceType.TOPIC, "bar")) == {LEADER_REPLICAS: "", FOLLOWER_REPLICAS: ""}
    assert FOO.configs((ResourceType.BROKER, "2")) == dict.fromkeys(RATES, "5")
    assert FOO.configs((ResourceType.BROKER, "3")) == dict.fromkeys(RATES, "")


def test_the_lowest_rate_counts() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]))
    assert (throttle_rate(controller.state), throttle_source(controller.state)) == (None, "")
    controller.default(THROTTLE, "5000")
    assert throttle_source(controller.state) == "the cluster"
    controller.alter({"foo-0": [1, 3]}, throttle=4_000)
    assert (throttle_rate(controller.state), throttle_source(controller.state)) == (4_000, "job 1")


def test_the_rate_of_a_job_counts_until_the_job_ends() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]))
    controller.alter({"foo-0": [1, 3]}, throttle=4_000)
    assert throttle_rate(controller.state) == 4_000
    assert throttle_rate(controller.settle().state) is None


def test_on_an_upstream_all_brokers_of_entries_get_the_rate_but_external_moves_are_ignored() -> None:
    gateway = Gateway(("foo-0", (1, 2)), ("foo-1", (7, 8)))
    gateway.kafka.alter(key("foo-1"), (5, 6))
    gateway.poll()
    gateway.default(THROTTLE, "5")
    gateway.alter({"foo-0": (1, 3)})
    throttle = desired_throttle(gateway.state)
    assert set(throttle.brokers) == {1, 2, 3}
    assert (throttle.leaders, throttle.followers) == ({"foo": ["0:1", "0:2"]}, {"foo": ["0:3"]})


def test_without_a_rate_nothing_is_throttled() -> None:
    gateway = Gateway(("foo-0", (1, 2)))
    gateway.alter({"foo-0": (1, 3)})
    assert desired_throttle(gateway.state) == NO_THROTTLE
