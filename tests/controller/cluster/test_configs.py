import pytest

from common.error_codes import ErrorCode
from controller.cluster.configs import (
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
from controller.model.configs import EXCLUDED_BROKERS, LEADER_REPLICAS, ConfigChange, ConfigOp, ConfigSource
from controller.model.errors import DONE, Outcome
from controller.state.state import Decision
from tests.builders import InMemoryController, partition

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER
SET, DELETE, APPEND, SUBTRACT = ConfigOp
MIN_ISR = "min.insync.replicas"
POLICY = "cleanup.policy"
PARTITIONS = "reassignment.max.concurrent.partition.movements"
PER_PARTITION_ALIAS = "reassignment.parallel.replica.count"


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))


def test_configs_can_be_set_on_a_controller_that_is_not_a_broker(controller: InMemoryController) -> None:
    controller.state.cluster.controller_id = 1000
    assert check_resource(controller.state, BROKER, "1000") is DONE
    assert check_resource(controller.state, BROKER, "1001").message == "No broker 1001 is registered."


def alter(
    controller: InMemoryController,
    *changes: ConfigChange,
    resource: ResourceType = TOPIC,
    name: str = "foo",
    replace: bool = False,
) -> Outcome:
    (outcome,) = controller.do(AlterConfigs([ResourceChanges(resource, name, changes, replace)])).reply
    assert isinstance(outcome, Outcome)
    return outcome


def value(
    controller: InMemoryController, key: str, name: str = "foo", resource: ResourceType = TOPIC
) -> ConfigValue:
    (found,) = [each for each in describe_configs(controller.state, resource, name) if each.key.name == key]
    return found


def test_a_value_that_kafka_could_not_store_is_refused(controller: InMemoryController) -> None:
    half = ",".join(f"{p}:1001" for p in range(2_000))
    assert alter(controller, ConfigChange(LEADER_REPLICAS, SET, half)) is DONE
    more = ",".join(f"{p}:1002" for p in range(2_000))
    refused = alter(controller, ConfigChange(LEADER_REPLICAS, APPEND, more))
    assert refused.error is ErrorCode.INVALID_CONFIG
    assert (
        refused.message
        == "The value of leader.replication.throttled.replicas would be longer than 32767 bytes."
    )
    assert value(controller, LEADER_REPLICAS).value == half


def test_a_set_value_is_in_effect_and_described(controller: InMemoryController) -> None:
    assert alter(controller, ConfigChange(MIN_ISR, SET, "2")) is DONE
    assert controller.state.settings.min_isr("foo") == 2
    assert controller.effects == [ConfigsChanged(TOPIC, "foo")]


def test_a_deleted_value_restores_the_default(controller: InMemoryController) -> None:
    alter(controller, ConfigChange(MIN_ISR, SET, "2"))
    assert alter(controller, ConfigChange(MIN_ISR, DELETE, None)) is DONE
    assert (controller.state.settings.min_isr("foo"), controller.state.settings.configs) == (1, {})


def test_deleting_an_unset_value_changes_nothing(controller: InMemoryController) -> None:
    assert alter(controller, ConfigChange(MIN_ISR, DELETE, None)) is DONE
    assert controller.changes == []


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
    controller: InMemoryController, before: str | None, op: ConfigOp, items: str, after: str
) -> None:
    if before is not None:
        controller.with_topic_config(POLICY, before)
    assert alter(controller, ConfigChange(POLICY, op, items)) is DONE
    assert controller.state.settings.topic_config("foo", POLICY) == after


def test_a_cluster_wide_list_is_deleted_with_its_last_item(controller: InMemoryController) -> None:
    for op in (APPEND, SUBTRACT):
        assert alter(controller, ConfigChange(EXCLUDED_BROKERS, op, "2"), resource=BROKER, name="") is DONE
    assert controller.state.settings.config(BROKER, "", EXCLUDED_BROKERS) is None


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
    controller: InMemoryController, change: ConfigChange, error: ErrorCode, message: str
) -> None:
    assert alter(controller, ConfigChange(POLICY, SET, "compact"), change) == (error, message)
    assert controller.changes == []


def test_a_key_named_twice_is_refused(controller: InMemoryController) -> None:
    once = ConfigChange(MIN_ISR, SET, "2")
    assert alter(controller, once, once) == (
        ErrorCode.INVALID_REQUEST,
        f"The config {MIN_ISR} is named more than once.",
    )


