from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.gateway.events import TopicConfigsSeen
from controller.model.cluster import TopicPartition
from controller.state.state import State
from controller.views.jobs import waiting_reason
from tests.builders import key
from tests.controller.kraft import Gateway

FOO, BAR = ("foo-0", (4, 1)), ("bar-0", (7, 8))


def sick() -> Gateway:
    """Return a gateway whose broker 8 is missing and whose bar-0 is under its min ISR."""
    gateway = Gateway(FOO, BAR)
    gateway.do(TopicConfigsSeen({"bar": {"min.insync.replicas": "2"}}))
    gateway.kafka.down.add(8)
    gateway.kafka.catch_up(key("bar-0"))
    gateway.poll()
    return gateway


def test_the_reason_names_broker_and_partition() -> None:
    assert (
        sick().state.gateway.health_problem
        == "missing: broker 8; under min ISR: bar-0 (1 in sync, min.insync.replicas 2)"
    )


def test_no_step_starts_while_the_cluster_is_unhealthy_and_the_reason_is_shown() -> None:
    gateway = sick()
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.in_flight() == []
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    reason = waiting_reason(gateway.state, wanted)
    assert reason.startswith("the cluster is unhealthy: missing: broker 8")


def stopped(*more: tuple[str, tuple[int, ...]]) -> Gateway:
    """Return a gateway whose broker 8 was drained and stopped, and stays registered."""
    gateway = Gateway(FOO, *more)
    gateway.kafka.down.add(8)
    gateway.poll()
    return gateway


def test_a_stopped_broker_that_holds_nothing_does_not_hold_steps() -> None:
    gateway = stopped()
    assert (gateway.state.gateway.health_problem, gateway.state.cluster.idle_brokers) == ("", {8})
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.in_flight() == ["foo-0"]


def test_a_stopped_broker_that_holds_a_replica_or_is_to_get_one_holds_steps() -> None:
    assert stopped(("bar-0", (7, 8))).state.gateway.health_problem == "missing: broker 8"
    gateway = stopped()
    gateway.alter({"foo-0": (4, 8)})
    gateway.poll()
    assert gateway.state.gateway.health_problem == "missing: broker 8"


def test_a_broker_that_fails_after_it_got_replicas_holds_steps() -> None:
    gateway = stopped()
    gateway.kafka.down.clear()
    gateway.kafka.create("new-0", (8, 1))
    gateway.poll()
    gateway.kafka.down.add(8)
    gateway.do(replace(gateway.kafka.poll(), whole=False, topics=[]))
    assert gateway.state.gateway.health_problem == "missing: broker 8"


def test_a_repairing_move_starts_in_an_unhealthy_cluster() -> None:
    gateway = sick()
    gateway.alter({"bar-0": (7, 2)})
    assert gateway.in_flight() == ["bar-0"]


@pytest.mark.parametrize(("mode", "moving"), [("hold", 0), ("slow", 1), ("off", 2)])
def test_the_health_guard_has_modes(mode: str, moving: int) -> None:
    gateway = Gateway(FOO, ("foo-1", (4, 1)), BAR)
    gateway.default("reassignment.health.guard", mode)
    gateway.kafka.down.add(8)
    gateway.poll()
    gateway.alter({"foo-0": (2, 3), "foo-1": (2, 3)})
    assert len(gateway.in_flight()) == moving


def test_steps_start_when_the_cluster_is_healthy_again() -> None:
    gateway = sick()
    gateway.alter({"foo-0": (2, 3)})
    gateway.kafka.down.clear()
    gateway.kafka.catch_up(key("bar-0"))
    gateway.poll()
    assert gateway.state.gateway.health_problem == ""
    assert gateway.in_flight() == ["foo-0"]


def test_a_new_mode_applies_immediately() -> None:
    gateway = sick()
    gateway.alter({"foo-0": (2, 3)})
    gateway.default("reassignment.health.guard", "off")
    assert gateway.in_flight() == ["foo-0"]


def test_partitions_without_a_leader_are_unhealthy_and_counted() -> None:
    gateway = Gateway(*((f"foo-{n}", (1, 2)) for n in range(5)))
    for name in gateway.kafka.leader:
        gateway.kafka.leader[name] = -1
    gateway.poll()
    named = "foo-0 (no leader), foo-1 (no leader), foo-2 (no leader)"
    assert gateway.state.gateway.health_problem == f"under min ISR: {named} and 2 more"


def test_a_polled_config_applies_immediately() -> None:
    gateway = Gateway(BAR)
    gateway.kafka.isr[key("bar-0")] = (7,)
    gateway.poll()
    assert gateway.state.gateway.health_problem == ""
    gateway.do(TopicConfigsSeen({"bar": {"min.insync.replicas": "2"}}))
    assert gateway.state.gateway.health_problem == "under min ISR: bar-0 (1 in sync, min.insync.replicas 2)"


def test_a_reassigned_partition_may_be_repaired_until_its_reassignment_ends() -> None:
    gateway = sick()
    gateway.alter({"bar-0": (7, 2)})
    assert not gateway.state.gateway.under_min_isr
    gateway.alter({"bar-0": None})
    gateway.settle()
    assert list(gateway.state.gateway.under_min_isr) == [key("bar-0")]


def test_a_broker_that_is_not_listed_while_its_replicas_lag_is_missing() -> None:
    gateway = Gateway(FOO, BAR)
    gateway.kafka.brokers.discard(8)
    gateway.kafka.isr[key("bar-0")] = (7,)
    gateway.poll()
    assert gateway.state.gateway.health_problem == "missing: broker 8"
    gateway.kafka.brokers.add(8)
    gateway.kafka.catch_up(key("bar-0"))
    gateway.poll()
    assert gateway.state.gateway.health_problem == ""


@given(st.lists(st.sampled_from(["down", "up", "order", "cancel", "floor", "delete", "look"]), max_size=12))
def test_the_tracked_partitions_under_min_isr_equal_a_full_scan(done: list[str]) -> None:
    gateway = Gateway(FOO, BAR, ("bar-1", (4, 8)))
    for what in done:
        worsen(gateway, what)
        assert set(gateway.state.gateway.under_min_isr) == found_weak(gateway.state)


def worsen(gateway: Gateway, what: str) -> None:
    match what:
        case "down" | "up":
            gateway.kafka.down = {8} if what == "down" else set()
            for name in gateway.kafka.replicas:
                gateway.kafka.catch_up(name)
        case "order":
            gateway.alter({"bar-0": (7, 2)})
        case "cancel":
            gateway.alter({"bar-0": None})
        case "floor":
            gateway.do(TopicConfigsSeen({"bar": {"min.insync.replicas": "2"}}))
        case "delete":
            gateway.kafka.replicas.pop(key("bar-1"), None)
    gateway.poll()


def found_weak(state: State) -> set[TopicPartition]:
    return {
        p.key
        for p in state.cluster.all_partitions()
        if p.key not in state.orders.reassignments
        and (p.leader == -1 or (p.under_replicated and len(p.isr) < state.settings.min_isr(p.topic)))
    }
