import pytest

from common.error_codes import ErrorCode
from controller.configs.changes import (
    RESOURCES_PER_SLICE,
    ROWS_PER_SLICE,
    ConfigValue,
    check_changes,
    check_resource,
    describe_configs,
)
from controller.machine import decide
from controller.messages.effects import ConfigsChanged
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import NO_LEADER, Config, Reassignment, ResourceType
from controller.model.configs import ConfigChange, ConfigOp, ConfigSource
from controller.model.errors import DONE, Outcome
from controller.state.decision import Decision
from tests.builders import World, partition

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER
SET, DELETE, APPEND, SUBTRACT = ConfigOp
MIN_ISR = "min.insync.replicas"
POLICY = "cleanup.policy"
PARTITIONS = "reassignment.max.concurrent.partition.movements"
PER_PARTITION_ALIAS = "reassignment.parallel.replica.count"


@pytest.fixture
def world() -> World:
    return World().having(partition("foo-0", (1, 2, 3)))


def test_configs_can_be_set_on_a_controller_that_is_not_a_broker(world: World) -> None:
    world.state.controller_id = 1000
    assert check_resource(world.state, BROKER, "1000") is DONE
    assert check_resource(world.state, BROKER, "1001").message == "No broker 1001 is registered."


def alter(
    world: World,
    *changes: ConfigChange,
    resource: ResourceType = TOPIC,
    name: str = "foo",
    replace: bool = False,
) -> Outcome:
    (outcome,) = world.do(AlterConfigs([ResourceChanges(resource, name, changes, replace)])).reply
    assert isinstance(outcome, Outcome)
    return outcome


def value(world: World, key: str, name: str = "foo", resource: ResourceType = TOPIC) -> ConfigValue:
    (found,) = [each for each in describe_configs(world.state, resource, name) if each.key.name == key]
    return found


def test_a_set_value_is_in_effect_and_described(world: World) -> None:
    assert alter(world, ConfigChange(MIN_ISR, SET, "2")) is DONE
    assert world.state.min_isr("foo") == 2
    assert world.effects == [ConfigsChanged(TOPIC, "foo")]


def test_a_deleted_value_restores_the_default(world: World) -> None:
    alter(world, ConfigChange(MIN_ISR, SET, "2"))
    assert alter(world, ConfigChange(MIN_ISR, DELETE, None)) is DONE
    assert (world.state.min_isr("foo"), world.state.configs) == (1, {})


def test_deleting_an_unset_value_changes_nothing(world: World) -> None:
    assert alter(world, ConfigChange(MIN_ISR, DELETE, None)) is DONE
    assert world.changes == []


@pytest.mark.parametrize(
    ("before", "op", "items", "after"),
    [
        (None, APPEND, "compact", "delete,compact"),
        ("compact", APPEND, "compact,delete", "compact,delete"),
        ("delete, compact", SUBTRACT, "compact", "delete"),
        ("delete", SUBTRACT, "delete", ""),
        ("", APPEND, "compact", "compact"),
        ("delete", APPEND, "", "delete"),
    ],
)
def test_items_are_appended_to_and_subtracted_from_lists(
    world: World, before: str | None, op: ConfigOp, items: str, after: str
) -> None:
    if before is not None:
        world.configured(POLICY, before)
    assert alter(world, ConfigChange(POLICY, op, items)) is DONE
    assert world.state.topic_config("foo", POLICY) == after


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            ConfigChange(MIN_ISR, SET, "0"),
            ErrorCode.INVALID_CONFIG,
            f"Invalid value 0 for configuration {MIN_ISR}: it must be a whole number from 1 to 2147483647.",
        ),
        (
            ConfigChange("min.insync.replica", SET, "1"),
            ErrorCode.INVALID_CONFIG,
            f"Unknown topic config name: min.insync.replica. Did you mean {MIN_ISR}?",
        ),
        (ConfigChange("x", DELETE, None), ErrorCode.INVALID_CONFIG, "Unknown topic config name: x."),
        (ConfigChange("x", APPEND, "1"), ErrorCode.INVALID_CONFIG, "Unknown topic config name: x."),
        (
            ConfigChange(MIN_ISR, APPEND, "1"),
            ErrorCode.INVALID_CONFIG,
            f"Can't APPEND to key {MIN_ISR} because it is not a list.",
        ),
        (
            ConfigChange(MIN_ISR, SET, None),
            ErrorCode.INVALID_REQUEST,
            f"Null value not supported for config {MIN_ISR}; delete it instead.",
        ),
    ],
)
def test_an_invalid_change_refuses_all_changes_of_its_resource(
    world: World, change: ConfigChange, error: ErrorCode, message: str
) -> None:
    assert alter(world, ConfigChange(POLICY, SET, "compact"), change) == (error, message)
    assert world.changes == []


