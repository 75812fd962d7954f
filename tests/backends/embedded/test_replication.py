from dataclasses import astuple
from math import inf

import pytest

from backends.embedded.replication import SERVED, Fetch, Log, Replication, Throttles, Volume
from controller.cluster.config_keys import throttled_replicas
from controller.model.cluster import Config, Deleted, ResourceType
from controller.model.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from controller.modes import EMBEDDED
from controller.state.state import State
from tests.builders import key

RATE, SIZE = 100.0, 1_000.0
"""Bytes per second of each network, bytes in each partition."""


class Flow:
    """Four brokers that replicate."""

    def __init__(self, *configs: tuple[str, str, str]) -> None:
        state = State(mode=EMBEDDED)
        for name, config, value in configs:
            resource = ResourceType.BROKER if name == "" or name.isdigit() else ResourceType.TOPIC
            state.put(Config(resource, name, config, value))
        self.volume = Volume(SIZE, 0.0, 0.0)
        self.caught_up: list[tuple[str, int]] = []
        self.ready = True
        self.now = 0.0
        self.replication = Replication(RATE, Throttles(state), lambda _: self.volume, self.note)
        for broker in range(1, 5):
            self.replication.add_broker(broker)
            self.replication.networks[broker].up = True

    def note(self, fetch: Fetch) -> bool:
        if self.ready:
            self.caught_up.append((str(fetch.key), fetch.follower))
        return self.ready

    def fetch(
        self, name: str, follower: int, leader: int, *, adding: bool = False, start: float = 0.0
    ) -> Log:
        log = Log(start)
        self.replication.start(Fetch(key(name), follower, leader, log, adding))
        return log

    def run(self, seconds: float, tick: float = 0.1) -> None:
        for _ in range(round(seconds / tick)):
            self.now += tick
            self.replication.tick(self.now)

    def until_idle(self, follower: int) -> float:
        """Seconds until the broker fetches nothing more."""
        began = self.now
        while self.replication.waiting(follower):
            assert self.now - began < 1_000
            self.run(0.1)
        return self.now - began


def test_a_replica_catches_up_at_network_speed() -> None:
    flow = Flow()
    log = flow.fetch("foo-0", 2, 1)
    assert flow.until_idle(2) == pytest.approx(SIZE / RATE, abs=0.2)
    assert flow.caught_up == [("foo-0", 2)]
    assert log.position is None


def test_a_replica_that_has_most_of_the_data_fetches_the_rest() -> None:
    flow = Flow()
    flow.fetch("foo-0", 2, 1, start=900.0)
    assert flow.until_idle(2) == pytest.approx(1.0, abs=0.2)


def test_a_complete_replica_has_caught_up_at_the_next_tick() -> None:
    flow = Flow()
    flow.replication.start(Fetch(key("foo-0"), 2, 1, Log(), adding=False))
    flow.run(0.1)
    assert flow.caught_up == [("foo-0", 2)]


def test_followers_share_the_send_rate_of_their_leader() -> None:
    flow = Flow()
    logs = [flow.fetch(f"foo-{follower}", follower, 1) for follower in (2, 3, 4)]
    flow.run(9.0)
    assert [log.position for log in logs] == [pytest.approx(300.0)] * 3


def test_replicas_of_one_broker_share_its_receive_rate() -> None:
    flow = Flow()
    logs = [flow.fetch(f"foo-{leader}", 4, leader) for leader in (1, 2, 3)]
    flow.run(9.0)
    assert [log.position for log in logs] == [pytest.approx(300.0)] * 3


def test_a_follower_catches_up_when_the_network_is_faster_than_producers() -> None:
    flow = Flow()
    flow.volume.rate = RATE / 2
    flow.fetch("foo-0", 2, 1)
    assert flow.until_idle(2) == pytest.approx(2 * SIZE / RATE, abs=0.3)


def test_a_follower_never_catches_up_when_producers_are_faster_than_the_network() -> None:
    flow = Flow()
    flow.volume.rate = RATE * 1.1
    flow.fetch("foo-0", 2, 1)
    flow.run(100.0)
    assert flow.caught_up == []


