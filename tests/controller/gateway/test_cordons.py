"""Cordons of brokers before a gateway: leases of `cordoned.log.dirs` (KIP-1066)."""

from controller.gateway.events import CordonRefused, ThrottleRead
from controller.gateway.throttle import throttles_to_read
from controller.messages.effects import AlterThrottle, ReadThrottle, Submit
from controller.messages.job_events import RollBackJob
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    EXCLUDED_BROKERS,
    ConfigChange,
    ConfigOp,
    Resource,
    ResourceType,
)
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
    gateway.do(CordonRefused(3, "it is older than Kafka 4.3"))
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
