"""Outdated metadata: the polled broker has not published what the controller has committed."""

from dataclasses import replace

import pytest

from controller.gateway.events import Unreachable, UpstreamTopic
from controller.messages.events import Stalled
from controller.messages.job_events import Pause, RollBackJob
from controller.model.cluster import Ending
from controller.model.thresholds import EXTERNAL_CHANGE, METADATA_LAG
from controller.reassignment.phases import Phase
from tests.builders import key
from tests.controller.kraft import Gateway

FOO = ("foo-0", (4, 1))
KEY = key("foo-0")


def lagging() -> Gateway:
    """Return a gateway with a completed step, while brokers show the metadata from before the step."""
    gateway = Gateway(FOO)
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.catch_up()
    assert gateway.kafka.replicas[KEY] == (2, 3)
    return gateway


def test_metadata_from_before_a_completed_step_does_not_block_the_partition() -> None:
    gateway = lagging()
    gateway.poll_for(METADATA_LAG.ms // 2)
    assert gateway.phase("foo-0") is Phase.MOVING
    gateway.kafka.lagging = None
    assert gateway.settle().phase("foo-0") is Phase.IDLE
    assert [row.replicas for row in gateway.kafka.requests] == [(2, 3)]


def test_metadata_from_the_middle_of_a_completed_step_does_not_block_the_partition() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    gateway.kafka.freeze()
    gateway.kafka.catch_up(KEY)
    gateway.poll_for(METADATA_LAG.ms // 2)
    assert gateway.phase("foo-0") is Phase.MOVING
    gateway.kafka.lagging = None
    assert gateway.settle().phase("foo-0") is Phase.IDLE


def test_metadata_that_is_unchanged_for_a_minute_is_confirmed() -> None:
    gateway = lagging()
    gateway.poll_for(METADATA_LAG.ms + EXTERNAL_CHANGE.ms)
    assert gateway.waiting_reason("foo-0") == "cancelled by another client"


def test_a_step_that_completed_before_its_undo_is_reversed_with_another_step() -> None:
    gateway = lagging()
    gateway.alter({"foo-0": None})
    gateway.poll_for(METADATA_LAG.ms // 2)
    assert gateway.reassignment_of("foo-0") is not None
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)
    assert gateway.reassignment_of("foo-0") is None


def test_an_undo_that_the_upstream_confirmed_needs_no_wait() -> None:
    gateway = Gateway(("foo-0", (1, 4)))
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    gateway.deliver()  # the cancel
    gateway.deliver()  # the row to the base list
    gateway.poll()
    assert (gateway.kafka.replicas[KEY], gateway.reassignment_of("foo-0")) == ((1, 4), None)


def test_the_cancel_of_a_reorder_ends_as_soon_as_the_new_order_is_seen() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (1, 4)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    for _ in range(5):
        gateway.deliver()
        gateway.poll()
    assert (gateway.kafka.replicas[KEY], gateway.reassignment_of("foo-0")) == ((4, 1), None)


def test_an_undo_that_can_change_the_order_is_awaited_and_the_order_is_restored() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    gateway.deliver()
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    assert (gateway.kafka.replicas[KEY], gateway.reassignment_of("foo-0") is None) == ((1, 4), False)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)
    assert gateway.reassignment_of("foo-0") is None


def test_metadata_older_than_the_previous_poll_is_ignored() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    older = gateway.kafka.poll()
    gateway.kafka.catch_up(KEY)
    gateway.settle()
    gateway.do(replace(older, moves={}))
    assert gateway["foo-0"].replicas == (2, 3)


def test_a_step_that_completed_before_its_undo_is_reversed_after_a_leader_change() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.lead(KEY, 1)  # not seen before the step is submitted
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (2, 3)})
    gateway.catch_up()
    gateway.alter({"foo-0": None})
    gateway.deliver()
    gateway.poll_for(EXTERNAL_CHANGE.ms // 2)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_a_step_that_completed_before_its_undo_is_reversed_after_a_restart() -> None:
    before = lagging()
    before.alter({"foo-0": None})
    before.deliver()
    gateway = before.successor()
    gateway.poll_for(EXTERNAL_CHANGE.ms // 2)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_an_undo_that_left_another_order_is_waited_for() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (1, 2)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    gateway.deliver()
    gateway.poll()
    assert gateway.kafka.replicas[KEY] == (1, 4)
    gateway.kafka.lagging = None
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_the_result_of_a_step_is_found_despite_outages() -> None:
    gateway = Gateway(("foo-0", (1, 4)))
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    gateway.lose_answers()
    for _ in range(EXTERNAL_CHANGE.ms // 1_000 + 1):
        gateway.poll_for(1_000)
        gateway.do(Unreachable("connection refused"))
    assert gateway.reassignment_of("foo-0") is None


def test_an_add_only_step_is_not_complete_while_brokers_show_its_middle() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (4, 1, 2)})
    gateway.deliver()
    gateway.poll()
    gateway.kafka.freeze()
    gateway.kafka.alter(KEY, None)
    gateway.poll_for(EXTERNAL_CHANGE.ms // 2)
    gateway.kafka.lagging = None
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    assert gateway.waiting_reason("foo-0") == "cancelled by another client"


def adding() -> Gateway:
    """Return a gateway with an active add-only step. Brokers keep showing its middle."""
    gateway = Gateway(("foo-0", (5,)))
    gateway.alter({"foo-0": (5, 1)})
    gateway.deliver()
    gateway.poll()
    gateway.kafka.freeze()
    return gateway


def publish(gateway: Gateway) -> Gateway:
    """Publish the current metadata for longer than a discrepancy needs to be confirmed."""
    gateway.poll_for(2 * EXTERNAL_CHANGE.ms)
    gateway.kafka.lagging = None
    gateway.poll_for(2 * EXTERNAL_CHANGE.ms)
    return gateway


def test_a_stalled_add_only_step_is_not_complete_while_brokers_show_its_middle() -> None:
    gateway = adding()
    gateway.do(Stalled([KEY]))
    gateway.deliver()
    publish(gateway)
    assert gateway.state.orders.finished == {}
    assert gateway.settle().kafka.replicas[KEY] == (5, 1)


def test_an_order_repeated_after_a_cancel_is_executed_while_brokers_show_its_middle() -> None:
    gateway = adding()
    gateway.alter({"foo-0": None})
    gateway.alter({"foo-0": (5, 1)})
    gateway.deliver()
    publish(gateway)
    assert gateway.reassignment_of("foo-0") is not None
    assert gateway.settle().kafka.replicas[KEY] == (5, 1)


def test_an_add_only_step_replaced_during_a_pause_does_not_block_the_partition() -> None:
    gateway = adding()
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (5, 3)})
    gateway.deliver()
    publish(gateway)
    gateway.do(Pause(None, False))
    assert gateway.settle().kafka.replicas[KEY] == (5, 3)