def test_a_key_named_twice_is_refused(world: World) -> None:
    once = ConfigChange(MIN_ISR, SET, "2")
    assert alter(world, once, once) == (
        ErrorCode.INVALID_REQUEST,
        f"The config {MIN_ISR} is named more than once.",
    )


def test_an_invalid_resource_does_not_affect_others(world: World) -> None:
    change = [ConfigChange(MIN_ISR, SET, "2")]
    both = [ResourceChanges(TOPIC, "ghost", change), ResourceChanges(TOPIC, "foo", change)]
    outcomes = world.do(AlterConfigs(both)).reply
    assert [outcome.error for outcome in outcomes] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]


def test_replacing_deletes_values_that_are_not_named(world: World) -> None:
    world.configured(POLICY, "compact").configured(MIN_ISR, "2")
    assert alter(world, ConfigChange(MIN_ISR, SET, "3"), replace=True) is DONE
    assert world.state.configs == {(TOPIC, "foo"): {MIN_ISR: "3"}}


def test_validate_only_changes_nothing(world: World) -> None:
    changes = [ResourceChanges(TOPIC, "foo", [ConfigChange(MIN_ISR, SET, "2")])]
    assert world.do(AlterConfigs(changes, validate_only=True)).reply == [DONE]
    assert (world.changes, world.effects) == ([], [])


