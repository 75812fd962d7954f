from controller.model.cluster import Deleted, UpstreamStep
from controller.state.state import State
from controller.state.upstream import Discrepancy
from tests.builders import key


def test_a_submission_goes_with_what_was_counted_of_it() -> None:
    state = State()
    state.put(UpstreamStep("foo", 0, (1,), (2,)))
    state.doubt(key("foo-0"), Discrepancy.OLD, 0)
    state.delete(Deleted(UpstreamStep, key("foo-0")))
    assert (state.upstream_steps, state.doubts) == ({}, {})


def test_looks_in_a_row_count_as_long_as_they_show_the_same() -> None:
    state = State()
    shown = (Discrepancy.OLD, Discrepancy.OLD, Discrepancy.TURNED, Discrepancy.OLD)
    counts = [state.doubt(key("foo-0"), each, 0).looks for each in shown]
    assert counts == [1, 2, 1, 1]


def test_moves_of_others_raise_the_revision_of_what_is_listed_when_they_change() -> None:
    state, revisions = State(), []
    for change in (state.add_external, state.add_external, state.discard_external, state.discard_external):
        change(key("foo-0"))
        revisions.append(state.reassigning_revision)
    assert revisions == [1, 1, 2, 2]


def test_what_is_believed_was_seen_often_and_for_long() -> None:
    state = State()
    seen = [state.doubt(key("foo-0"), Discrepancy.OLD, now) for now in (0, 50, 1_000)]
    assert [each.confirmed(2, 1_000) for each in seen] == [False, False, True]
    assert not seen[-1].confirmed(4, 1_000)


def test_time_in_which_nobody_looked_counts_for_a_second_at_most() -> None:
    state = State()
    seen = [state.doubt(key("foo-0"), Discrepancy.ELSEWHERE, now) for now in (0, 60_000, 60_400)]
    assert [each.lasts_ms for each in seen] == [0, 1_000, 1_400]


def test_a_clock_that_is_set_back_costs_one_gap() -> None:
    state = State()
    times = (3_600_000, 3_600_500, 0, 500, 1_000)
    seen = [state.doubt(key("foo-0"), Discrepancy.ELSEWHERE, now) for now in times]
    assert [each.lasts_ms for each in seen] == [0, 500, 500, 1_000, 1_500]


def sent_at(every_ms: int, until_ms: int) -> list[int]:
    """When a row that is never taken is sent again, with a look so often."""
    state, foo = State(), key("foo-0")
    times = range(0, until_ms + 1, every_ms)
    return [now for now in times if state.again(foo, Discrepancy.NOT_TAKEN, now)]


def test_a_row_that_is_not_taken_is_sent_after_twice_as_long_each_time() -> None:
    doubled = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600]
    assert sent_at(50, 56_000) == [0, *doubled, 40_600, 55_600]


def test_slow_looks_do_not_make_the_pause_between_two_rows_longer() -> None:
    assert sent_at(10_000, 70_000) == [0, 10_000, 20_000, 40_000, 60_000]


def test_a_clock_that_is_set_back_does_not_keep_a_row_from_being_sent() -> None:
    state = State()
    times = (3_600_000, 3_600_100, 0, 100)
    assert [state.again(key("foo-0"), Discrepancy.NOT_TAKEN, now) for now in times] == [
        True,
        True,
        False,
        True,
    ]
