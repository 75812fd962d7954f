from collections.abc import Callable

import pytest

from common.error_codes import ErrorCode
from controller.gateway.events import Submitted
from controller.messages.effects import Submit
from controller.messages.job_events import Pause
from controller.model.errors import Outcome
from controller.model.thresholds import EXTERNAL_CHANGE, EXTERNAL_MOVE
from controller.model.upstream_step import Stage
from controller.reassignment.phases import Phase
from controller.views.jobs import totals
from tests.builders import key
from tests.controller.kraft import Gateway, own

FOO = ("foo-0", (4, 1))
KEY = key("foo-0")


def moving() -> Gateway:
    """Return a gateway with a move that the upstream has accepted."""
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    return gateway


def test_an_answer_makes_the_step_active() -> None:
    assert moving().state.gateway.steps[KEY].stage is Stage.ACTIVE


def test_after_a_lost_answer_the_step_is_found_by_polling_and_not_sent_twice() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.lose_answers()
    gateway.poll()
    assert gateway.state.gateway.steps[KEY].stage is Stage.ACTIVE
    gateway.settle()
    assert [row.replicas for row in gateway.kafka.requests] == [(2, 3)]


def test_a_lost_row_is_sent_again_after_a_poll() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.lose_requests()
    gateway.poll()
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def test_a_row_without_effect_is_resent_with_growing_pauses() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    assert rows_sent(gateway) == 5
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def rows_sent(gateway: Gateway) -> int:
    """While the upstream gets no request, in 16 polls of a quarter of a second."""
    before = len(gateway.effects)
    for _ in range(16):
        gateway.lose_requests()
        gateway.poll()
    return len([each for each in gateway.effects[before:] if isinstance(each, Submit)])


def test_a_row_that_undoes_a_step_is_resent_with_growing_pauses() -> None:
    gateway = moving()
    gateway.alter({"foo-0": None})
    assert rows_sent(gateway) == 5
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_polls_are_not_evaluated_while_a_row_is_outstanding() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.do(gateway.kafka.poll(outstanding=[KEY]))
    assert len(gateway.effects) == 1


