from controller.execution.pacing import loads, shrunk_brokers
from controller.execution.throttle import broker_rate, desired_throttle
from controller.messages.events import ControllerStarted
from controller.model.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, PACE, THROTTLE, Config, ResourceType
from controller.pace.effort import FLOOR
from controller.pace.readings import PaceMeasured, Probe, Source
from tests.builders import InMemoryController, partition, records, registration
from tests.controller.kraft import Gateway


def paced() -> InMemoryController:
    """Return a controller with pace, and twelve partitions of which each has a follower to move."""
    controller = InMemoryController().with_partitions(
        *(partition(f"foo-{number}", [1, 2]) for number in range(12))
    )
    controller.default(PACE, "auto")
    return controller


def measure(controller: InMemoryController, at: float, latency: float, *, timeouts: int = 0) -> None:
    """Report the same latency of brokers 1 to 3."""
    rows = [Probe(broker, (), [latency] * 5, timeouts) for broker in (1, 2, 3)]
    controller.do(PaceMeasured(at, Source.CANARY, rows))


def learn(controller: InMemoryController) -> None:
    """Let it learn an idle latency of 4 ms."""
    for at in range(10):
        measure(controller, at, 4.0)


def move(controller: InMemoryController) -> None:
    controller.alter({f"foo-{number}": [1, 3] for number in range(12)})


def test_a_plan_begins_with_one_replica_to_each_broker() -> None:
    controller = paced()
    learn(controller)
    move(controller)
    assert len(controller.state.in_flight) == 1


def test_a_calm_cluster_gets_a_larger_window() -> None:
    controller = paced()
    learn(controller)
    move(controller)
    for at in range(10, 20):
        measure(controller, at, 4.0)
    assert len(controller.state.in_flight) > 4


def test_without_pace_a_reading_changes_nothing() -> None:
    controller = paced()
    controller.default(PACE, "off")
    learn(controller)
    move(controller)
    assert len(controller.state.in_flight) == 12
    assert not controller.state.pace.pacer.brokers


def test_when_pace_is_switched_off_all_steps_start_and_no_throttle_is_left() -> None:
    controller = paced()
    learn(controller)
    move(controller)
    measure(controller, 10, 4.0, timeouts=1)
    assert controller.state.throttle.leases
    controller.default(PACE, "off")
    assert len(controller.state.in_flight) == 12
    assert not controller.state.throttle.leases
    assert not controller.state.throttle.paced_rates


def test_the_limits_of_operators_stay_in_force() -> None:
    controller = paced()
    controller.with_limits(partitions=1)
    learn(controller)
    move(controller)
    for at in range(10, 20):
        measure(controller, at, 4.0)
    assert len(controller.state.in_flight) == 1


def test_a_silent_broker_is_throttled_with_its_own_rate() -> None:
    controller = paced()
    learn(controller)
    move(controller)
    measure(controller, 10, 4.0, timeouts=1)
    state = controller.state
    assert state.pace.pacer.brokers[3].effort == FLOOR
    assert state.settings.config(ResourceType.BROKER, "3", FOLLOWER_RATE) == str(
        state.throttle.paced_rates[3]
    )
    assert state.settings.config(ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS)


def test_a_lower_throttle_of_operators_stays_in_force() -> None:
    controller = paced()
    controller.default(THROTTLE, "1000")
    learn(controller)
    move(controller)
    measure(controller, 10, 4.0, timeouts=1)
    assert broker_rate(controller.state, 3) == 1000
    assert controller.state.settings.config(ResourceType.BROKER, "3", FOLLOWER_RATE) == "1000"


def test_a_gateway_throttles_only_the_paced_brokers() -> None:
    gateway = Gateway(*((f"foo-{number}", (1, 2)) for number in range(4)))
    gateway.alter({f"foo-{number}": (1, 3) for number in range(4)})
    gateway.state.throttle.paced_rates = {3: 5_000}
    throttle = desired_throttle(gateway.state)
    assert throttle.configs((ResourceType.BROKER, "3"))[FOLLOWER_RATE] == "5000"
    assert throttle.configs((ResourceType.BROKER, "1"))[FOLLOWER_RATE] == ""
    assert set(throttle.followers["foo"]) == {f"{number}:3" for number in range(4)}
    assert not throttle.leaders["foo"]


def test_the_load_of_a_broker_is_the_greater_direction() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("foo-1", [1, 2]))
    controller.alter({"foo-0": [1, 3], "foo-1": [1, 3]})
    found = loads(controller.state)
    assert (found[1].in_flight, found[2].in_flight, found[3].in_flight) == (2, 0, 2)


def test_a_broker_that_others_throttle_is_left_to_turns() -> None:
    controller = paced()
    controller.put(Config(ResourceType.BROKER, "3", FOLLOWER_RATE, "7000"))
    learn(controller)
    move(controller)
    measure(controller, 10, 4.0, timeouts=1)
    assert controller.state.pace.pacer.brokers[3].effort == FLOOR
    assert 3 not in controller.state.throttle.paced_rates
    assert controller.state.settings.config(ResourceType.BROKER, "3", FOLLOWER_RATE) == "7000"


def test_replicas_out_of_the_isr_show_slow_brokers_unless_the_partition_moves_or_the_broker_is_down() -> None:
    controller = InMemoryController().with_partitions(
        partition("foo-0", [1, 2], isr=[1]), partition("foo-1", [3, 4], isr=[3])
    )
    assert shrunk_brokers(controller.state) == {1, 2, 3, 4}
    controller.alter({"foo-0": [1, 5]})
    controller.state.cluster.live.discard(4)
    assert not shrunk_brokers(controller.state)


def test_after_a_restart_little_moves_and_throttles_stay_until_something_is_measured() -> None:
    controller = paced()
    learn(controller)
    move(controller)
    measure(controller, 10, 4.0, timeouts=1)
    rates = dict(controller.state.throttle.paced_rates)
    other = InMemoryController(())
    other.put(*records(controller.state))
    assert rates
    assert other.state.throttle.paced_rates == rates
    other.do(ControllerStarted([registration(broker) for broker in range(1, 7)]))
    assert len(other.state.in_flight) == len(controller.state.in_flight)
    assert other.state.throttle.leases
