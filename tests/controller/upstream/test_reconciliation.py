from common.error_codes import ErrorCode
from controller.messages.effects import Submit
from controller.messages.job_events import Pause
from controller.messages.upstream_events import Submitted
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
    """A move that the upstream has taken."""
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    return gateway


def test_an_answer_makes_the_step_active() -> None:
    assert moving().state.upstream_steps[KEY].stage is Stage.ACTIVE


def test_an_answer_that_was_lost_is_found_by_looking_and_nothing_is_sent_twice() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.lose_answers()
    gateway.poll()
    assert gateway.state.upstream_steps[KEY].stage is Stage.ACTIVE
    gateway.settle()
    assert [row.replicas for row in gateway.kafka.requests] == [(2, 3)]


def test_a_row_that_never_left_is_sent_after_a_look() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.lose_requests()
    gateway.poll()
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def test_a_row_that_is_not_taken_is_sent_ever_more_rarely() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    assert rows_sent(gateway) == 5
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def rows_sent(gateway: Gateway) -> int:
    """While the upstream hears nothing, in 16 looks of a quarter of a second."""
    before = len(gateway.effects)
    for _ in range(16):
        gateway.lose_requests()
        gateway.poll()
    return len([each for each in gateway.effects[before:] if isinstance(each, Submit)])


def test_a_row_that_takes_a_step_back_is_sent_ever_more_rarely() -> None:
    gateway = moving()
    gateway.alter({"foo-0": None})
    assert rows_sent(gateway) == 5
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_a_row_that_turns_a_step_is_sent_ever_more_rarely() -> None:
    gateway = turned()
    assert rows_sent(gateway) == 5
    assert gateway.settle().kafka.replicas[KEY] == (1,)


def test_nothing_is_concluded_while_a_row_is_on_its_way() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.do(gateway.kafka.poll(outstanding=[KEY]))
    assert len(gateway.effects) == 1