def test_a_refused_row_waits_with_the_reason_and_is_sent_again() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.lose_requests()
    gateway.do(Submitted([(KEY, (2, 3), Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no"))]))
    assert gateway.waiting_reason("foo-0") == "the upstream refused it: no"
    gateway.poll()
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def test_an_external_cancel_blocks_the_partition_until_a_new_request() -> None:
    gateway = moving()
    gateway.kafka.alter(KEY, None)
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    assert gateway.phase("foo-0") is Phase.WAITING
    assert gateway.waiting_reason("foo-0") == "cancelled by another client"
    assert gateway.settle().kafka.replicas[KEY] == (1, 4)
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def test_a_blocked_partition_is_still_blocked_after_a_restart() -> None:
    gateway = moving()
    gateway.kafka.alter(KEY, None)
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    again = gateway.successor()
    assert again.settle().kafka.replicas[KEY] == (1, 4)
    assert again.waiting_reason("foo-0") == "cancelled by another client"


def test_a_move_that_another_client_replaced_is_not_repeated() -> None:
    gateway = moving()
    gateway.kafka.alter(KEY, (5, 6))
    for _ in range(EXTERNAL_MOVE.polls):
        gateway.poll()
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.blocked == "another client moves it to [5, 6]"
    assert gateway.settle().kafka.replicas[KEY] == (5, 6)


def test_a_repeated_order_replaces_an_external_move() -> None:
    gateway = moving()
    gateway.kafka.alter(KEY, (5, 6))
    for _ in range(EXTERNAL_MOVE.polls + 1):
        gateway.poll()
    assert gateway.state.gateway.external == {KEY}
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.state.gateway.external == set()
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def stopped() -> Gateway:
    """A step that a stop left in flight, because its cancel was lost."""
    gateway = moving()
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.kafka.isr[KEY] = (4, 1, 2)
    gateway.poll()
    gateway.alter({"foo-0": None})
    gateway.lose_requests()
    gateway.poll()
    assert gateway.state.gateway.steps[KEY].is_cancelled
    assert gateway.reassignment_of("foo-0") is None
    gateway.lose_requests()
    return gateway


def others(gateway: Gateway) -> tuple[int, int]:
    """Our steps that move, and the moves of others: the second are charged, or the first would be wrong."""
    counted = totals(gateway.state)
    return counted.moving, counted.others


def test_an_external_move_after_a_stop_is_charged_until_it_ends() -> None:
    gateway = stopped()
    gateway.kafka.alter(KEY, (5, 6))
    for _ in range(EXTERNAL_MOVE.polls + 1):
        gateway.poll()
        assert others(gateway) == (0, 1)
    assert gateway.state.gateway.steps == {}
    gateway.settle()
    assert others(gateway) == (0, 0)


def test_a_stopped_step_that_another_client_ended_is_no_longer_charged() -> None:
    gateway = stopped()
    gateway.kafka.alter(KEY, (5, 6))
    gateway.kafka.catch_up(KEY)
    while KEY in gateway.state.gateway.steps:
        gateway.poll()
        assert min(others(gateway)) >= 0
    assert others(gateway) == (0, 0)


def test_replicas_changed_externally_before_the_step_are_not_overwritten() -> None:
    gateway = Gateway(FOO)
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (2, 3)})
    gateway.kafka.alter(KEY, (1, 4))
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    assert gateway.waiting_reason("foo-0") == "another client changed its replicas to [1, 4]"


def test_a_target_that_another_client_reached_is_complete() -> None:
    gateway = moving()
    again = Gateway(kafka=gateway.kafka)
    again.kafka.catch_up(KEY)
    again.put(*own(gateway.state))
    again.poll()
    assert again.phase("foo-0") is Phase.IDLE


def test_a_restart_between_intent_and_call_submits_once() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    again = gateway.successor()
    assert again.settle().kafka.replicas[KEY] == (2, 3)
    assert [row.replicas for row in again.kafka.requests] == [(2, 3)]


def test_a_restart_during_a_step_does_not_send_it_again() -> None:
    gateway = moving()
    again = gateway.successor()
    assert again.settle().kafka.replicas[KEY] == (2, 3)
    assert len(again.kafka.requests) == 1


@pytest.mark.parametrize("end", [Gateway.deliver, Gateway.lose_requests, Gateway.lose_answers])
def test_an_order_of_replicas_that_have_arrived_ends_at_them(end: Callable[[Gateway], None]) -> None:
    gateway = moving()
    gateway.kafka.isr[KEY] = (4, 1, 2)
    gateway.poll()
    gateway.alter({"foo-0": (2, 1)})
    end(gateway)
    assert gateway.settle().kafka.replicas[KEY] == (2, 1)
    assert gateway.state.gateway.steps == {}


def test_a_step_that_meets_a_move_of_a_late_row_is_undone_and_ordered_again() -> None:
    gateway = moving()
    for row in ((5, 6), (2, 3)):
        gateway.kafka.alter(KEY, row)
    assert (gateway.kafka.adding[KEY], gateway.kafka.removing[KEY]) == ((5, 6), (1, 4, 5, 6))
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)
    assert None in [row.replicas for row in gateway.kafka.requests]


def test_an_order_takes_over_a_move_of_another_client_that_never_ends() -> None:
    gateway = Gateway(FOO)
    for row in ((2, 3), (4,)):
        gateway.kafka.alter(KEY, row)
    gateway.poll_for(EXTERNAL_MOVE.ms)
    assert gateway.kafka.moves(KEY)
    gateway.alter({"foo-0": (4,)})
    assert gateway.settle().kafka.replicas[KEY] == (4,)


def test_a_poll_older_than_a_row_is_not_evaluated() -> None:
    gateway = Gateway(FOO)
    before = gateway.kafka.poll()
    gateway.alter({"foo-0": (2, 3)})
    sent = len(gateway.effects)
    gateway.do(before)
    assert len(gateway.effects) == sent
    gateway.deliver()
    assert gateway.state.gateway.tracking == {}


def test_a_discrepancy_ends_with_its_step() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.lose_requests()
    gateway.poll()
    assert gateway.state.gateway.tracking
    gateway.settle()
    assert gateway.state.gateway.tracking == {}
