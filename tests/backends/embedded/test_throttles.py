from math import inf

import pytest

from backends.embedded.throttles import Throttles
from controller.configs.keys import throttled_replicas
from controller.configs.names import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from controller.model.cluster import Config, Deleted, ResourceType
from controller.state.state import State
from tests.builders import key


@pytest.fixture
def state() -> State:
    return State()


def put(state: State, resource: ResourceType, name: str, config: str, value: str) -> None:
    state.put(Config(resource, name, config, value))


def test_without_configs_nothing_is_throttled(state: State) -> None:
    throttles = Throttles(state)
    assert (throttles.leader_rate(1), throttles.follower_rate(1)) == (inf, inf)
    assert not throttles.limits_leader(key("foo-0"), 1)


def test_a_brokers_own_rate_overrides_the_cluster_default(state: State) -> None:
    put(state, ResourceType.BROKER, "", LEADER_RATE, "100")
    put(state, ResourceType.BROKER, "1", LEADER_RATE, "50")
    put(state, ResourceType.BROKER, "2", FOLLOWER_RATE, "7")
    throttles = Throttles(state)
    assert [throttles.leader_rate(broker) for broker in (1, 2)] == [50, 100]
    assert [throttles.follower_rate(broker) for broker in (1, 2)] == [inf, 7]


def test_only_listed_replicas_are_throttled(state: State) -> None:
    put(state, ResourceType.TOPIC, "foo", LEADER_REPLICAS, "0:1,2:3")
    throttles = Throttles(state)
    limited = [(p, b) for p in range(3) for b in range(4) if throttles.limits_leader(key(f"foo-{p}"), b)]
    assert limited == [(0, 1), (2, 3)]
    assert not throttles.limits_follower(key("foo-0"), 1)


@pytest.mark.parametrize("listed", ["0:1,", " 0 : 1 , ", "0:1,2:3,"])
def test_a_list_may_contain_blanks_and_end_with_a_comma(state: State, listed: str) -> None:
    assert throttled_replicas(listed) is None
    put(state, ResourceType.TOPIC, "foo", LEADER_REPLICAS, listed)
    assert Throttles(state).limits_leader(key("foo-0"), 1)


def test_a_star_throttles_all_replicas_of_its_topic(state: State) -> None:
    put(state, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "*")
    throttles = Throttles(state)
    assert throttles.limits_follower(key("foo-9"), 4)
    assert not throttles.limits_follower(key("bar-9"), 4)


def test_a_deleted_list_throttles_nothing(state: State) -> None:
    put(state, ResourceType.TOPIC, "foo", LEADER_REPLICAS, "*")
    throttles = Throttles(state)
    state.delete(Deleted(Config, (ResourceType.TOPIC, "foo", LEADER_REPLICAS)))
    throttles.refresh(ResourceType.TOPIC, "foo")
    assert not throttles.limits_leader(key("foo-0"), 1)
