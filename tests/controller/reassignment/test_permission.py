"""Nothing is copied to a new broker while steps must not start, by whatever door the order comes."""

from collections.abc import Callable

import pytest

from controller.gateway.events import Unreachable
from controller.messages.effects import Submit
from controller.messages.events import Halt
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Queue, RollBackJob
from tests.builders import InMemoryController, key, partition
from tests.controller.kraft import Gateway

Change = Callable[[InMemoryController], object]

SATURDAY = "Sat 10:00-10:01"
STOPS: dict[str, tuple[Change, Change]] = {
    "paused": (lambda c: c.do(Pause(None, True)), lambda c: c.do(Pause(None, False))),
    "halted": (lambda c: c.do(Halt(True)), lambda c: c.do(Halt(False))),
    "closed": (
        lambda c: c.default("reassignment.schedule", SATURDAY),
        lambda c: c.default("reassignment.schedule", None),
    ),
}
DOORS: dict[str, Change] = {
    "an order": lambda c: c.alter({"foo-0": (5, 6, 7)}),
    "an order of half": lambda c: c.alter({"foo-0": (4, 6, 7)}),
    "a queued plan": lambda c: c.do(Queue([AlterTopic("foo", [AlterRow(0, (5, 6, 7))])])),
    "a rollback": lambda c: c.do(RollBackJob(1)),
    "a cancel": lambda c: c.alter({"foo-0": None}),
}


def moving() -> InMemoryController:
    """Return a controller with a step to broker 4 in flight, of a plan that has led from broker 8 before."""
    controller = InMemoryController(range(1, 9)).with_partitions(partition("foo-0", (8, 2, 3)))
    controller.alter({"foo-0": (1, 2, 3)})
    controller.settle()
    controller.alter({"foo-0": (4, 2, 3)})
    return controller


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("door", DOORS)
def test_no_copy_to_another_broker_starts_until_steps_may_start(stop: str, door: str) -> None:
    begin, end = STOPS[stop]
    controller = moving()
    begin(controller)
    DOORS[door](controller)
    assert set(controller["foo-0"].adding) <= {4}
    controller.settle()
    assert set(controller.replicas("foo-0")) <= {1, 2, 3, 4}
    end(controller)
    controller.settle()
    assert not controller.state.orders.reassignments


def test_an_order_of_a_paused_job_does_not_start_with_the_step_that_it_turns() -> None:
    controller = moving()
    controller.alter({"foo-0": (5, 6, 7)}, paused=True)
    assert controller.replicas("foo-0") == (1, 2, 3)
    controller.do(Pause(3, False))
    assert controller["foo-0"].adding == (5, 6, 7)


def test_an_order_does_not_pass_the_end_of_a_period_that_no_event_has_told_of() -> None:
    controller = moving()
    controller.now_ms = 34_000_000  # Thursday, 09:26 UTC
    controller.default("reassignment.schedule", "Thu 09:00-10:00")
    controller.now_ms = 36_000_001  # 10:00
    controller.alter({"foo-0": (5, 6, 7)})
    assert controller.replicas("foo-0") == (1, 2, 3)


def test_a_gateway_requests_nothing_while_the_upstream_is_unreachable() -> None:
    gateway = Gateway(("foo-0", (1, 2)), ("foo-1", (1, 2)), ("foo-2", (1, 2)), ("foo-3", (1, 2)))
    gateway.kafka.isr[key("foo-2")] = (1,)
    gateway.kafka.alter(key("foo-3"), (3, 4))
    gateway.poll()
    gateway.do(Unreachable("connection refused"))
    gateway.alter({"foo-0": (2, 1), "foo-1": (1,), "foo-2": (1, 3), "foo-3": (3, 4)})
    assert not any(isinstance(effect, Submit) for effect in gateway.effects)
    gateway.settle()
    assert [gateway.kafka.replicas[key(f"foo-{n}")] for n in range(4)] == [(2, 1), (1,), (1, 3), (3, 4)]
