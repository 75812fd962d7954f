from controller.model.cluster import Deleted, UpstreamStep
from controller.model.thresholds import EXTERNAL_MOVE, METADATA_LAG, Discrepancy
from controller.modes import EMBEDDED
from controller.state.gateway import PastLists
from controller.state.state import State
from tests.builders import key


def test_the_end_of_a_submission_removes_its_sightings() -> None:
    state = State(mode=EMBEDDED)
    state.put(UpstreamStep("foo", 0, (1,), (2,)))
    state.gateway.sighted(key("foo-0"), Discrepancy.EXTERNAL_CHANGE, 0)
    state.delete(Deleted(UpstreamStep, key("foo-0")))
    assert (state.gateway.steps, state.gateway.tracking) == ({}, {})


def test_consecutive_polls_with_the_same_discrepancy_are_counted() -> None:
    state = State(mode=EMBEDDED)
    shown = (
        Discrepancy.EXTERNAL_CHANGE,
        Discrepancy.EXTERNAL_CHANGE,
        Discrepancy.EXTERNAL_MOVE,
        Discrepancy.EXTERNAL_CHANGE,
    )
    counts = [state.gateway.sighted(key("foo-0"), each, 0).polls for each in shown]
    assert counts == [1, 2, 1, 1]


def test_moves_of_others_raise_the_revision_of_what_is_listed_when_they_change() -> None:
    state, revisions = State(mode=EMBEDDED), []
    for change in (
        state.gateway.add_external,
        state.gateway.add_external,
        state.gateway.discard_external,
        state.gateway.discard_external,
    ):
        change(key("foo-0"))
        revisions.append(state.listing.revision)
    assert revisions == [1, 1, 2, 2]


def test_a_discrepancy_is_confirmed_by_enough_polls_over_enough_time() -> None:
    state, (polls, ms, _) = State(mode=EMBEDDED), EXTERNAL_MOVE
    too_few = [state.gateway.sighted(key("foo-0"), Discrepancy.EXTERNAL_MOVE, 0) for _ in range(polls)]
    late = state.gateway.sighted(key("foo-0"), Discrepancy.EXTERNAL_MOVE, 1_000)
    later = state.gateway.sighted(key("foo-0"), Discrepancy.EXTERNAL_MOVE, ms)
    assert [each.is_confirmed for each in (*too_few, late, later)] == [False] * (polls + 1) + [True]
    first = [
        state.gateway.sighted(key("bar-0"), Discrepancy.EXTERNAL_MOVE, now) for now in (0, 1_000, 2_000, ms)
    ]
    assert not first[-1].is_confirmed


def test_an_outage_ends_the_sightings_that_need_little_time() -> None:
    state = State(mode=EMBEDDED)
    for name, discrepancy in (
        ("foo-0", Discrepancy.EXTERNAL_MOVE),
        ("foo-1", Discrepancy.NOT_STARTED),
        ("foo-2", Discrepancy.EXTERNAL_CHANGE),
    ):
        state.gateway.sighted(key(name), discrepancy, 0)
    state.gateway.forget_sightings()
    assert state.gateway.sighted_keys() == {key("foo-2")}


def test_a_row_is_outstanding_until_it_is_answered() -> None:
    state, foo = State(mode=EMBEDDED), key("foo-0")
    state.gateway.request_answered(foo)  # the row of a process before a restart
    state.gateway.request_sent(foo)
    state.gateway.request_sent(foo)
    state.gateway.request_answered(foo)
    assert state.gateway.awaits_answer(foo)
    state.gateway.sighted(foo, Discrepancy.NOT_STARTED, 0)
    state.gateway.request_answered(foo)
    assert not state.gateway.awaits_answer(foo)
    assert state.gateway.forget_sighting(foo)
    assert (state.gateway.forget_sighting(foo), state.gateway.tracking) == (False, {})


def test_time_without_polls_counts_for_one_second_at_most() -> None:
    state = State(mode=EMBEDDED)
    seen = [
        state.gateway.sighted(key("foo-0"), Discrepancy.EXTERNAL_CHANGE, now) for now in (0, 60_000, 60_400)
    ]
    assert [each.lasted_ms for each in seen] == [0, 1_000, 1_400]


