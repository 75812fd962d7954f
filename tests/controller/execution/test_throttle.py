import pytest

from controller.execution.throttle import (
    NO_THROTTLE,
    ListChange,
    Throttle,
    change_list,
    desired_throttle,
    others_entries,
    rate_of_others,
    rates_of_others,
    set_by_others,
    throttle_rate,
    throttle_source,
    union,
)
from controller.gateway.events import BrokerRatesSeen
from controller.messages.events import (
    AlterConfigs,
    ControllerStarted,
    DeleteTopics,
    PeriodChanged,
    ResourceChanges,
)
from controller.model.cluster import Partition, Reassignment, Record, Topic
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    MAX_VALUE_BYTES,
    RATES,
    SCHEDULE,
    THROTTLE,
    Config,
    ConfigChange,
    ConfigOp,
    ResourceType,
    ThrottleLease,
    list_items,
)
from controller.state.settings import CLUSTER_DEFAULT
from tests.builders import InMemoryController, key, partition, records, registration
from tests.controller.kraft import Gateway


def throttled(rate: int | None = 1_000) -> InMemoryController:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("foo-1", [2, 1]))
    if rate is not None:
        controller.default(THROTTLE, str(rate))
    return controller


def lists(controller: InMemoryController) -> tuple[str | None, str | None]:
    config = controller.state.settings.config
    return config(ResourceType.TOPIC, "foo", LEADER_REPLICAS), config(
        ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS
    )


def rates(controller: InMemoryController) -> dict[int, str]:
    found = {
        b: controller.state.settings.config(ResourceType.BROKER, str(b), RATES[1])
        for b in controller.state.cluster.brokers
    }
    return {broker: rate for broker, rate in found.items() if rate is not None}


def set_by_hand(
    controller: InMemoryController, resource: ResourceType, name: str, config: str, value: str
) -> None:
    changes = [ConfigChange(config, ConfigOp.SET, value)]
    controller.do(AlterConfigs([ResourceChanges(resource, name, changes)]))


def test_replicas_in_flight_are_throttled_on_both_sides() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    assert lists(controller) == ("0:1,0:2", "0:3")
    assert rates(controller) == {1: "1000", 3: "1000"}


def test_no_throttle_remains_after_the_reassignment() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    controller.settle()
    assert (lists(controller), rates(controller), controller.state.throttle.leases) == ((None, None), {}, {})


def test_a_list_never_has_more_bytes_than_a_config_of_kafka_may_have() -> None:
    many = 2_000
    controller = InMemoryController().with_partitions(
        *(partition(f"foo-{p}", [1, 2, 3]) for p in range(many))
    )
    controller.alter({f"foo-{p}": [4, 2, 3] for p in range(many)})
    controller.default(THROTTLE, "1000")
    leaders, followers = lists(controller)
    assert leaders is not None
    assert MAX_VALUE_BYTES - 7 <= len(leaders) <= MAX_VALUE_BYTES
    assert len(list_items(followers)) == many
    assert sum(controller.state.throttle.unlisted.values()) == 3 * many - len(list_items(leaders))
    controller.alter({f"foo-{p}": None for p in range(many)})
    assert (lists(controller), controller.state.throttle.unlisted) == ((None, None), {})


def test_no_throttle_remains_after_a_cancel() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    controller.alter({"foo-0": None})
    assert (lists(controller), rates(controller)) == ((None, None), {})


def test_the_lists_contain_the_steps_in_flight() -> None:
    controller = throttled().with_limits(partitions=1)
    controller.alter({"foo-0": [1, 3], "foo-1": [2, 4]})
    assert lists(controller) == ("0:1,0:2", "0:3")
    controller.catch_up()
    assert lists(controller) == ("1:2,1:1", "1:4")


def test_the_rate_can_be_changed_during_a_reassignment() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    controller.default(THROTTLE, "5000")
    assert rates(controller) == {1: "5000", 3: "5000"}
    controller.default(THROTTLE, None)
    assert (lists(controller), rates(controller)) == ((None, None), {})


