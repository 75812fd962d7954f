from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.gateway.events import LeasesImported, ThrottleRead
from controller.gateway.throttle import throttles_to_read
from controller.messages.effects import AlterThrottle, ReadThrottle, Submit
from controller.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MAX_VALUE_BYTES,
    RATES,
    THROTTLE,
    THROTTLED_REPLICAS,
    ConfigChange,
    ConfigOp,
    Resource,
    ResourceType,
    ThrottleLease,
    list_items,
)
from controller.views.jobs import waiting_reason
from tests.builders import key
from tests.controller.kraft import Gateway
from tests.examples import examples

TOPIC: Resource = (ResourceType.TOPIC, "foo")
BROKERS: list[Resource] = [(ResourceType.BROKER, str(broker)) for broker in (1, 2, 3, 4)]


class Configs:
    """The throttle configs of a Kafka, by resource. Reads may show values from before the last changes."""

    def __init__(self) -> None:
        self.values: dict[Resource, dict[str, str]] = {}
        self.history: list[dict[Resource, dict[str, str]]] = []

    def alter(self, resource: Resource, changes: list[ConfigChange]) -> None:
        """Kafka's rules for one request, without the check for `*`."""
        own = self.values.setdefault(resource, {})
        for config, op, value in changes:
            given, before = list_items(value), list_items(own.get(config))
            match op:
                case ConfigOp.SET:
                    own[config] = value or ""
                case ConfigOp.DELETE:
                    own.pop(config, None)
                case ConfigOp.APPEND:
                    own[config] = ",".join(before + [each for each in given if each not in before])
                    assert len(own[config]) <= MAX_VALUE_BYTES
                case ConfigOp.SUBTRACT:
                    own[config] = ",".join(each for each in before if each not in given)

    def remember(self) -> None:
        """Reads show the current values from now on."""
        self.history.append({each: dict(values) for each, values in self.values.items()})

    def shown(self, lag: int = 0) -> dict[Resource, dict[str, str]]:
        return self.values if not lag or not self.history else self.history[max(0, len(self.history) - lag)]


class Throttled:
    """A gateway before a Kafka whose configs are read and altered when a test says so."""

    def __init__(self, rate: int | None = 5, gateway: Gateway | None = None) -> None:
        self.gateway = gateway or Gateway(("foo-0", (1, 2)), ("foo-1", (2, 1)))
        self.configs = Configs()
        self.acknowledged: dict[Resource, list[ConfigChange]] = {}
        self.theirs = False
        """Whether an entry of others is to be left."""
        self.rate(rate)

    def rate(self, rate: int | None) -> None:
        self.gateway.default(THROTTLE, None if rate is None else str(rate))

    def read(self, lag: int = 0, *, answered: bool = True, made: bool = True) -> bool:
        """Read throttles that may differ, and carry out the decision; return whether there were changes."""
        shown = self.configs.shown(lag)
        values = {each: shown.get(each, {}) for each in throttles_to_read(self.gateway.state, every=lag > 0)}
        acknowledged = {each: self.acknowledged.pop(each) for each in values if each in self.acknowledged}
        before = len(self.gateway.effects)
        self.gateway.do(ThrottleRead(values, acknowledged))
        altered = [each for each in self.gateway.effects[before:] if isinstance(each, AlterThrottle)]
        if altered:
            self.configs.remember()
        for effect in altered:
            for resource, changes in effect.changes.items():
                if made:
                    self.note_unseen(resource, values[resource], changes)
                    self.configs.alter(resource, list(changes))
                if made and answered:
                    self.acknowledged[resource] = list(changes)
        return bool(altered)

    def note_unseen(
        self, resource: Resource, seen: Mapping[str, str], changes: Sequence[ConfigChange]
    ) -> None:
        """Others may set an entry between the read and a removal, which Kafka makes unconditionally."""
        now = self.configs.values.get(resource, {})
        deleted = [change.config for change in changes if change.op is ConfigOp.DELETE]
        if any(each in THROTTLED_REPLICAS and now.get(each) != seen.get(each) for each in deleted):
            self.theirs = False

    def settle(self) -> None:
        for _ in range(10):
            if not self.read():
                return
        raise AssertionError("the throttle is altered again and again")

    def crash(self) -> None:
        """Another process on the same records."""
        self.gateway = self.gateway.successor()
        self.acknowledged.clear()

    def config(self, resource: Resource, config: str) -> str | None:
        return self.configs.values.get(resource, {}).get(config)


