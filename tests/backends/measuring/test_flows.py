from backends.measuring.flows import INTERVAL_SECONDS, MOST_KNOWN, QUIET_SECONDS, FlowMeter, Flows
from controller.model.cluster import TopicPartition
from controller.pace.readings import Copied, Produced
from tests.builders import InMemoryController, key, partition

FOO, BAR = key("foo-0"), key("bar-0")


class Sizes:
    """Implements `KnownSizes` for foo-0, which moves from 2 to 3 and 4 with the leader 1, and bar-0."""

    def __init__(self) -> None:
        self.controller = InMemoryController().with_partitions(
            partition("foo-0", [1, 2]), partition("bar-0", [1, 2]), partition("canary-0", [1, 2])
        )
        self.controller.alter({"foo-0": [1, 3, 4]})
        self.sizes = {FOO: 1000, BAR: 1000, key("canary-0"): 5}
        self.received = {3: 0, 4: 0}
        self.meter = FlowMeter(self.controller.state, self)
        self.now = 0.0
        self.look(0)

    def size(self, partition: TopicPartition) -> int | None:
        return self.sizes.get(partition)

    def arrived(self, partition: TopicPartition, broker: int) -> int | None:
        return self.received.get(broker)

    def look(self, seconds: float = INTERVAL_SECONDS) -> Flows | None:
        self.now += seconds
        return self.meter.measure(self.now, "canary")


def test_copied_bytes_count_at_the_target_and_at_the_leader() -> None:
    sizes = Sizes()
    sizes.received = {3: 300, 4: 600}
    flows = sizes.look()
    assert flows is not None
    assert flows.copied == {1: Copied(300, 2), 3: Copied(100, 1), 4: Copied(200, 1)}


def test_the_floor_is_what_producers_write_to_the_moving_partitions() -> None:
    sizes = Sizes()
    sizes.sizes[FOO] += 300
    flows = sizes.look()
    assert flows is not None
    assert flows.produced == Produced(100.0, {3: 100.0, 4: 100.0, 1: 200.0})


def test_a_partition_that_shrinks_says_nothing_about_its_producers() -> None:
    sizes = Sizes()
    sizes.sizes[FOO] -= 300
    flows = sizes.look()
    assert flows is not None
    assert flows.produced is None or not any(flows.produced.floors.values())


def test_producers_of_other_partitions_are_noticed() -> None:
    sizes = Sizes()
    sizes.sizes[BAR] += 300
    flows = sizes.look()
    assert flows is not None
    assert flows.produced == Produced(100.0, {})


def test_nobody_produces_when_nothing_has_grown_for_long_but_the_canary() -> None:
    sizes = Sizes()
    flows = sizes.look()
    assert flows is not None
    assert flows.produced is None
    sizes.sizes[key("canary-0")] += 100
    flows = sizes.look(QUIET_SECONDS)
    assert flows is not None
    assert flows.produced == Produced(0.0, {})


def test_it_is_known_at_once_if_nothing_has_grown_before_pace_was_on() -> None:
    sizes = Sizes()
    sizes.meter = FlowMeter(sizes.controller.state, sizes)
    sizes.meter.watch(0, "canary")
    sizes.look(QUIET_SECONDS)
    flows = sizes.look()
    assert flows is not None
    assert flows.produced == Produced(0.0, {})


def test_with_unknown_sizes_it_is_not_known_who_produces() -> None:
    sizes = Sizes()
    del sizes.sizes[BAR]
    sizes.look()
    flows = sizes.look(QUIET_SECONDS + 1)
    assert flows is not None
    assert flows.produced is None


def test_in_a_short_time_the_last_flows_stay() -> None:
    sizes = Sizes()
    sizes.received = {3: 300, 4: 600}
    flows = sizes.look()
    sizes.received = {3: 900, 4: 600}
    assert sizes.look(1.0) is flows


def test_in_a_large_cluster_it_is_not_known_who_produces() -> None:
    sizes = Sizes()
    rows = sizes.controller.state.cluster.partitions["bar"]
    rows.extend([rows[0]] * MOST_KNOWN)
    sizes.look()
    flows = sizes.look(QUIET_SECONDS + 1)
    assert flows is not None
    assert flows.produced is None


def test_unknown_sizes_and_deleted_partitions_are_left_out() -> None:
    sizes = Sizes()
    sizes.sizes.clear()
    sizes.received.clear()
    assert sizes.look() == Flows({}, None)
    del sizes.controller.state.cluster.partitions["foo"]
    assert sizes.look() == Flows({}, None)