def test_previous_lists_are_restored() -> None:
    controller = throttled()
    set_by_hand(controller, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "1:1")
    controller.alter({"foo-0": [1, 3]})
    assert lists(controller)[1] == "1:1,0:3"
    assert lists(controller.settle()) == (None, "1:1")


def test_a_list_with_a_trailing_comma_is_extended_and_restored_unchanged() -> None:
    controller = throttled()
    set_by_hand(controller, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "1:1,")
    controller.alter({"foo-0": [1, 3]})
    assert lists(controller)[1] == "1:1,0:3"
    assert lists(controller.settle()) == (None, "1:1,")


def test_existing_rates_are_not_changed() -> None:
    controller = throttled()
    set_by_hand(controller, ResourceType.BROKER, "3", RATES[1], "77")
    controller.alter({"foo-0": [1, 3]})
    assert rates(controller) == {1: "1000", 3: "77"}
    assert rates(controller.settle()) == {3: "77"}


def test_a_rate_that_someone_changes_during_the_lease_is_kept() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    set_by_hand(controller, ResourceType.BROKER, "3", RATES[1], "77")
    assert rates(controller.settle()) == {3: "77"}


def test_a_partition_with_a_lagging_original_is_not_throttled_at_its_leader() -> None:
    controller = throttled().with_partitions(partition("foo-2", [1, 2], isr=(1,)))
    controller.alter({"foo-2": [1, 2, 3]})
    assert lists(controller) == (None, "2:3")


def test_without_a_rate_no_config_is_changed() -> None:
    controller = throttled(rate=None)
    controller.alter({"foo-0": [1, 3]})
    assert (lists(controller), controller.state.throttle.leases) == ((None, None), {})


def test_a_restart_during_a_move_leaves_no_throttle() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    again = controller.restart().settle()
    assert (lists(again), rates(again), again.state.throttle.leases) == ((None, None), {}, {})


def test_the_leases_of_a_deleted_topic_are_deleted() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    controller.do(DeleteTopics(["foo"]))
    controller.settle()
    assert controller.state.throttle.leases == {}
    assert controller.state.cluster.topics == {}


def test_entries_that_someone_adds_during_the_lease_are_kept() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    set_by_hand(controller, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "0:3,7:1")
    assert lists(controller.settle())[1] == "7:1"


def test_lists_that_someone_removes_are_set_again_for_what_still_moves() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3], "foo-1": [2, 4]})
    controller.isr("foo-1", [2, 1, 4])
    changes = [ConfigChange(each, ConfigOp.DELETE, None) for each in (LEADER_REPLICAS, FOLLOWER_REPLICAS)]
    controller.do(AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", changes)]))
    assert lists(controller) == ("0:1,0:2", "0:3")
    set_by_hand(controller, ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, "7:1")
    assert lists(controller) == ("0:1,0:2", "7:1,0:3")
    assert lists(controller.settle()) == (None, "7:1")


def test_rates_that_someone_removes_are_set_again() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    changes = [ConfigChange(rate, ConfigOp.DELETE, None) for rate in RATES]
    controller.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "3", changes)]))
    assert rates(controller) == {1: "1000", 3: "1000"}
    assert rates(controller.settle()) == {}


def test_a_cluster_wide_rate_is_not_overridden() -> None:
    controller = throttled()
    controller.default(RATES[1], "10")
    controller.alter({"foo-0": [1, 3]})
    assert rates(controller) == {}


def test_a_cluster_wide_rate_that_is_set_during_the_lease_does_not_freeze_it() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    controller.default(RATES[1], "10")
    controller.default(THROTTLE, "5000")
    assert rates(controller) == {1: "5000", 3: "5000"}
    changes = [ConfigChange(rate, ConfigOp.DELETE, None) for rate in RATES]
    controller.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "3", changes)]))
    assert rates(controller) == {1: "5000", 3: "5000"}
    assert rates(controller.settle()) == {}


HOUR = 3_600_000


def at_hour(controller: InMemoryController, hour: int) -> InMemoryController:
    controller.now_ms = hour * HOUR
    controller.do(PeriodChanged())
    return controller