def test_a_throttle_is_read_before_rows_are_sent() -> None:
    gateway = Gateway(("foo-0", (1, 2)))
    gateway.default(THROTTLE, "1000")
    gateway.effects.clear()
    gateway.alter({"foo-0": (3, 4)})
    assert [type(effect) for effect in gateway.effects] == [ReadThrottle, Submit]


def test_a_lease_is_recorded_by_the_decision_that_sets_the_config() -> None:
    controller = Throttled()
    controller.gateway.alter({"foo-0": (1, 3)})
    before = len(controller.gateway.changes)
    assert controller.read(made=False)
    leases = {
        change.key: change.ours
        for change in controller.gateway.changes[before:]
        if isinstance(change, ThrottleLease)
    }
    assert leases[*TOPIC, LEADER_REPLICAS] == "0:1,0:2"
    assert leases[*TOPIC, FOLLOWER_REPLICAS] == "0:3"
    assert leases[*BROKERS[0], LEADER_RATE] == "5"


def test_a_confirmed_throttle_is_read_only_by_a_full_check() -> None:
    controller = Throttled()
    controller.gateway.alter({"foo-0": (1, 3)})
    controller.settle()
    assert throttles_to_read(controller.gateway.state) == []
    assert throttles_to_read(controller.gateway.state, every=True) == [TOPIC, *BROKERS[:3]]
    controller.gateway.alter({"foo-1": (2, 3)})
    assert throttles_to_read(controller.gateway.state) == [TOPIC]


MANY = 2_000
"""Partitions of factor 3 whose entries are longer than a throttle list may be."""


def many() -> Gateway:
    return Gateway(*((f"foo-{p}", (1, 2, 3)) for p in range(MANY)))


def test_no_more_steps_start_than_the_throttle_lists_of_their_topic_have_room_for() -> None:
    controller = Throttled(gateway=many())
    gateway, done = controller.gateway, 0
    gateway.alter({f"foo-{p}": (4, 2, 3) for p in range(MANY)})
    while gateway.state.orders.reassignments:
        gateway.deliver()
        controller.settle()
        moving = len(gateway.state.in_flight)
        if len(gateway.state.orders.reassignments) - moving:
            (reason,) = {
                waiting_reason(gateway.state, r)
                for r in gateway.state.orders.reassignments.values()
                if r.key not in gateway.state.in_flight
            }
            assert reason.startswith("limit of Kafka: 32")
        leaders = list_items(controller.config(TOPIC, LEADER_REPLICAS))
        assert (len(leaders), gateway.state.throttle.unlisted) == (3 * moving, {})
        done += 1
        gateway.catch_up()
    assert done > 1


def test_replicas_in_flight_that_have_no_room_in_the_list_are_counted_and_listed_later() -> None:
    controller = Throttled(rate=None, gateway=many())
    gateway = controller.gateway
    gateway.alter({f"foo-{p}": (4, 2, 3) for p in range(MANY)})
    gateway.deliver()
    assert len(gateway.state.in_flight) == MANY
    controller.rate(5)
    controller.settle()
    unlisted = gateway.state.throttle.unlisted[*TOPIC, LEADER_REPLICAS]
    assert unlisted == 3 * MANY - len(list_items(controller.config(TOPIC, LEADER_REPLICAS))) > 500
    for p in range(unlisted):
        gateway.kafka.catch_up(key(f"foo-{p}"))
    gateway.poll()
    controller.settle()
    assert gateway.state.throttle.unlisted == {}


def test_no_throttle_remains_after_the_reassignment() -> None:
    controller = Throttled()
    controller.gateway.alter({"foo-0": (1, 3)})
    controller.settle()
    controller.gateway.settle()
    controller.settle()
    assert [values for values in controller.configs.values.values() if values] == []
    assert (
        controller.gateway.state.throttle.leases,
        controller.gateway.state.gateway.confirmed_throttles,
    ) == ({}, {})


