"""Cluster-wide values from the server's settings: a dynamic value wins, and deleting it restores them."""

from datetime import timedelta, timezone

from controller.cluster.configs import describe_configs
from controller.execution.throttle import throttle_rate
from controller.model.cluster import Config, Deleted
from controller.model.configs import SCHEDULE, THROTTLE, ConfigSource, ResourceType
from controller.modes import EMBEDDED
from controller.schedule.openings import closed_reason
from controller.scheduling.limits import PREFIX
from controller.state.settings import SettingsState
from controller.state.state import State
from tests.builders import InMemoryController, partition


def having(*configs: Config) -> State:
    state = State(mode=EMBEDDED)
    state.apply(configs)
    return state


def default(key: str, value: str) -> Config:
    return Config(ResourceType.BROKER, "", key, value)


def own(key: str, value: str) -> Config:
    return Config(ResourceType.TOPIC, "foo", key, value)


def test_without_values_the_defaults_of_kafka_are_in_effect() -> None:
    state = State(mode=EMBEDDED)
    assert (
        state.settings.min_isr("foo"),
        state.settings.unclean_allowed("foo"),
        state.settings.cancel_stops,
    ) == (1, False, False)


def test_the_cluster_default_is_in_effect_for_every_topic() -> None:
    state = having(default("min.insync.replicas", "2"), default("unclean.leader.election.enable", "true"))
    assert (state.settings.min_isr("foo"), state.settings.unclean_allowed("foo")) == (2, True)


def test_a_topic_value_overrides_the_cluster_default() -> None:
    state = having(
        default("min.insync.replicas", "2"),
        default("unclean.leader.election.enable", "true"),
        own("min.insync.replicas", "3"),
        own("unclean.leader.election.enable", "false"),
    )
    assert (state.settings.min_isr("foo"), state.settings.unclean_allowed("foo")) == (3, False)
    assert (state.settings.min_isr("bar"), state.settings.unclean_allowed("bar")) == (2, True)


def test_config_returns_values_of_the_resource_only() -> None:
    state = having(default("min.insync.replicas", "2"))
    assert state.settings.config(ResourceType.TOPIC, "foo", "min.insync.replicas") is None
    assert state.settings.config(ResourceType.BROKER, "", "min.insync.replicas") == "2"


def test_the_cancel_mode_is_cluster_wide() -> None:
    assert having(default("reassignment.cancel.mode", "stop")).settings.cancel_stops
    assert not having(default("reassignment.cancel.mode", "rollback")).settings.cancel_stops


def test_a_resource_without_values_is_removed() -> None:
    state = having(own("a", "1"), own("b", "2"))
    state.delete(Deleted(Config, (ResourceType.TOPIC, "foo", "a")))
    assert state.settings.configs == {(ResourceType.TOPIC, "foo"): {"b": "2"}}
    state.delete(Deleted(Config, (ResourceType.TOPIC, "foo", "b")))
    assert state.settings.configs == {}


P = PREFIX + "partition.movements"


def cluster(**configs: str) -> InMemoryController:
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(3)))
    controller.state.set_static_configs({P: "1", **configs})
    return controller


def moving(controller: InMemoryController) -> int:
    return len(controller.state.in_flight)


def test_a_static_limit_applies_until_it_is_changed() -> None:
    controller = cluster()
    controller.alter({f"foo-{n}": (3, 4) for n in range(3)})
    assert moving(controller) == 1
    controller.default(P, "2")
    assert moving(controller) == 2


def test_deleting_the_dynamic_value_restores_the_static_one() -> None:
    controller = cluster()
    controller.default(P, "5")
    controller.default(P, None)
    assert controller.state.backlog.usage.limits.partitions == 1


def test_clients_see_the_source_of_a_value() -> None:
    controller = cluster()
    [row] = [row for row in describe_configs(controller.state, ResourceType.BROKER, "1") if row.key.name == P]
    assert (row.value, row.source) == ("1", ConfigSource.STATIC_BROKER)
    controller.default(P, "5")
    [row] = [row for row in describe_configs(controller.state, ResourceType.BROKER, "1") if row.key.name == P]
    assert (row.value, row.source) == ("5", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    assert [source for _, _, source in row.synonyms] == [
        ConfigSource.DYNAMIC_DEFAULT_BROKER,
        ConfigSource.STATIC_BROKER,
        ConfigSource.DEFAULT,
    ]


def test_the_cluster_wide_default_lists_dynamic_values_only() -> None:
    assert describe_configs(cluster().state, ResourceType.BROKER, "") == []


def test_a_static_throttle_and_schedule_apply() -> None:
    state = cluster(**{THROTTLE: "1000", SCHEDULE: "00:01-00:02"}).state
    assert throttle_rate(state) == 1000
    assert state.settings.schedule is not None


def test_a_record_whose_zone_the_host_does_not_know_is_a_closed_schedule() -> None:
    state = having(default(SCHEDULE, "00:00-24:00; tz=Europe/Berlin"))
    assert state.settings.follow_schedule(now_ms=0)
    reason = closed_reason(state.settings.schedule, state.settings.opening)
    assert not state.settings.opening.is_open
    assert reason.startswith("the schedule is not valid: 'tz=Europe/Berlin': this system has no zone data")


def test_the_zones_that_the_state_is_given_decide() -> None:
    state = State(EMBEDDED, settings=SettingsState({"Ship/Bridge": timezone(timedelta(hours=5))}.get))
    state.apply([default(SCHEDULE, "05:00-06:00; tz=Ship/Bridge")])
    assert state.settings.follow_schedule(now_ms=0)
    assert (state.settings.opening.is_open, state.settings.opening.until_ms) == (True, 3_600_000)