@pytest.mark.parametrize(
    ("replicas", "rate", "listed"),
    [
        (LEADER_REPLICAS, LEADER_RATE, "0:1"),
        (FOLLOWER_REPLICAS, FOLLOWER_RATE, "0:2"),
        (LEADER_REPLICAS, LEADER_RATE, "*"),
    ],
)
def test_listed_replicas_are_throttled_and_others_are_not(replicas: str, rate: str, listed: str) -> None:
    flow = Flow(("foo", replicas, listed), ("", rate, "10"))
    throttled, free = flow.fetch("foo-0", 2, 1), flow.fetch("bar-1", 2, 1)
    flow.run(5.0)
    assert throttled.position == pytest.approx(50.0)
    assert free.position == pytest.approx(450.0)


def test_a_rate_without_a_list_throttles_nothing() -> None:
    flow = Flow(("", LEADER_RATE, "1"), ("", FOLLOWER_RATE, "1"))
    flow.fetch("foo-0", 2, 1)
    assert flow.until_idle(2) == pytest.approx(SIZE / RATE, abs=0.2)


def test_a_slow_broker_fetches_slowly_and_a_stuck_one_not_at_all() -> None:
    flow = Flow()
    flow.replication.networks[2].factor = 0.5
    flow.replication.networks[3].factor = 0.0
    slow, stuck = flow.fetch("foo-0", 2, 1), flow.fetch("foo-0", 3, 4)
    flow.run(4.0)
    assert [slow.position, stuck.position] == pytest.approx([200.0, 0.0])


def test_nothing_is_fetched_from_a_leader_that_is_down() -> None:
    flow = Flow()
    flow.replication.networks[1].up = False
    flow.fetch("foo-0", 2, 1, start=SIZE)
    flow.run(1.0)
    assert flow.caught_up == []


def test_an_unknown_leader_does_not_delay_other_fetches() -> None:
    flow = Flow()
    flow.fetch("foo-0", 2, 99)
    flow.fetch("foo-1", 2, 1)
    flow.run(20.0)
    assert flow.caught_up == [("foo-1", 2)]


def test_a_fetch_continues_at_its_position_from_another_leader() -> None:
    flow = Flow()
    log = flow.fetch("foo-0", 2, 1)
    flow.run(4.0)
    flow.replication.start(Fetch(key("foo-0"), 2, 3, log, adding=False))
    assert flow.until_idle(2) == pytest.approx(6.0, abs=0.2)


def test_stopping_a_fetch_keeps_the_log() -> None:
    flow = Flow()
    logs = [flow.fetch(f"foo-{n}", 2, 1) for n in range(2)]
    flow.replication.stop(2, key("foo-0"))
    flow.replication.stop_all(2)
    flow.run(1.0)
    assert [log.position for log in logs] == [0.0, 0.0]


def test_caught_up_is_called_until_it_returns_true() -> None:
    flow = Flow()
    flow.ready = False
    flow.fetch("foo-0", 2, 1, start=SIZE)
    flow.run(1.0)
    flow.ready = True
    flow.run(0.1)
    assert flow.caught_up == [("foo-0", 2)]


def test_bytes_of_reassignments_are_counted_in_addition() -> None:
    flow = Flow()
    flow.fetch("foo-0", 2, 1, adding=True)
    flow.fetch("foo-1", 3, 1)
    flow.run(30.0)
    traffic = flow.replication.traffic
    assert astuple(traffic[1]) == pytest.approx((0, 2 * SIZE, 0, SIZE))
    assert astuple(traffic[2]) == pytest.approx((SIZE, 0, SIZE, 0))
    assert astuple(traffic[3]) == pytest.approx((SIZE, 0, 0, 0))


def test_a_tick_serves_a_bounded_number_of_replicas_in_turn() -> None:
    flow = Flow()
    logs = [flow.fetch(f"foo-{n}", 2, 1) for n in range(SERVED * 3)]
    served = []
    for _ in range(3):
        flow.run(0.1)
        served.append(sum(log.position != 0.0 for log in logs))
    assert served == [SERVED, SERVED * 2, SERVED * 3]


@pytest.fixture
def state() -> State:
    return State(mode=EMBEDDED)


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