@pytest.mark.parametrize("heard", [True, False])
def test_an_undone_add_only_step_is_recognised_after_a_restart(heard: bool) -> None:
    before = adding()
    before.alter({"foo-0": None})
    before.deliver() if heard else before.lose_answers()
    gateway = publish(before.successor()).settle()
    assert gateway.reassignment_of("foo-0") is None
    assert gateway.state.orders.finished[1][KEY].ending is Ending.ROLLED_BACK
    assert (gateway["foo-0"].replicas, gateway.state.gateway.steps) == ((5,), {})


def test_the_order_of_a_cancelled_step_is_restored_although_a_restart_has_lost_the_row() -> None:
    gateway = Gateway(("foo-0", (1, 2)))
    for target in ((2, 1, 3), None):
        gateway.alter({"foo-0": target})
    gateway.kafka.freeze()
    gateway.deliver()
    again = publish(gateway.successor())
    assert again.settle().kafka.replicas[KEY] == (1, 2)


def test_a_step_back_is_not_complete_because_one_broker_shows_the_list_of_before_after_a_restart() -> None:
    gateway = Gateway(("foo-0", (4, 1)))
    gateway.kafka.freeze()
    for target in ((1,), None):
        gateway.alter({"foo-0": target})
        gateway.deliver()
        gateway.poll()
    before, gateway.kafka.lagging = gateway.kafka.lagging, None
    gateway.poll()
    gateway.kafka.lagging = before
    assert publish(gateway.successor()).settle().kafka.replicas[KEY] == (4, 1)


def test_a_step_after_an_undone_one_is_not_complete_while_brokers_show_its_middle() -> None:
    gateway = Gateway(("foo-0", (4, 1)))
    gateway.alter({"foo-0": (4, 1, 2)})
    gateway.deliver()
    gateway.poll()
    gateway.kafka.freeze()
    gateway.alter({"foo-0": (4,)})
    gateway.deliver()
    publish(gateway)
    assert gateway.settle().kafka.replicas[KEY] == (4,)


def test_an_add_only_step_is_complete_when_its_replicas_are_in_sync() -> None:
    gateway = adding()
    gateway.kafka.catch_up(KEY)
    gateway.kafka.lagging = None
    gateway.poll()
    assert gateway.reassignment_of("foo-0") is None


