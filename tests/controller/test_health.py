import pytest

from controller.job_views import why_not
from controller.state import State
from controller.upstream_events import TopicConfigsSeen
from tests.builders import key
from tests.controller.kraft import Gateway

FOO, BAR = ("foo-0", (4, 1)), ("bar-0", (7, 8))


def sick() -> Gateway:
    """Broker 8 is missing, and bar-0 is under its min ISR."""
    gateway = Gateway(FOO, BAR)
    gateway.do(TopicConfigsSeen({"bar": {"min.insync.replicas": "2"}}))
    gateway.kafka.down.add(8)
    gateway.kafka.catch_up(key("bar-0"))
    gateway.look()
    return gateway


def test_the_reason_names_broker_and_partition() -> None:
    assert (
        sick().state.trouble == "missing: broker 8; under min ISR: bar-0 (1 in sync, min.insync.replicas 2)"
    )


def test_nothing_new_starts_while_the_cluster_is_not_well_and_says_why() -> None:
    gateway = sick()
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.moving() == []
    wanted = gateway.wanted("foo-0")
    assert wanted is not None
    assert why_not(gateway.state, wanted, gateway["foo-0"]).startswith(
        "the cluster is not well: missing: broker 8"
    )


def test_a_move_that_repairs_starts_all_the_same() -> None:
    gateway = sick()
    gateway.alter({"bar-0": (7, 2)})
    assert gateway.moving() == ["bar-0"]


@pytest.mark.parametrize(("mode", "moving"), [("hold", 0), ("slow", 1), ("off", 2)])
def test_the_guard_can_be_told_how_careful_to_be(mode: str, moving: int) -> None:
    gateway = Gateway(FOO, ("foo-1", (4, 1)), BAR)
    gateway.default("reassignment.health.guard", mode)
    gateway.kafka.down.add(8)
    gateway.look()
    gateway.alter({"foo-0": (2, 3), "foo-1": (2, 3)})
    assert len(gateway.moving()) == moving


def test_a_cluster_that_is_well_again_goes_on() -> None:
    gateway = sick()
    gateway.alter({"foo-0": (2, 3)})
    gateway.kafka.down.clear()
    gateway.kafka.catch_up(key("bar-0"))
    gateway.look()
    assert gateway.state.trouble == ""
    assert gateway.moving() == ["foo-0"]


def test_a_new_mode_counts_at_once() -> None:
    gateway = sick()
    gateway.alter({"foo-0": (2, 3)})
    gateway.default("reassignment.health.guard", "off")
    assert gateway.moving() == ["foo-0"]


def test_a_partition_without_a_leader_is_trouble_and_many_are_counted() -> None:
    gateway = Gateway(*((f"foo-{n}", (1, 2)) for n in range(5)))
    for name in gateway.kafka.leader:
        gateway.kafka.leader[name] = -1
    gateway.look()
    named = "foo-0 (no leader), foo-1 (no leader), foo-2 (no leader)"
    assert gateway.state.trouble == f"under min ISR: {named} and 2 more"


def test_a_config_that_is_learnt_counts_at_once() -> None:
    gateway = Gateway(BAR)
    gateway.kafka.isr[key("bar-0")] = (7,)
    gateway.look()
    assert gateway.state.trouble == ""
    gateway.do(TopicConfigsSeen({"bar": {"min.insync.replicas": "2"}}))
    assert gateway.state.trouble == "under min ISR: bar-0 (1 in sync, min.insync.replicas 2)"


def test_many_partitions_in_trouble_cost_one_look_at_the_configs_of_their_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway(*((f"foo-{n}", (4, 1)) for n in range(50)))
    gateway.kafka.isr.update({key(f"foo-{n}"): (4,) for n in range(50)})
    gateway.look()
    asked: list[str] = []

    def min_isr(_: State, topic: str) -> int:
        asked.append(topic)
        return 1

    monkeypatch.setattr(State, "min_isr", min_isr)
    gateway.look()
    assert asked == ["foo"]