def test_a_clock_that_is_set_back_costs_one_gap() -> None:
    state = State(mode=EMBEDDED)
    times = (3_600_000, 3_600_500, 0, 500, 1_000)
    seen = [state.gateway.sighted(key("foo-0"), Discrepancy.EXTERNAL_CHANGE, now) for now in times]
    assert [each.lasted_ms for each in seen] == [0, 500, 500, 1_000, 1_500]


def sent_at(every_ms: int, until_ms: int) -> list[int]:
    """The times at which a row is sent again that is never accepted, with polls at this interval."""
    state, foo = State(mode=EMBEDDED), key("foo-0")
    times = range(0, until_ms + 1, every_ms)
    return [now for now in times if state.gateway.resend_is_due(foo, Discrepancy.NOT_STARTED, now)]


def test_a_row_that_is_not_taken_is_sent_after_twice_as_long_each_time() -> None:
    doubled = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600]
    assert sent_at(50, 56_000) == [0, *doubled, 40_600, 55_600]


def test_slow_polls_do_not_make_the_pause_between_two_rows_longer() -> None:
    assert sent_at(10_000, 70_000) == [0, 10_000, 20_000, 40_000, 60_000]


def test_a_clock_that_is_set_back_does_not_keep_a_row_from_being_sent() -> None:
    state = State(mode=EMBEDDED)
    times = (3_600_000, 3_600_100, 0, 100)
    assert [state.gateway.resend_is_due(key("foo-0"), Discrepancy.NOT_STARTED, now) for now in times] == [
        True,
        True,
        False,
        True,
    ]


FOO = key("foo-0")


def left() -> PastLists:
    """Return the past of foo-0, which has left 1,2 and the middle of a step at 1,000 ms."""
    past = PastLists()
    past.leave(FOO, 1_000, [(1, 2)], [frozenset({1, 2, 3})])
    return past


def test_a_broker_may_show_a_list_as_long_as_brokers_lag() -> None:
    past = left()
    until = 1_000 + METADATA_LAG.ms
    assert [past.may_show(FOO, (1, 2), now) for now in (1_000, until - 1, until)] == [True, True, False]
    assert [past.changed_lately(FOO, now) for now in (until - 1, until)] == [True, False]


def test_the_middle_of_a_step_is_recognised_in_any_order_and_a_list_only_in_its_own() -> None:
    past = left()
    shown = [(3, 1, 2), (2, 3, 1), (2, 1), (1, 2, 4)]
    assert [past.may_show(FOO, each, 1_000) for each in shown] == [True, True, False, False]
    assert not past.may_show(key("foo-1"), (1, 2), 1_000)


def test_each_change_prolongs_what_was_left_before() -> None:
    past = left()
    past.leave(FOO, 50_000, [(2, 1)])
    assert past.may_show(FOO, (1, 2), 1_000 + METADATA_LAG.ms)
    past.leave(FOO, 50_000 + METADATA_LAG.ms, [(4,)])
    assert not past.may_show(FOO, (1, 2), 50_000 + METADATA_LAG.ms)


def test_what_is_old_is_forgotten_and_so_is_a_partition_that_was_deleted() -> None:
    past = left()
    past.leave(key("foo-1"), 5_000, [(1,)])
    past.forget_old(1_000 + METADATA_LAG.ms)
    assert len(past) == 1
    past.forget(key("foo-1"))
    past.forget(key("foo-1"))
    assert len(past) == 0


def test_a_clock_that_is_set_back_does_not_keep_a_list_for_longer() -> None:
    past = left()
    assert past.may_show(FOO, (1, 2), 0)
    assert not past.may_show(FOO, (1, 2), METADATA_LAG.ms)


def test_the_past_of_a_move_lasts_until_brokers_no_longer_lag_behind_its_end() -> None:
    past = left()
    past.leave(FOO, 1_000, moving=True)
    end = 9 * METADATA_LAG.ms
    past.forget_old(end)
    past.stop(FOO, end)
    past.stop(FOO, end + 1)
    assert [past.may_show(FOO, (1, 2), end + ms) for ms in (0, METADATA_LAG.ms)] == [True, False]