def test_the_rate_follows_the_periods_of_the_schedule() -> None:
    controller = throttled(None)
    controller.default(SCHEDULE, "00:00-06:00 throttle=5MB; 06:00-08:00 throttle=1MB; 08:00-09:00")
    controller.alter({"foo-0": [1, 3]})
    found = [set(rates(at_hour(controller, hour)).values()) for hour in (1, 6, 8, 24)]
    assert found == [{"5000000"}, {"1000000"}, set(), {"5000000"}]


def test_the_rate_of_the_last_period_remains_until_the_steps_end() -> None:
    controller = throttled(None)
    controller.default(SCHEDULE, "00:00-06:00 throttle=5MB")
    controller.alter({"foo-0": [1, 3]})
    assert rates(at_hour(controller, 7)) == {1: "5000000", 3: "5000000"}
    controller.settle()
    assert (rates(controller), controller.state.throttle.leases) == ({}, {})


def test_the_lower_rate_of_schedule_and_limit_applies() -> None:
    controller = throttled(1_000)
    controller.default(SCHEDULE, "00:00-24:00 throttle=5kB")
    controller.alter({"foo-0": [1, 3]})
    assert rates(controller) == {1: "1000", 3: "1000"}
    controller.default(THROTTLE, "9000")
    assert rates(controller) == {1: "5000", 3: "5000"}


@pytest.mark.parametrize(("hour", "rate"), [(5, "5000000"), (7, "5000000"), (24, "5000000"), (32, "1000")])
def test_a_restart_at_any_time_has_the_rate_of_that_time(hour: int, rate: str) -> None:
    controller = throttled(None)
    controller.default(SCHEDULE, "00:00-06:00 throttle=5MB; 08:00-09:00 throttle=1kB")
    controller.alter({"foo-0": [1, 3]})
    controller.now_ms = hour * HOUR
    assert set(rates(controller.restart()).values()) == {rate}


def test_a_restart_after_the_schedule_was_deleted_leaves_no_rate() -> None:
    controller = throttled(None)
    controller.default(SCHEDULE, "00:00-24:00 throttle=5MB")
    controller.alter({"foo-0": [1, 3]})
    controller.default(SCHEDULE, None)
    assert rates(controller.restart()) == {}


def test_the_leases_of_a_topic_that_another_controller_has_deleted_end_with_the_next_start() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    kept = [record for record in records(controller.state) if not _is_of_topic(record)]
    other = InMemoryController(())
    other.put(*kept)
    other.do(ControllerStarted([registration(broker) for broker in range(1, 7)]))
    assert not other.state.throttle.leases


def test_the_lists_of_steps_that_another_controller_has_ended_are_restored_at_the_next_start() -> None:
    controller = throttled()
    controller.alter({"foo-0": [1, 3]})
    at_end = partition("foo-0", [1, 3])
    kept = (record for record in records(controller.state) if not isinstance(record, Reassignment))
    other = InMemoryController(())
    other.put(
        *(at_end if isinstance(record, Partition) and not record.partition else record for record in kept)
    )
    other.do(ControllerStarted([registration(broker) for broker in range(1, 7)]))
    assert lists(other) == (None, None)


def _is_of_topic(record: Record) -> bool:
    if isinstance(record, Config):
        return record.resource is ResourceType.TOPIC
    return isinstance(record, Topic | Partition | Reassignment)


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
    uncordoned, cordoned = ({LOG_DIRS_RATE: "", CORDONED_LOG_DIRS: each} for each in ("", "*"))
    assert FOO.configs((ResourceType.BROKER, "2")) == dict.fromkeys(RATES, "5") | uncordoned
    assert FOO.configs((ResourceType.BROKER, "3")) == dict.fromkeys(RATES, "") | uncordoned
    copying = FOO._replace(disks={3: 7}).configs((ResourceType.BROKER, "3"))
    assert copying == dict.fromkeys(RATES, "") | uncordoned | {LOG_DIRS_RATE: "7"}
    emptied = FOO._replace(cordons={3: "*"})
    assert emptied.configs((ResourceType.BROKER, "3")) == dict.fromkeys(RATES, "") | cordoned


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


