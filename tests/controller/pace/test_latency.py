from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from controller.pace.latency import (
    COMPARE_SECONDS,
    ENOUGH_IDLE,
    ENOUGH_SHORT,
    FALLEN,
    FIRST_PAUSE,
    IDLE_SECONDS,
    LEAST_PAUSE,
    MOST_SECONDS,
    MOST_TIMES,
    Comparisons,
    LatencyWindow,
    Levels,
    ProbeKey,
    Ratio,
    broker_ratios,
    quantile,
)


def filled(*rows: tuple[float, float], idle: bool = False) -> LatencyWindow:
    """Return a window with eight equal latencies for each time."""
    window = LatencyWindow()
    for at, value in rows:
        window.add(at, [value] * 8, idle=idle)
    return window


def test_the_short_window_has_the_last_three_seconds() -> None:
    assert filled((1, 50), (2, 50), (3, 4), (4, 4), (5, 4)).short() == 4


def test_where_latencies_are_rare_the_short_window_is_longer() -> None:
    window = LatencyWindow()
    for at in range(0, 20, 2):
        window.add(at, [float(at)], idle=False)
    assert (window.short(), window.seconds()) == (13.0, 10.0)


def test_the_short_window_is_a_mean() -> None:
    window = filled((1, 4), idle=True)
    window.add(2, [4, 4, 4, 4, 20, 4, 4, 20], idle=False)
    assert window.short() == 6


def test_a_single_request_counts_as_a_multiple_of_the_idle_level_at_most() -> None:
    window = filled((1, 4), (2, 4), idle=True)
    window.add(3, [4] * 7 + [1e6], idle=False)
    assert window.short() == (23 * 4 + MOST_TIMES * 4) / 24


def test_rare_slow_answers_show_in_the_long_window() -> None:
    window = LatencyWindow()
    for at in range(20):
        window.add(at, [4] * 7 + [90 if at % 5 == 0 else 4], idle=False)
    assert window.long() == 90


def test_too_few_latencies_say_nothing() -> None:
    window = LatencyWindow()
    assert (window.short(), window.long(), window.idle) == (None, None, None)
    window.add(1, [4.0] * (ENOUGH_SHORT - 1), idle=True)
    assert (window.short(), window.long(), window.idle) == (None, None, None)


def test_the_idle_level_comes_from_idle_seconds_only() -> None:
    window = filled((1, 4), (2, 4), idle=True)
    window.add(3, [90.0] * 5, idle=False)
    assert window.idle == Levels(4, 4)


def test_the_idle_level_forgets_old_seconds() -> None:
    window = filled((0, 90), idle=True)
    for at in range(1, int(IDLE_SECONDS) + 2):
        window.add(at, [4.0] * 5, idle=True)
    assert window.idle == Levels(4, 4)


def test_the_last_seconds_can_be_taken_as_idle() -> None:
    window = filled((1, 4), idle=True)
    window.forget_recent()
    for at in (10, 11, 12):
        window.add(at, [8.0] * 5, idle=False)
    window.take_as_idle()
    assert window.idle == Levels(8, 8)


def test_too_few_latencies_are_not_taken_as_idle() -> None:
    window = filled((1, 4), (2, 4), (3, 4), idle=True)
    window.forget_recent()
    window.add(10, [8.0] * (ENOUGH_IDLE - 1), idle=False)
    window.take_as_idle()
    assert window.idle == Levels(4, 4)


def test_the_idle_level_falls_with_the_latencies_of_a_move() -> None:
    window = filled((1, 9), (2, 9), idle=True)
    for at in range(3, 40):
        window.add(at, [9 / FALLEN] * 8, idle=False)
        window.follow_falling_idle()
    assert window.idle == Levels(9, 9)
    for at in range(40, 80):
        window.add(at, [4.0] * 8, idle=False)
        window.follow_falling_idle()
    assert window.idle is not None
    assert window.idle.short == 4


def test_recent_latencies_can_be_forgotten() -> None:
    window = filled((1, 4), (2, 4), idle=True)
    window.forget_recent()
    assert window.short() is None
    assert window.idle == Levels(4, 4)


def test_a_window_without_latencies_stays_as_it_is() -> None:
    window = filled((1, 4), (2, 4))
    window.add(9, [], idle=False)
    assert window.short() == 4


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_quantile_is_one_of_the_values(values: list[float], share: float) -> None:
    assert min(values) <= quantile(values, share) <= max(values)
    assert quantile(values, share) in values


def windows(latency: float, seconds: range, *, idle: bool = True) -> list[LatencyWindow]:
    window = LatencyWindow()
    for at in seconds:
        window.add(at, [latency] * 8, idle=idle)
    return [window]


def run(comparisons: Comparisons, rows: list[LatencyWindow], latency: float, seconds: range) -> list[bool]:
    """Follow each second with this latency; return whether a comparison ran then."""
    ran = []
    for at in seconds:
        rows[0].add(at, [latency] * 8, idle=False)
        comparisons.follow(at, rows)
        ran.append(comparisons.running)
    return ran


