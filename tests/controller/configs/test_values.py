from controller.model.cluster import Config, Deleted, ResourceType
from controller.state.state import State


def having(*configs: Config) -> State:
    state = State()
    state.apply(configs)
    return state


def default(key: str, value: str) -> Config:
    return Config(ResourceType.BROKER, "", key, value)


def own(key: str, value: str) -> Config:
    return Config(ResourceType.TOPIC, "foo", key, value)


def test_without_values_the_defaults_of_kafka_are_in_effect() -> None:
    state = State()
    assert (state.min_isr("foo"), state.unclean_allowed("foo"), state.cancel_stops) == (1, False, False)


def test_the_cluster_default_is_in_effect_for_every_topic() -> None:
    state = having(default("min.insync.replicas", "2"), default("unclean.leader.election.enable", "true"))
    assert (state.min_isr("foo"), state.unclean_allowed("foo")) == (2, True)


def test_a_topic_value_overrides_the_cluster_default() -> None:
    state = having(
        default("min.insync.replicas", "2"),
        default("unclean.leader.election.enable", "true"),
        own("min.insync.replicas", "3"),
        own("unclean.leader.election.enable", "false"),
    )
    assert (state.min_isr("foo"), state.unclean_allowed("foo")) == (3, False)
    assert (state.min_isr("bar"), state.unclean_allowed("bar")) == (2, True)


def test_config_returns_values_of_the_resource_only() -> None:
    state = having(default("min.insync.replicas", "2"))
    assert state.config(ResourceType.TOPIC, "foo", "min.insync.replicas") is None
    assert state.config(ResourceType.BROKER, "", "min.insync.replicas") == "2"


def test_the_cancel_mode_is_cluster_wide() -> None:
    assert having(default("reassignment.cancel.mode", "stop")).cancel_stops
    assert not having(default("reassignment.cancel.mode", "rollback")).cancel_stops


def test_a_resource_without_values_is_removed() -> None:
    state = having(own("a", "1"), own("b", "2"))
    state.delete(Deleted(Config, (ResourceType.TOPIC, "foo", "a")))
    assert state.configs == {(ResourceType.TOPIC, "foo"): {"b": "2"}}
    state.delete(Deleted(Config, (ResourceType.TOPIC, "foo", "b")))
    assert state.configs == {}