@pytest.mark.parametrize(
    ("resource", "name", "error"),
    [
        (TOPIC, "foo", ErrorCode.NONE),
        (TOPIC, "ghost", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "", ErrorCode.NONE),
        (BROKER, "1", ErrorCode.NONE),
        (BROKER, "9", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (BROKER, "-1", ErrorCode.INVALID_REQUEST),
        (BROKER, "¹", ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_resource_must_exist(world: World, resource: ResourceType, name: str, error: ErrorCode) -> None:
    assert check_resource(world.state, resource, name).error is error


def test_a_value_comes_from_the_most_specific_level(world: World) -> None:
    assert value(world, MIN_ISR)[1:3] == ("1", ConfigSource.DEFAULT)
    world.put(Config(BROKER, "", MIN_ISR, "2"))
    assert value(world, MIN_ISR)[1:3] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    world.configured(MIN_ISR, "3")
    assert value(world, MIN_ISR)[1:] == (
        "3",
        ConfigSource.DYNAMIC_TOPIC,
        [
            (MIN_ISR, "3", ConfigSource.DYNAMIC_TOPIC),
            (MIN_ISR, "2", ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (MIN_ISR, "1", ConfigSource.DEFAULT),
        ],
    )


def test_the_cluster_default_describes_only_its_own_values(world: World) -> None:
    assert describe_configs(world.state, BROKER, "") == []
    world.put(Config(BROKER, "", MIN_ISR, "2"))
    assert value(world, MIN_ISR, "", BROKER)[1:3] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)


def test_a_broker_has_its_own_values(world: World) -> None:
    rate = "leader.replication.throttled.rate"
    assert alter(world, ConfigChange(rate, SET, "1000"), resource=BROKER, name="2") is DONE
    assert value(world, rate, "2", BROKER)[1:3] == ("1000", ConfigSource.DYNAMIC_BROKER)
    assert value(world, rate, "1", BROKER).source is ConfigSource.DEFAULT


def test_a_cluster_wide_key_is_refused_on_a_single_broker(world: World) -> None:
    for change in (ConfigChange(PARTITIONS, SET, "2"), ConfigChange(PER_PARTITION_ALIAS, SET, "2")):
        error, message = alter(world, change, resource=BROKER, name="1")
        assert error is ErrorCode.INVALID_CONFIG
        assert message is not None
        assert message.endswith(" is cluster-wide and cannot be set on broker 1: use --entity-default.")
    assert world.changes == []
    assert alter(world, ConfigChange(PARTITIONS, SET, "2"), resource=BROKER, name="") is DONE


@pytest.mark.parametrize("key", [MIN_ISR, "unclean.leader.election.enable"])
def test_a_topic_default_is_refused_on_a_single_broker(world: World, key: str) -> None:
    error, message = alter(world, ConfigChange(key, SET, "1"), resource=BROKER, name="1")
    assert (error, str(message).partition(": ")[2]) == (
        ErrorCode.INVALID_CONFIG,
        "use --entity-default, or set it on topics.",
    )


def test_a_default_from_the_server_settings_replaces_the_key_default(world: World) -> None:
    world.state.config_defaults = {"embedded.partition.bytes": "10"}
    shown = value(world, "embedded.partition.bytes")
    assert (shown.value, shown.source) == ("10", ConfigSource.DEFAULT)


def test_a_cluster_wide_key_is_not_described_as_a_broker_value(world: World) -> None:
    world.put(Config(BROKER, "1", PARTITIONS, "7"), Config(BROKER, "", PARTITIONS, "2"))
    assert value(world, PARTITIONS, "1", BROKER)[1:3] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)


def test_a_cluster_wide_key_that_was_set_on_a_broker_can_be_deleted(world: World) -> None:
    world.put(Config(BROKER, "1", PARTITIONS, "7"))
    assert alter(world, ConfigChange(PARTITIONS, DELETE, None), resource=BROKER, name="1") is DONE
    assert world.state.configs == {}


def test_a_lower_min_isr_completes_a_blocked_step(world: World) -> None:
    world.put(world["foo-0"]._replace(isr=(1, 3)))
    world.configured(MIN_ISR, "2").alter({"foo-0": (1, 2)})
    assert world.why("foo-0") == "too few replicas are in sync (min.insync.replicas 2)"
    alter(world, ConfigChange(MIN_ISR, SET, "1"))
    assert world.replicas("foo-0") == (1, 2)


def test_allowing_unclean_election_elects_a_leader_immediately(world: World) -> None:
    world.put(world["foo-0"]._replace(isr=(1,)))
    world.stop(1)
    assert world["foo-0"].leader == NO_LEADER
    alter(world, ConfigChange("unclean.leader.election.enable", SET, "true"))
    assert (world["foo-0"].leader, world["foo-0"].isr) == (2, (2,))


def test_elections_after_a_change_are_sliced(world: World) -> None:
    count = ROWS_PER_SLICE + 1
    world.having(*(partition(f"bar-{n}", (1,)) for n in range(count)))
    world.put(*(Reassignment("bar", n, (1,), (2,)) for n in range(count)))
    change = ResourceChanges(TOPIC, "foo", [ConfigChange(MIN_ISR, SET, "1")])
    d = Decision(world.state)
    assert len(list(decide(d, AlterConfigs([change])))) == 1


def test_steps_after_a_change_are_sliced() -> None:
    count = ROWS_PER_SLICE
    world = World().having(*(partition(f"foo-{n}", [1]) for n in range(count)))
    world.alter({f"foo-{n}": [2] for n in range(count)})
    change = ConfigChange("min.insync.replicas", ConfigOp.SET, "2")
    event = AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", [change])])
    assert len(list(decide(Decision(world.state), event))) == 1


def test_changes_can_be_checked_without_applying_them(world: World) -> None:
    good, bad = (ResourceChanges(BROKER, "", [ConfigChange(PARTITIONS, SET, each)]) for each in ("7", "x"))
    assert check_changes(world.state, good) == DONE
    assert check_changes(world.state, bad).error is ErrorCode.INVALID_CONFIG
    assert world.state.configs == {}


@pytest.mark.parametrize("name", ["9" * 5_000, "99999999999"])
def test_a_number_too_long_for_a_broker_id_is_refused(name: str) -> None:
    change = ConfigChange("leader.replication.throttled.rate", ConfigOp.SET, "1")
    reply = World().do(AlterConfigs([ResourceChanges(ResourceType.BROKER, name, [change])])).reply
    assert reply[0].error is ErrorCode.INVALID_REQUEST
    assert len(reply[0].text) < 400


def test_messages_contain_only_the_beginning_of_long_names_and_values() -> None:
    changes = [
        ConfigChange("x" * 30_000, ConfigOp.SET, "1"),
        ConfigChange("retention.ms", ConfigOp.SET, "x" * 30_000),
    ]
    world = World().having(partition("foo-0", (1,)))
    event = AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", [each]) for each in changes])
    assert all(
        outcome.error is ErrorCode.INVALID_CONFIG and len(outcome.text) < 400
        for outcome in world.do(event).reply
    )


def test_altering_many_resources_is_sliced() -> None:
    resources = [ResourceChanges(ResourceType.TOPIC, f"foo-{n}", ()) for n in range(3 * RESOURCES_PER_SLICE)]
    assert len(list(decide(Decision(World().state), AlterConfigs(resources)))) == 3