def test_a_refused_row_waits_with_the_reason_and_is_asked_for_again() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.lose_requests()
    gateway.do(Submitted([(KEY, (2, 3), Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no"))]))
    assert gateway.waiting_reason("foo-0") == "the upstream refused it: no"
    gateway.poll()
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def test_a_cancel_by_someone_else_blocks_the_partition_until_people_decide() -> None:
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


def test_a_move_that_someone_else_turned_elsewhere_is_not_fought_over() -> None:
    gateway = moving()
    gateway.kafka.alter(KEY, (5, 6))
    for _ in range(EXTERNAL_MOVE.polls):
        gateway.poll()
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.blocked == "another client moves it to [5, 6]"
    assert gateway.settle().kafka.replicas[KEY] == (5, 6)


def test_an_order_given_again_takes_over_what_someone_else_still_moves() -> None:
    gateway = moving()
    gateway.kafka.alter(KEY, (5, 6))
    for _ in range(EXTERNAL_MOVE.polls + 1):
        gateway.poll()
    assert gateway.state.external == {KEY}
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.state.external == set()
    assert gateway.settle().kafka.replicas[KEY] == (2, 3)


def stopped() -> Gateway:
    """A step that a stop left in flight, as the row that ends it was lost: nothing is wanted of its partition."""
    gateway = moving()
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.kafka.isr[KEY] = (4, 1, 2)
    gateway.poll()
    gateway.alter({"foo-0": None})
    gateway.lose_requests()
    gateway.poll()
    assert (gateway.state.upstream_steps[KEY].following, gateway.reassignment_of("foo-0")) == (
        (2, 4, 1),
        None,
    )
    gateway.lose_requests()
    return gateway


def others(gateway: Gateway) -> tuple[int, int]:
    """Our steps that move, and the moves of others: the second are charged, or the first would be wrong."""
    counted = totals(gateway.state)
    return counted.moving, counted.others


def test_a_move_that_someone_else_took_over_after_a_stop_counts_at_once_and_until_it_ends() -> None:
    gateway = stopped()
    gateway.kafka.alter(KEY, (5, 6))
    for _ in range(EXTERNAL_MOVE.polls + 1):
        gateway.poll()
        assert others(gateway) == (0, 1)
    assert gateway.state.upstream_steps == {}
    gateway.settle()
    assert others(gateway) == (0, 0)


def test_a_step_that_someone_else_ended_after_a_stop_counts_no_more() -> None:
    gateway = stopped()
    gateway.kafka.alter(KEY, (5, 6))
    gateway.kafka.catch_up(KEY)
    while KEY in gateway.state.upstream_steps:
        gateway.poll()
        assert min(others(gateway)) >= 0
    assert others(gateway) == (0, 0)


def test_replicas_that_someone_else_changed_before_the_turn_came_are_not_overwritten() -> None:
    gateway = Gateway(FOO)
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (2, 3)})
    gateway.kafka.alter(KEY, (1, 4))
    gateway.poll_for(EXTERNAL_CHANGE.ms)
    assert gateway.waiting_reason("foo-0") == "another client changed its replicas to [1, 4]"


def test_what_someone_else_has_done_already_is_done() -> None:
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


def test_a_restart_in_the_middle_follows_the_step_without_asking_again() -> None:
    gateway = moving()
    again = gateway.successor()
    assert again.settle().kafka.replicas[KEY] == (2, 3)
    assert len(again.kafka.requests) == 1


def turned() -> Gateway:
    """A step that the upstream has taken, and the row that turns it to replicas that have arrived."""
    gateway = moving()
    gateway.alter({"foo-0": (1,)})
    assert gateway.state.upstream_steps[KEY].replaced == (2, 3)
    return gateway


def test_a_row_that_turns_a_step_is_sent_again_when_it_was_lost() -> None:
    gateway = turned()
    gateway.lose_requests()
    for _ in range(EXTERNAL_MOVE.polls):
        gateway.poll()
    assert gateway.settle().kafka.replicas[KEY] == (1,)
    assert gateway.state.upstream_steps == {}


def test_a_step_that_ended_before_it_could_be_turned_is_gone_on_from() -> None:
    gateway = turned()
    gateway.lose_requests()
    gateway.kafka.catch_up(KEY)
    for _ in range(EXTERNAL_MOVE.polls):
        gateway.poll()
    assert gateway.settle().kafka.replicas[KEY] == (1,)


def test_a_step_and_the_row_that_turns_it_may_both_be_lost() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.alter({"foo-0": (1,)})
    gateway.lose_requests()
    assert gateway.settle().kafka.replicas[KEY] == (1,)


def test_a_step_is_turned_once_and_then_taken_back() -> None:
    gateway = turned()
    gateway.alter({"foo-0": (4,)})
    assert gateway.state.upstream_steps[KEY].stage is Stage.UNDOING
    assert gateway.settle().kafka.replicas[KEY] == (4,)


def test_a_step_that_was_turned_is_not_turned_any_more_once_the_upstream_has_it() -> None:
    gateway = turned()
    gateway.deliver()
    gateway.poll()
    assert gateway.settle().kafka.replicas[KEY] == (1,)


def test_a_step_whose_turning_is_refused_is_taken_back() -> None:
    gateway = turned()
    gateway.lose_requests()
    gateway.do(Submitted([(KEY, (1,), Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no"))]))
    assert gateway.state.upstream_steps[KEY].stage is Stage.UNDOING
    assert gateway.settle().kafka.replicas[KEY] == (1,)
    assert gateway.state.external == set()


def test_a_way_back_that_is_refused_leaves_open_which_way_it_goes() -> None:
    gateway = turned()
    gateway.alter({"foo-0": None})
    gateway.lose_requests()
    gateway.do(Submitted([(KEY, None, Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT))]))
    assert gateway.state.upstream_steps[KEY].stage is Stage.SUBMITTING
    assert gateway.settle().kafka.replicas[KEY] == (4, 1)


def test_nothing_is_concluded_from_a_look_that_is_older_than_a_row() -> None:
    gateway = Gateway(FOO)
    before = gateway.kafka.poll()
    gateway.alter({"foo-0": (2, 3)})
    sent = len(gateway.effects)
    gateway.do(before)
    assert len(gateway.effects) == sent
    gateway.deliver()
    assert gateway.state.tracking == {}


def test_a_step_that_ended_before_the_row_that_turns_it_came_is_gone_back_from() -> None:
    gateway = Gateway(("foo-0", (1, 2, 3)))
    gateway.alter({"foo-0": (2,)})
    gateway.alter({"foo-0": (1,)})
    gateway.deliver()  # the first row is done at once, and the second adds what that dropped
    assert (gateway.kafka.replicas[KEY], gateway.kafka.adding[KEY]) == ((1, 2), (1,))
    gateway.alter({"foo-0": None})
    assert gateway.settle().kafka.replicas[KEY] == (1, 2, 3)


def test_a_doubt_ends_with_what_it_was_about() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.alter(KEY, (2, 3))
    gateway.poll()
    gateway.kafka.freeze()
    gateway.kafka.catch_up(KEY)
    gateway.poll()
    assert gateway.state.tracking
    gateway.kafka.lagging = None
    gateway.poll()
    assert gateway.state.tracking == {}
