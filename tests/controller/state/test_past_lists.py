from controller.model.thresholds import METADATA_LAG
from controller.state.past_lists import PastLists
from tests.builders import key

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
