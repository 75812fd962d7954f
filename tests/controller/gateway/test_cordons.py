"""Cordons of brokers before a gateway: leases of `cordoned.log.dirs` (KIP-1066)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from controller.gateway.events import CordonRefused, DirsRemoved, ThrottleRead
from controller.gateway.throttle import throttles_to_read
from controller.messages.effects import AlterThrottle, ReadThrottle, Submit
from controller.messages.job_events import RollBackJob
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    EXCLUDED_BROKERS,
    EXCLUDED_DIRS,
    ConfigChange,
    ConfigOp,
    Resource,
    ResourceType,
)
from controller.model.disks import BrokerDir
from tests.controller.kraft import Gateway

THREE: Resource = (ResourceType.BROKER, "3")
SET = ConfigChange(CORDONED_LOG_DIRS, ConfigOp.SET, "*")
REMOVE = ConfigChange(CORDONED_LOG_DIRS, ConfigOp.DELETE, None)


def emptied(*excluded: str) -> Gateway:
    """A gateway with these brokers excluded, and its effects until now forgotten."""
    gateway = Gateway(("foo-0", (1, 3)))
    gateway.default(EXCLUDED_BROKERS, ",".join(excluded) or "3")
    return gateway


def read(gateway: Gateway, value: str | None, *acknowledged: ConfigChange) -> list[ConfigChange]:
    """Show the config of broker 3; return the changes that follow."""
    before = len(gateway.effects)
    values = {CORDONED_LOG_DIRS: value} if value is not None else {}
    gateway.do(ThrottleRead({THREE: values}, {THREE: acknowledged} if acknowledged else {}))
    altered = [each for each in gateway.effects[before:] if isinstance(each, AlterThrottle)]
    return [change for effect in altered for change in effect.changes.get(THREE, ())]


def leased(gateway: Gateway) -> bool:
    return (*THREE, CORDONED_LOG_DIRS) in gateway.state.throttle.leases


def test_an_excluded_broker_is_cordoned_by_a_lease_that_is_recorded_first() -> None:
    gateway = emptied()
    assert ReadThrottle() in gateway.effects
    assert throttles_to_read(gateway.state) == [THREE]
    assert read(gateway, None) == [SET]
    assert leased(gateway)
    assert read(gateway, "*", SET) == []
    assert throttles_to_read(gateway.state) == []


def test_it_is_uncordoned_when_it_is_allowed_again() -> None:
    gateway = emptied()
    read(gateway, None)
    gateway.default(EXCLUDED_BROKERS, None)
    assert read(gateway, "*") == [REMOVE]
    assert read(gateway, None, REMOVE) == []
    assert not leased(gateway)


def test_a_value_of_others_is_kept_and_never_removed() -> None:
    gateway = emptied()
    assert read(gateway, "/old") == []
    assert not leased(gateway)
    gateway.default(EXCLUDED_BROKERS, None)
    assert read(gateway, "/old") == []


def test_a_cordon_that_others_remove_is_set_again() -> None:
    gateway = emptied()
    read(gateway, None)
    read(gateway, "*", SET)
    assert read(gateway, None) == [SET]


def test_after_a_crash_the_lease_is_lifted_too() -> None:
    gateway = emptied()
    read(gateway, None)
    gateway.default(EXCLUDED_BROKERS, None)
    later = gateway.successor()
    assert throttles_to_read(later.state) == [THREE]
    assert read(later, "*") == [REMOVE]


def test_an_exclusion_without_a_lease_is_followed_after_a_crash() -> None:
    later = emptied().successor()
    assert throttles_to_read(later.state) == [THREE]


def test_an_older_kafka_is_asked_once_for_each_exclusion() -> None:
    gateway = emptied()
    read(gateway, None)
    gateway.do(CordonRefused(3, "it is older than Kafka 4.3", "*"))
    assert not leased(gateway)
    assert (gateway.state.settings.excluded_brokers, throttles_to_read(gateway.state)) == (frozenset(), [])
    assert gateway.state.gateway.cordon_refusals == {3: "it is older than Kafka 4.3"}
    gateway.default(EXCLUDED_BROKERS, "3")
    assert gateway.state.gateway.cordon_refusals == {}
    assert read(gateway, None) == [SET]


def test_a_rollback_lifts_the_cordon_before_its_rows() -> None:
    gateway = emptied()
    gateway.alter({"foo-0": (1, 2)})
    gateway.settle()
    before = len(gateway.effects)
    gateway.do(RollBackJob(1))
    assert gateway.state.settings.excluded_brokers == frozenset()
    kinds = [type(effect) for effect in gateway.effects[before:] if isinstance(effect, ReadThrottle | Submit)]
    assert kinds[0] is ReadThrottle


def test_a_rollback_elsewhere_leaves_the_cordon() -> None:
    gateway = emptied("3", "4")
    gateway.alter({"foo-0": (1, 2)})
    gateway.settle()
    gateway.do(RollBackJob(1))
    assert gateway.state.settings.excluded_brokers == frozenset({4})


def test_a_cancel_lifts_the_cordon() -> None:
    gateway = emptied()
    gateway.alter({"foo-0": (1, 2)})
    gateway.alter({"foo-0": None})
    assert gateway.state.settings.excluded_brokers == frozenset()


# ---- single directories -----------------------------------------------------------------------------------


def append(*paths: str) -> ConfigChange:
    return ConfigChange(CORDONED_LOG_DIRS, ConfigOp.APPEND, ",".join(paths))


def subtract(*paths: str) -> ConfigChange:
    return ConfigChange(CORDONED_LOG_DIRS, ConfigOp.SUBTRACT, ",".join(paths))


def without(*paths: str) -> Gateway:
    """A gateway with these directories of broker 3 excluded."""
    gateway = Gateway(("foo-0", (1, 3)))
    exclude(gateway, *paths)
    return gateway


def exclude(gateway: Gateway, *paths: str) -> None:
    gateway.default(EXCLUDED_DIRS, ",".join(f"3:{path}" for path in paths) or None)


def test_an_excluded_directory_is_cordoned_by_a_lease_that_is_recorded_first() -> None:
    gateway = without("/a")
    assert throttles_to_read(gateway.state) == [THREE]
    assert read(gateway, None) == [append("/a")]
    assert leased(gateway)
    assert read(gateway, "/a", append("/a")) == []
    assert throttles_to_read(gateway.state) == []


def test_the_last_directory_that_is_allowed_again_removes_the_config() -> None:
    gateway = without("/a", "/b")
    read(gateway, None)
    exclude(gateway, "/b")
    assert read(gateway, "/a,/b") == [subtract("/a")]
    exclude(gateway)
    assert read(gateway, "/b", subtract("/a")) == [REMOVE]
    assert read(gateway, None, REMOVE) == []
    assert not leased(gateway)


def test_directories_that_others_have_cordoned_stay_beside_ours() -> None:
    gateway = without("/a")
    assert read(gateway, "/old") == [append("/a")]
    exclude(gateway)
    assert read(gateway, "/old,/a", append("/a")) == [subtract("/a")]
    assert read(gateway, "/old", subtract("/a")) == []
    assert not leased(gateway)


def test_a_broker_that_others_cordon_needs_no_directory() -> None:
    gateway = without("/a")
    assert read(gateway, "*") == []
    assert not leased(gateway)
    assert read(gateway, None) == [append("/a")]


def test_a_drained_broker_is_cordoned_as_a_whole_and_then_its_directories_again() -> None:
    gateway = without("/a", "/b")
    read(gateway, None)
    gateway.default(EXCLUDED_BROKERS, "3")
    assert read(gateway, "/a,/b") == [SET]
    gateway.default(EXCLUDED_BROKERS, None)
    assert read(gateway, "*", SET) == [subtract("*")]
    assert read(gateway, "", subtract("*")) == [append("/a", "/b")]


def test_a_refused_directory_is_given_up_and_others_of_its_broker_are_kept() -> None:
    gateway = without("/a")
    read(gateway, None)
    exclude(gateway, "/a", "/b")
    read(gateway, "/a")
    gateway.do(CordonRefused(3, "there is no /b", "/b"))
    assert gateway.state.settings.excluded_dirs == {3: ["/a"]}
    assert gateway.state.gateway.cordon_refusals == {3: "there is no /b"}
    exclude(gateway)
    assert read(gateway, "/a") == [REMOVE]


def test_the_cordon_of_a_directory_that_was_removed_ends() -> None:
    gateway = without("/a", "/b")
    read(gateway, None)
    gateway.do(DirsRemoved([BrokerDir(3, "/a"), BrokerDir(4, "/a")]))
    assert gateway.state.settings.excluded_dirs == {3: ["/b"]}
    assert read(gateway, "/a,/b") == [subtract("/a")]


@dataclass
class Upstream:
    """The config at Kafka, and what of it others have set."""

    value: list[str] | None = None
    others: set[str] = field(default_factory=set)
    acknowledged: Sequence[ConfigChange] = ()

    @property
    def text(self) -> str | None:
        return None if self.value is None else ",".join(self.value)

    def change(self, change: ConfigChange) -> None:
        """Do as Kafka: `*` stands alone, and an entry is there once."""
        entries, items = (change.value or "").split(","), self.value or []
        match change.op:
            case ConfigOp.SET:
                assert not self.others
                self.value = entries
            case ConfigOp.DELETE:
                assert not self.others
                self.value = None
            case ConfigOp.APPEND:
                assert "*" not in items
                self.value = [*items, *(entry for entry in entries if entry not in items)]
            case ConfigOp.SUBTRACT:
                assert self.others.isdisjoint(entries)
                self.value = [entry for entry in items if entry not in entries]

    def toggle_others(self) -> None:
        """Let others add their directory, or remove it."""
        if self.others:
            self.others, self.value = set(), [entry for entry in self.value or [] if entry != "/old"]
        elif "*" not in (self.value or []):
            self.others, self.value = {"/old"}, [*(self.value or []), "/old"]

    def step(self, gateway: Gateway, *, heard: bool = True) -> bool:
        """Let the gateway read and alter the config; return whether it did. Its answer may get lost."""
        changes = read(gateway, self.text, *self.acknowledged)
        for change in changes:
            self.change(change)
        self.acknowledged = changes if heard else ()
        return bool(changes)

    def settle(self, gateway: Gateway) -> None:
        for _ in range(10):
            if not self.step(gateway):
                return
        raise AssertionError(f"altered again and again: {self.text}")


@given(st.lists(st.sampled_from(["/a", "/b", "broker", "others", "read", "lost", "crash"]), max_size=12))
def test_what_is_cordoned_is_lifted_and_nothing_of_others(happenings: Sequence[str]) -> None:
    gateway, kafka = Gateway(("foo-0", (1, 3))), Upstream()
    dirs: set[str] = set()
    drained = False
    for happening in happenings:
        match happening:
            case "broker":
                drained = not drained
                gateway.default(EXCLUDED_BROKERS, "3" if drained else None)
            case "others":
                kafka.toggle_others()
            case "crash":
                gateway, kafka.acknowledged = gateway.successor(), ()
            case "read" | "lost":
                kafka.step(gateway, heard=happening == "read")
            case path:
                dirs ^= {path}
                exclude(gateway, *sorted(dirs))
    kafka.settle(gateway)
    if not kafka.others:
        assert {*(kafka.value or ())} == ({"*"} if drained else dirs)
    exclude(gateway)
    gateway.default(EXCLUDED_BROKERS, None)
    kafka.settle(gateway)
    assert ({*(kafka.value or ())}, leased(gateway)) == (kafka.others, False)