def test_an_invalid_resource_does_not_affect_others(controller: InMemoryController) -> None:
    change = [ConfigChange(MIN_ISR, SET, "2")]
    both = [ResourceChanges(TOPIC, "ghost", change), ResourceChanges(TOPIC, "foo", change)]
    outcomes = controller.do(AlterConfigs(both)).reply
    assert [outcome.error for outcome in outcomes] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]


def test_replacing_deletes_values_that_are_not_named(controller: InMemoryController) -> None:
    controller.with_topic_config(POLICY, "compact").with_topic_config(MIN_ISR, "2")
    assert alter(controller, ConfigChange(MIN_ISR, SET, "3"), replace=True) is DONE
    assert controller.state.settings.configs == {(TOPIC, "foo"): {MIN_ISR: "3"}}


def test_validate_only_changes_nothing(controller: InMemoryController) -> None:
    changes = [ResourceChanges(TOPIC, "foo", [ConfigChange(MIN_ISR, SET, "2")])]
    assert controller.do(AlterConfigs(changes, validate_only=True)).reply == [DONE]
    assert (controller.changes, controller.effects) == ([], [])


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
def test_a_resource_must_exist(
    controller: InMemoryController, resource: ResourceType, name: str, error: ErrorCode
) -> None:
    assert check_resource(controller.state, resource, name).error is error


def test_a_value_comes_from_the_most_specific_level(controller: InMemoryController) -> None:
    assert value(controller, MIN_ISR)[1:3] == ("1", ConfigSource.DEFAULT)
    controller.put(Config(BROKER, "", MIN_ISR, "2"))
    assert value(controller, MIN_ISR)[1:3] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    controller.with_topic_config(MIN_ISR, "3")
    assert value(controller, MIN_ISR)[1:] == (
        "3",
        ConfigSource.DYNAMIC_TOPIC,
        [
            (MIN_ISR, "3", ConfigSource.DYNAMIC_TOPIC),
            (MIN_ISR, "2", ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (MIN_ISR, "1", ConfigSource.DEFAULT),
        ],
    )


def test_the_cluster_default_describes_only_its_own_values(controller: InMemoryController) -> None:
    assert describe_configs(controller.state, BROKER, "") == []
    controller.put(Config(BROKER, "", MIN_ISR, "2"))
    assert value(controller, MIN_ISR, "", BROKER)[1:3] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)


def test_a_broker_has_its_own_values(controller: InMemoryController) -> None:
    rate = "leader.replication.throttled.rate"
    assert alter(controller, ConfigChange(rate, SET, "1000"), resource=BROKER, name="2") is DONE
    assert value(controller, rate, "2", BROKER)[1:3] == ("1000", ConfigSource.DYNAMIC_BROKER)
    assert value(controller, rate, "1", BROKER).source is ConfigSource.DEFAULT


def test_a_cluster_wide_key_is_refused_on_a_single_broker(controller: InMemoryController) -> None:
    for change in (ConfigChange(PARTITIONS, SET, "2"), ConfigChange(PER_PARTITION_ALIAS, SET, "2")):
        error, message = alter(controller, change, resource=BROKER, name="1")
        assert error is ErrorCode.INVALID_CONFIG
        assert message is not None
        assert message.endswith(" is cluster-wide and cannot be set on broker 1: use --entity-default.")
    assert controller.changes == []
    assert alter(controller, ConfigChange(PARTITIONS, SET, "2"), resource=BROKER, name="") is DONE


@pytest.mark.parametrize("key", [MIN_ISR, "unclean.leader.election.enable"])
def test_a_topic_default_is_refused_on_a_single_broker(controller: InMemoryController, key: str) -> None:
    error, message = alter(controller, ConfigChange(key, SET, "1"), resource=BROKER, name="1")
    assert (error, str(message).partition(": ")[2]) == (
        ErrorCode.INVALID_CONFIG,
        "use --entity-default, or set it on topics.",
    )


def test_a_default_from_the_server_settings_replaces_the_key_default(controller: InMemoryController) -> None:
    controller.state.settings.config_defaults = {"embedded.partition.bytes": "10"}
    shown = value(controller, "embedded.partition.bytes")
    assert (shown.value, shown.source) == ("10", ConfigSource.DEFAULT)