def test_a_comparison_takes_place_after_the_first_pause_and_ends() -> None:
    comparisons, rows = Comparisons(), windows(4, range(5))
    ran = run(comparisons, rows, 5, range(5, 5 + int(FIRST_PAUSE) + 1))
    assert ran == [False] * int(FIRST_PAUSE) + [True]
    after = range(66, 66 + int(COMPARE_SECONDS))
    assert run(comparisons, rows, 4, after)[-1] is False
    assert rows[0].idle == Levels(4, 4)


def test_an_unknown_idle_level_is_measured_at_once() -> None:
    comparisons, rows = Comparisons(), [LatencyWindow()]
    assert run(comparisons, rows, 4, range(1)) == [True]


def test_an_idle_level_that_has_changed_is_reported() -> None:
    comparisons, rows = Comparisons(), windows(4, range(5))
    comparisons.request(5)
    run(comparisons, rows, 9, range(5, 10))
    rows[0].add(10, [9.0] * 8, idle=False)
    assert comparisons.follow(10, rows)
    assert rows[0].idle == Levels(9, 9)


def test_the_pause_doubles_while_the_idle_level_remains() -> None:
    comparisons, rows = Comparisons(), windows(4, range(5))
    comparisons.request(5)
    ran = run(comparisons, rows, 4, range(5, 300))
    begins = [at for at in range(1, len(ran)) if ran[at] and not ran[at - 1]]
    assert begins == [int(COMPARE_SECONDS + 2 * FIRST_PAUSE)]


def test_comparisons_have_a_least_pause() -> None:
    comparisons, rows = Comparisons(), windows(9, range(5))
    comparisons.request(5)
    run(comparisons, rows, 9, range(5, 11))
    comparisons.request(11)
    assert True not in run(comparisons, rows, 9, range(11, 11 + int(LEAST_PAUSE) - 2))


def test_a_comparison_that_measures_too_little_is_repeated_ever_more_rarely() -> None:
    comparisons, rows = Comparisons(), [LatencyWindow()]
    ran = []
    for at in range(200):
        comparisons.follow(at, rows)
        ran.append(comparisons.running)
    begins = [at for at in range(200) if ran[at] and not ran[max(0, at - 1)]]
    assert begins == [45, 45 + 5 + int(4 * LEAST_PAUSE)]
    assert sum(ran) == 3 * COMPARE_SECONDS


def test_a_comparison_that_is_given_up_has_no_result() -> None:
    comparisons, rows = Comparisons(), windows(4, range(5))
    comparisons.request(5)
    assert run(comparisons, rows, 9, range(5, 8))[-1]
    comparisons.give_up(8, rows)
    assert not comparisons.running
    assert rows[0].idle == Levels(4, 4)


def test_a_comparison_lasts_until_each_broker_has_enough_latencies() -> None:
    comparisons, rows = Comparisons(), windows(4, range(5))
    comparisons.request(5)
    changes = []
    for at in range(5, 5 + 10):
        rows[0].add(at, [9.0, 9.0], idle=False)
        changes.append(comparisons.follow(at, rows))
    assert (True in changes, rows[0].idle) == (True, Levels(9, 9))


def test_a_comparison_with_too_few_latencies_ends_without_a_result() -> None:
    comparisons, rows = Comparisons(), windows(4, range(5))
    comparisons.request(5)
    comparisons.follow(5, rows)
    rows[0].add(8, [9.0], idle=False)
    assert not any(comparisons.follow(at, rows) for at in range(8, 6 + int(MOST_SECONDS)))
    assert not comparisons.running
    assert rows[0].idle == Levels(4, 4)


def slow_brokers(ratios: Mapping[ProbeKey, float]) -> dict[int, float]:
    """Return the ratios of brokers."""
    found = broker_ratios({taking: Ratio(ratio) for taking, ratio in ratios.items()})
    return {broker: ratio.now for broker, ratio in found.items()}


def test_a_broker_is_slow_if_all_its_probes_are() -> None:
    assert slow_brokers({(1, (2,)): 0.5, (2, (3,)): 3.0, (3, (4,)): 2.0, (4, (1,)): 0.5}) == {
        1: 0.5,
        2: 0.5,
        3: 2.0,
        4: 0.5,
    }


def test_a_slow_probe_of_fast_brokers_is_the_leaders() -> None:
    assert slow_brokers({(1, (2,)): 3.0, (2, (1,)): 0.5}) == {1: 3.0, 2: 0.5}


def test_without_followers_each_broker_has_its_own_ratio() -> None:
    assert slow_brokers({(1, ()): 3.0, (2, ()): 0.5}) == {1: 3.0, 2: 0.5}


@given(
    st.dictionaries(
        st.tuples(st.integers(1, 6), st.tuples(st.integers(1, 6))), st.floats(0.1, 10), max_size=12
    )
)
def test_every_slow_probe_has_a_slow_broker_and_every_slow_broker_a_slow_probe(
    ratios: dict[ProbeKey, float],
) -> None:
    found = slow_brokers(ratios)
    for (leader, followers), ratio in ratios.items():
        if ratio > 1:
            assert max(found[broker] for broker in (leader, *followers)) > 1
    for broker, ratio in found.items():
        if ratio > 1:
            assert any(each > 1 and broker in (key[0], *key[1]) for key, each in ratios.items())
