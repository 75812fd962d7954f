from controller.effects import Elect, Submit
from controller.errors import DONE
from controller.phases import Phase
from controller.upstream_events import Measured
from controller.upstream_state import Disk
from tests.builders import key
from tests.controller.kraft import Gateway

FOO = ("foo-0", (4, 1))


def submits(gateway: Gateway) -> list[tuple[int, ...] | None]:
    return [row.replicas for row in gateway.kafka.requests]


def test_a_step_is_one_row_of_the_upstream() -> None:
    gateway = Gateway(FOO)
    assert gateway.alter({"foo-0": (2, 3)}) == {"foo-0": DONE}
    assert gateway.effects == [Submit("foo", 0, (2, 3))]
    assert gateway.phase("foo-0") is Phase.MOVING
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (2, 3)
    assert gateway.phase("foo-0") is Phase.IDLE
    assert submits(gateway) == [(2, 3)]
    assert gateway.state.submissions == {}


def test_a_cancel_restores_the_order_that_kafka_alone_loses() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (1, 3)})
    gateway.carry()
    gateway.alter({"foo-0": None})
    gateway.carry()
    gateway.look()
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (4, 1)
    assert submits(gateway) == [(1, 3), None, (4, 1)]


def test_an_override_leaks_no_replica() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.alter({"foo-0": (5, 6)})
    gateway.carry()
    gateway.look()
    gateway.alter({"foo-0": None})
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (4, 1)


def test_an_override_ends_at_the_new_target() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.alter({"foo-0": (5, 6)})
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (5, 6)


def test_a_stop_keeps_what_has_arrived() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.kafka.isr[key("foo-0")] = (4, 1, 2)
    gateway.look()
    gateway.alter({"foo-0": None})
    gateway.settle()
    assert set(gateway.kafka.replicas[key("foo-0")]) == {4, 1, 2}
    assert gateway.state.submissions == {}


def test_an_order_behind_a_stop_starts_from_where_the_step_began() -> None:
    gateway = Gateway(("foo-0", (1, 2)))
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (1, 2, 3)})
    gateway.carry()
    gateway.alter({"foo-0": None})
    gateway.alter({"foo-0": (1, 2, 3)})
    wanted = gateway.wanted("foo-0")
    assert wanted is not None
    assert wanted.original == (1, 2)
    assert gateway.settle().kafka.replicas[key("foo-0")] == (1, 2, 3)


def test_a_small_step_elects_the_new_leader_before_the_next_one() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    gateway.settle()
    assert Elect("foo", 0) in gateway.effects
    assert submits(gateway)[0] == (2, 4, 1)
    assert gateway.kafka.replicas[key("foo-0")] == (2, 3)
    assert gateway.kafka.leader[key("foo-0")] == 2


def test_a_leader_that_cannot_be_elected_does_not_hold_up_the_move() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.elect = lambda name: None  # type: ignore[method-assign]
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (2, 3)


def test_a_move_waits_for_room_on_the_disk_of_its_target() -> None:
    gateway = Gateway(FOO)
    gateway.do(Measured({key("foo-0"): 50}, {2: [Disk("/a", 100, 30, 1)], 3: [Disk("/b", 100, 90, 1)]}))
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.phase("foo-0") is Phase.WAITING
    assert gateway.why("foo-0") == "broker 2: /a would be 120% full, 90% is the most"
