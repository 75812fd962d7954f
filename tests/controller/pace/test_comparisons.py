from controller.pace.comparisons import COMPARE_SECONDS, FIRST_PAUSE, LEAST_PAUSE, MOST_SECONDS, Comparisons
from controller.pace.window import LatencyWindow, Levels


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
