"""Cluster-wide values from the server's settings: a dynamic value wins, and deleting it restores them."""

from controller.configs.changes import describe_configs
from controller.configs.names import SCHEDULE, THROTTLE
from controller.model.configs import ConfigSource, ResourceType
from controller.scheduling.limits import PREFIX
from controller.throttle.desired import throttle_rate
from tests.builders import InMemoryController, partition

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
    assert state.schedule is not None