def test_an_undone_leader_step_is_requested_again() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    gateway.kafka.freeze()
    gateway.do(Stalled([KEY]))
    gateway.deliver()
    publish(gateway)
    assert gateway.kafka.replicas[KEY] in {(4, 1), (2, 4, 1)}
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def poll_once_behind(gateway: Gateway, topics: list[UpstreamTopic]) -> None:
    """Poll a broker that lags, and after it brokers that do not."""
    gateway.kafka.lagging = topics
    gateway.poll()
    gateway.kafka.lagging = None


def test_an_order_back_to_what_a_lagging_broker_shows_is_carried_out() -> None:
    gateway = Gateway(FOO)
    before = gateway.kafka._topics()
    gateway.alter({"foo-0": (1, 4)})
    poll_once_behind(gateway.settle(), before)
    gateway.alter({"foo-0": (4, 1)})
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_a_rollback_leads_to_the_list_before_the_plan_though_a_lagging_broker_showed_an_older_one() -> None:
    gateway = Gateway(FOO)
    before = gateway.kafka._topics()
    gateway.alter({"foo-0": (4, 1, 3)})
    poll_once_behind(gateway.settle(), before)
    gateway.alter({"foo-0": (2, 5, 6)})
    gateway.settle().do(RollBackJob(2))
    assert gateway.settle().kafka.replicas[KEY] == (4, 1, 3)


def test_a_lost_row_is_not_taken_as_done_because_a_lagging_broker_shows_its_list() -> None:
    gateway = Gateway(FOO)
    before = gateway.kafka._topics()
    gateway.alter({"foo-0": (1, 4)})
    gateway.settle()
    gateway.alter({"foo-0": (4, 1)})
    gateway.lose_requests()
    poll_once_behind(gateway, before)
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_an_undo_does_not_end_at_a_list_from_before_the_last_step() -> None:
    gateway = Gateway(FOO)
    before = gateway.kafka._topics()
    gateway.alter({"foo-0": (4, 1, 2)})
    gateway.deliver()
    gateway.kafka.catch_up(KEY)
    gateway.alter({"foo-0": (5, 2)})
    gateway.deliver()
    gateway.poll()
    gateway.lose_requests()
    gateway.alter({"foo-0": None})
    gateway.deliver()
    poll_once_behind(gateway, before)
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_an_undo_does_not_end_at_the_list_of_the_step_that_was_replaced() -> None:
    gateway = Gateway(("foo-0", (6, 1, 4)))
    gateway.alter({"foo-0": (2, 6)})
    gateway.deliver()
    gateway.poll()
    gateway.alter({"foo-0": (6,)})
    gateway.alter({"foo-0": (7, 1, 3)})
    gateway.kafka.catch_up(KEY)
    replaced = gateway.kafka._topics()
    gateway.do(Pause(None, True))
    gateway.deliver()
    poll_once_behind(gateway, replaced)
    gateway.poll_for(2 * EXTERNAL_CHANGE.ms)
    gateway.do(Pause(None, False))
    assert gateway.settle().kafka.replicas[KEY] == (7, 1, 3)


def test_a_list_that_equals_the_middle_of_the_cancelled_step_blocks_the_partition() -> None:
    gateway = Gateway(("foo-0", (2, 4)))
    gateway.alter({"foo-0": (4, 1, 3)})
    gateway.deliver()
    gateway.poll()
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (5, 6)})
    gateway.settle()
    gateway.kafka.alter(KEY, (3, 4, 1, 2))
    gateway.kafka.catch_up(KEY)
    gateway.poll_for(2 * METADATA_LAG.ms)
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.blocked == "another client changed its replicas to [3, 4, 1, 2]"


def test_a_cancel_restores_the_original_though_another_client_changed_it_before_the_row_arrived() -> None:
    gateway = Gateway(("foo-0", (2, 1)))
    gateway.alter({"foo-0": (3, 2, 1, 4)})
    gateway.kafka.alter(KEY, (2,))
    gateway.alter({"foo-0": None})
    assert gateway.settle().kafka.replicas[KEY] == (2, 1)


def test_brokers_may_lag_after_a_step_that_was_in_progress_for_long_without_a_poll() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    gateway.now_ms += 2 * METADATA_LAG.ms
    gateway.kafka.freeze()
    gateway.kafka.catch_up(KEY)
    gateway.poll_for(METADATA_LAG.ms // 2)
    gateway.kafka.lagging = None
    gateway.settle()
    assert (gateway.kafka.replicas[KEY], gateway.reassignment_of("foo-0")) == ((2, 3), None)