def test_a_cluster_wide_key_is_not_described_as_a_broker_value(controller: InMemoryController) -> None:
    controller.put(Config(BROKER, "1", PARTITIONS, "7"), Config(BROKER, "", PARTITIONS, "2"))
    assert value(controller, PARTITIONS, "1", BROKER)[1:3] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)


def test_a_cluster_wide_key_that_was_set_on_a_broker_can_be_deleted(controller: InMemoryController) -> None:
    controller.put(Config(BROKER, "1", PARTITIONS, "7"))
    assert alter(controller, ConfigChange(PARTITIONS, DELETE, None), resource=BROKER, name="1") is DONE
    assert controller.state.settings.configs == {}


def test_a_lower_min_isr_completes_a_blocked_step(controller: InMemoryController) -> None:
    controller.put(controller["foo-0"]._replace(isr=(1, 3)))
    controller.with_topic_config(MIN_ISR, "3").alter({"foo-0": (1, 2, 4)})
    controller.isr("foo-0", (1, 3, 4))
    assert controller.waiting_reason("foo-0") == "not in sync: broker 2, which keeps a replica"
    alter(controller, ConfigChange(MIN_ISR, SET, "2"))
    assert controller.replicas("foo-0") == (1, 2, 4)


def test_allowing_unclean_election_elects_a_leader_immediately(controller: InMemoryController) -> None:
    controller.put(controller["foo-0"]._replace(isr=(1,)))
    controller.stop(1)
    assert controller["foo-0"].leader == NO_LEADER
    alter(controller, ConfigChange("unclean.leader.election.enable", SET, "true"))
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (2, (2,))


def test_elections_after_a_change_are_sliced(controller: InMemoryController) -> None:
    count = ROWS_PER_SLICE + 1
    controller.with_partitions(*(partition(f"bar-{n}", (1,)) for n in range(count)))
    controller.put(*(Reassignment("bar", n, (1,), (2,)) for n in range(count)))
    change = ResourceChanges(TOPIC, "foo", [ConfigChange(MIN_ISR, SET, "1")])
    d = Decision(controller.state)
    assert len(list(decide(d, AlterConfigs([change])))) == 1


def test_steps_after_a_change_are_sliced() -> None:
    count = ROWS_PER_SLICE
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1]) for n in range(count)))
    controller.alter({f"foo-{n}": [2] for n in range(count)})
    change = ConfigChange("min.insync.replicas", ConfigOp.SET, "2")
    event = AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", [change])])
    assert len(list(decide(Decision(controller.state), event))) == 1


def test_changes_can_be_checked_without_applying_them(controller: InMemoryController) -> None:
    good, bad = (ResourceChanges(BROKER, "", [ConfigChange(PARTITIONS, SET, each)]) for each in ("7", "x"))
    assert check_changes(controller.state, good) == DONE
    assert check_changes(controller.state, bad).error is ErrorCode.INVALID_CONFIG
    assert controller.state.settings.configs == {}


@pytest.mark.parametrize("name", ["9" * 5_000, "99999999999"])
def test_a_number_too_long_for_a_broker_id_is_refused(name: str) -> None:
    change = ConfigChange("leader.replication.throttled.rate", ConfigOp.SET, "1")
    reply = (
        InMemoryController().do(AlterConfigs([ResourceChanges(ResourceType.BROKER, name, [change])])).reply
    )
    assert reply[0].error is ErrorCode.INVALID_REQUEST
    assert len(reply[0].text) < 400


def test_messages_contain_only_the_beginning_of_long_names_and_values() -> None:
    changes = [
        ConfigChange("x" * 30_000, ConfigOp.SET, "1"),
        ConfigChange("retention.ms", ConfigOp.SET, "x" * 30_000),
    ]
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)))
    event = AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", [each]) for each in changes])
    assert all(
        outcome.error is ErrorCode.INVALID_CONFIG and len(outcome.text) < 400
        for outcome in controller.do(event).reply
    )


def test_altering_many_resources_is_sliced() -> None:
    resources = [ResourceChanges(ResourceType.TOPIC, f"foo-{n}", ()) for n in range(3 * RESOURCES_PER_SLICE)]
    assert len(list(decide(Decision(InMemoryController().state), AlterConfigs(resources)))) == 3