def test_both_rates_are_owned_until_the_new_one_is_seen() -> None:
    controller = Throttled()
    controller.gateway.alter({"foo-0": (1, 3)})
    controller.settle()
    controller.rate(6)
    controller.read(made=False)
    assert controller.gateway.state.throttle.leases[*BROKERS[0], LEADER_RATE].ours == "5,6"
    controller.crash()
    controller.settle()
    assert controller.gateway.state.throttle.leases[*BROKERS[0], LEADER_RATE].ours == "6"
    assert controller.config(BROKERS[0], LEADER_RATE) == "6"


def test_imported_leases_are_added_to_existing_leases() -> None:
    controller = Throttled(rate=None)
    state = controller.gateway.state
    controller.configs.values = {TOPIC: {LEADER_REPLICAS: "7:7,0:1,0:2"}, BROKERS[0]: {LEADER_RATE: "7"}}
    imported = [
        ThrottleLease(*TOPIC, LEADER_REPLICAS, "0:1,0:2", None),
        ThrottleLease(*BROKERS[0], LEADER_RATE, "5,7", None),
    ]
    controller.gateway.effects.clear()
    controller.gateway.do(LeasesImported(imported))
    assert list(state.throttle.leases.values()) == imported
    assert controller.gateway.effects == [ReadThrottle()]
    controller.gateway.do(LeasesImported([imported[0]._replace(ours="0:2,0:3")]))
    assert state.throttle.leases[imported[0].key].ours == "0:1,0:2,0:3"
    controller.settle()
    assert controller.configs.values == {TOPIC: {LEADER_REPLICAS: "7:7"}, BROKERS[0]: {}}
    assert state.throttle.leases == {}


TARGETS = st.sampled_from([(1, 2), (1, 3), (3, 4), (2, 4)])
HAPPENINGS = st.one_of(
    st.tuples(st.just("alter"), st.sampled_from(["foo-0", "foo-1"]), TARGETS),
    st.tuples(st.just("rate"), st.sampled_from([None, 5, 6])),
    st.tuples(st.just("read"), st.integers(0, 3), st.booleans(), st.booleans()),
    st.tuples(st.just("catch up")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("others")),
    st.tuples(st.just("tool")),
)


def happen(controller: Throttled, what: object, details: list[object]) -> None:
    """Let one thing happen. The only value of others is an entry of the leaders' list."""
    match what, details:
        case "alter", [str(name), tuple(target)]:
            controller.gateway.alter({name: target})
        case "rate", [rate]:
            controller.rate(rate)  # type: ignore[arg-type]
        case "read", [int(lag), bool(answered), bool(made)]:
            controller.read(lag, answered=answered, made=made)
        case "catch up", []:
            controller.gateway.catch_up()
        case "crash", []:
            controller.crash()
        case "others", []:
            controller.configs.alter(TOPIC, [ConfigChange(LEADER_REPLICAS, ConfigOp.APPEND, "7:7")])
            controller.theirs = True
        case "tool", []:
            lists = [ConfigChange(each, ConfigOp.DELETE, None) for each in THROTTLED_REPLICAS]
            rates = [ConfigChange(each, ConfigOp.DELETE, None) for each in RATES]
            for resource in (TOPIC, *BROKERS):
                controller.configs.alter(resource, lists if resource == TOPIC else rates)
            controller.theirs = False


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(HAPPENINGS, max_size=25))
def test_after_any_sequence_of_events_only_values_of_others_remain(
    happenings: list[tuple[object, ...]],
) -> None:
    controller = Throttled()
    for what, *details in happenings:
        happen(controller, what, details)
    controller.rate(None)
    controller.settle()
    left = {
        config: value
        for values in controller.configs.values.values()
        for config, value in values.items()
        if value
    }
    assert left == ({LEADER_REPLICAS: "7:7"} if controller.theirs else {})
    assert controller.gateway.state.throttle.leases == {}