def listed(ours: str, found: str | None = None) -> ThrottleLease:
    return ThrottleLease(ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, ours, found)


def rated(ours: str) -> ThrottleLease:
    return ThrottleLease(ResourceType.BROKER, "1", LEADER_RATE, ours, None)


@pytest.mark.parametrize(
    ("value", "lease", "by_others"),
    [
        (None, None, False),
        ("5", None, True),
        ("5", rated("5"), False),
        ("5", rated("5,6"), False),
        ("7", rated("5,6"), True),
        (None, rated("5"), False),
    ],
)
def test_a_rate_that_no_lease_owns_is_set_by_others(
    value: str | None, lease: ThrottleLease | None, by_others: bool
) -> None:
    assert set_by_others(value, lease) is by_others


def test_entries_that_no_lease_owns_are_set_by_others() -> None:
    assert others_entries("7:7,0:1", listed("0:1")) == ["7:7"]
    assert others_entries("7:7,0:1,8:8", listed("7:7,0:1", "7:7")) == ["7:7", "8:8"]
    assert others_entries(None, None) == []


@pytest.mark.parametrize(
    ("value", "desired", "together"),
    [(None, "0:1", "0:1"), ("", "0:1", "0:1"), ("7:7,", "0:1,7:7", "7:7,0:1"), ("*", "0:1", "*")],
)
def test_a_union_keeps_existing_entries_first(value: str | None, desired: str, together: str) -> None:
    assert union(value, desired) == together


@pytest.mark.parametrize(
    ("value", "lease", "desired", "subtracted", "change"),
    [
        (None, None, "0:1,0:2", [], ListChange(["0:1", "0:2"], [], ["0:1", "0:2"])),
        ("7:7", None, "0:1", [], ListChange(["0:1"], [], ["0:1"])),
        ("0:1", None, "0:1", [], ListChange([], [], [])),
        ("*", None, "0:1", [], ListChange([], [], [])),
        ("0:1", listed("0:1"), "0:1", [], ListChange([], [], ["0:1"])),
        (None, listed("0:1"), "0:1", [], ListChange(["0:1"], [], ["0:1"])),
        ("0:1", listed("0:1"), "1:1", [], ListChange(["1:1"], ["0:1"], ["0:1", "1:1"])),
        # The read may be older than the append: it is subtracted all the same.
        (None, listed("0:1"), "", [], ListChange([], ["0:1"], ["0:1"])),
        ("7:7", listed("0:1"), "", ["0:1"], ListChange([], [], [])),
        # The read may be older than the subtraction.
        ("0:1", listed("0:1"), "", ["0:1"], ListChange([], ["0:1"], ["0:1"])),
    ],
)
def test_a_list_is_changed_entry_by_entry(
    value: str | None, lease: ThrottleLease | None, desired: str, subtracted: list[str], change: ListChange
) -> None:
    assert change_list(value, lease, desired, subtracted) == change


def gateway() -> Gateway:
    return Gateway(("foo-0", (1, 2)))


def test_the_lower_rate_of_a_broker_counts() -> None:
    controller = gateway()
    controller.do(BrokerRatesSeen({1: {LEADER_RATE: "9", FOLLOWER_RATE: "5"}, 3: {LEADER_RATE: "7"}}))
    assert rates_of_others(controller.state) == {1: 5, 3: 7}
    assert rate_of_others(controller.state, 2) is None


def test_a_rate_that_a_lease_owns_is_not_one_of_others() -> None:
    controller = gateway()
    controller.put(ThrottleLease(ResourceType.BROKER, "1", LEADER_RATE, "5,6", None))
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
    assert controller.state.throttle.leases
    assert rates_of_others(controller.state) == {3: 7}


def test_without_an_upstream_a_rate_for_all_brokers_counts_at_each() -> None:
    controller = InMemoryController((1, 2))
    controller.put(Config(ResourceType.BROKER, CLUSTER_DEFAULT, LEADER_RATE, "7"))
    controller.put(Config(ResourceType.BROKER, "2", LEADER_RATE, "8"))
    assert rates_of_others(controller.state) == {1: 7, 2: 8}
