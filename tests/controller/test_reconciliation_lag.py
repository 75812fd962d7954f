"""Metadata that is seconds old: it comes from a broker that has not published yet what the controller has committed."""

from dataclasses import replace

import pytest

from controller.messages.events import Stalled
from controller.messages.job_events import Pause
from controller.messages.upstream_events import Unreachable
from controller.model.cluster import Ending
from controller.model.thresholds import EXTERNAL_CHANGE, METADATA_LAG
from controller.reassignment.phases import Phase
from tests.builders import key
from tests.controller.kraft import Gateway

FOO = ("foo-0", (4, 1))
KEY = key("foo-0")


def lagging() -> Gateway:
    """A step that the upstream has completed, while brokers show what was before it was asked for."""
    gateway = Gateway(FOO)
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.catch_up()
    assert gateway.kafka.replicas[KEY] == (2, 3)
    return gateway


def test_nobody_is_blamed_while_brokers_show_what_was_before_a_step_that_is_over() -> None:
    gateway = lagging()
    gateway.look_for(METADATA_LAG.ms // 2)
    assert gateway.phase("foo-0") is Phase.MOVING
    gateway.kafka.lagging = None
    assert gateway.settle().phase("foo-0") is Phase.IDLE
    assert [row.replicas for row in gateway.kafka.requests] == [(2, 3)]


def test_nobody_is_blamed_while_brokers_show_the_middle_of_a_step_that_is_over() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.look()
    gateway.kafka.freeze()
    gateway.kafka.catch_up(KEY)
    gateway.look_for(METADATA_LAG.ms // 2)
    assert gateway.phase("foo-0") is Phase.MOVING
    gateway.kafka.lagging = None
    assert gateway.settle().phase("foo-0") is Phase.IDLE


def test_what_brokers_show_for_a_minute_is_believed() -> None:
    gateway = lagging()
    gateway.look_for(METADATA_LAG.ms)
    assert gateway.waiting_reason("foo-0") == "cancelled by someone else"


def test_a_step_that_was_over_before_it_was_taken_back_is_gone_back_from() -> None:
    gateway = lagging()
    gateway.alter({"foo-0": None})
    gateway.look_for(METADATA_LAG.ms // 2)
    assert gateway.reassignment_of("foo-0") is not None
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)
    assert gateway.reassignment_of("foo-0") is None


def test_a_way_back_that_the_upstream_has_confirmed_is_not_waited_for() -> None:
    gateway = Gateway(("foo-0", (1, 4)))
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.alter({"foo-0": None})
    gateway.carry()
    gateway.look()
    assert (gateway.kafka.replicas[KEY], gateway.reassignment_of("foo-0")) == ((1, 4), None)


def test_the_cancel_of_a_step_that_only_reorders_is_over_as_soon_as_the_new_order_is_seen() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (1, 4)})
    gateway.carry()
    gateway.alter({"foo-0": None})
    for _ in range(5):
        gateway.carry()
        gateway.look()
    assert (gateway.kafka.replicas[KEY], gateway.reassignment_of("foo-0")) == ((4, 1), None)


def test_one_that_may_have_another_order_is_and_then_the_order_is_restored() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.alter({"foo-0": None})
    gateway.carry()
    gateway.look_for(EXTERNAL_CHANGE.ms)
    assert (gateway.kafka.replicas[KEY], gateway.reassignment_of("foo-0") is None) == ((1, 4), False)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)
    assert gateway.reassignment_of("foo-0") is None


def test_a_broker_that_lags_behind_the_one_asked_before_says_nothing() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.look()
    older = gateway.kafka.look()
    gateway.kafka.catch_up(KEY)
    gateway.settle()
    gateway.do(replace(older, moves={}))
    assert gateway["foo-0"].replicas == (2, 3)


def test_a_step_over_before_it_was_taken_back_is_gone_back_from_after_a_leader_change_too() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.lead(KEY, 1)  # not looked at before the step is asked for
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.catch_up()
    gateway.alter({"foo-0": None})
    gateway.carry()
    gateway.look_for(EXTERNAL_CHANGE.ms // 2)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_a_step_over_before_it_was_taken_back_is_gone_back_from_after_a_restart_too() -> None:
    before = lagging()
    before.alter({"foo-0": None})
    before.carry()
    gateway = before.again()
    gateway.look_for(EXTERNAL_CHANGE.ms // 2)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_a_way_back_that_left_another_order_is_waited_for() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (1, 2)})
    gateway.carry()
    gateway.alter({"foo-0": None})
    gateway.carry()
    gateway.look()
    assert gateway.kafka.replicas[KEY] == (1, 4)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_outages_keep_nobody_from_finding_out_what_became_of_a_step() -> None:
    gateway = Gateway(("foo-0", (1, 4)))
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.alter({"foo-0": None})
    gateway.send_unheard()
    for _ in range(EXTERNAL_CHANGE.ms // 1_000 + 1):
        gateway.look_for(1_000)
        gateway.do(Unreachable("connection refused"))
    assert gateway.reassignment_of("foo-0") is None


def test_a_step_that_only_adds_is_not_over_while_brokers_show_its_middle() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (4, 1, 2)})
    gateway.carry()
    gateway.look()
    gateway.kafka.freeze()
    gateway.kafka.alter(KEY, None)
    gateway.look_for(EXTERNAL_CHANGE.ms // 2)
    gateway.kafka.lagging = None
    gateway.look_for(EXTERNAL_CHANGE.ms)
    assert gateway.waiting_reason("foo-0") == "cancelled by someone else"


def adding() -> Gateway:
    """A step that only adds, taken by the upstream; brokers publish nothing from its middle on."""
    gateway = Gateway(("foo-0", (5,)))
    gateway.alter({"foo-0": (5, 1)})
    gateway.carry()
    gateway.look()
    gateway.kafka.freeze()
    return gateway


def publish(gateway: Gateway) -> Gateway:
    """Brokers show what is, for longer than anybody is blamed after."""
    gateway.look_for(2 * EXTERNAL_CHANGE.ms)
    gateway.kafka.lagging = None
    gateway.look_for(2 * EXTERNAL_CHANGE.ms)
    return gateway


def test_a_step_that_only_adds_and_stalls_is_not_over_while_brokers_show_its_middle() -> None:
    gateway = adding()
    gateway.do(Stalled([KEY]))
    gateway.carry()
    publish(gateway)
    assert gateway.state.finished == {}
    assert gateway.settle().kafka.replicas[KEY] == (5, 1)


def test_an_order_given_again_after_a_cancel_is_carried_out_though_brokers_show_its_middle() -> None:
    gateway = adding()
    gateway.alter({"foo-0": None})
    gateway.alter({"foo-0": (5, 1)})
    gateway.carry()
    publish(gateway)
    assert gateway.reassignment_of("foo-0") is not None
    assert gateway.settle().kafka.replicas[KEY] == (5, 1)


def test_nobody_is_blamed_for_a_step_that_only_adds_and_was_turned_while_paused() -> None:
    gateway = adding()
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (5, 3)})
    gateway.carry()
    publish(gateway)
    gateway.do(Pause(None, False))
    assert gateway.settle().kafka.replicas[KEY] == (5, 3)


@pytest.mark.parametrize("heard", [True, False])
def test_a_step_that_only_adds_and_was_taken_back_is_known_to_be_so_after_a_restart(heard: bool) -> None:
    before = adding()
    before.alter({"foo-0": None})
    before.carry() if heard else before.send_unheard()
    gateway = publish(before.again())
    assert gateway.reassignment_of("foo-0") is None
    assert gateway.state.finished[1][KEY].ending is Ending.ROLLED_BACK
    assert (gateway["foo-0"].replicas, gateway.state.upstream_steps) == ((5,), {})


def test_a_step_that_was_turned_is_not_over_while_brokers_show_its_middle() -> None:
    gateway = Gateway(("foo-0", (4, 1)))
    gateway.alter({"foo-0": (4, 1, 2)})
    gateway.carry()
    gateway.look()
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (4,)})
    assert gateway.state.upstream_steps[KEY].replaced == (4, 1, 2)
    gateway.carry()
    publish(gateway)
    assert gateway.settle().kafka.replicas[KEY] == (4,)


def test_a_step_that_only_adds_is_over_when_its_replicas_are_in_sync() -> None:
    gateway = adding()
    gateway.kafka.catch_up(KEY)
    gateway.kafka.lagging = None
    gateway.look()
    assert gateway.reassignment_of("foo-0") is None


def test_a_leader_step_that_was_taken_back_is_asked_for_again() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    gateway.carry()
    gateway.look()
    gateway.kafka.freeze()
    gateway.do(Stalled([KEY]))
    gateway.carry()
    publish(gateway)
    assert gateway.kafka.replicas[KEY] in {(4, 1), (2, 4, 1)}
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)
