"""The bytes that producers wrote, by what one leader tells in successive answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.load.columns import Answer, Samples
from backends.load.layout import Layout, Topic


class Log:
    """One partition. `sample` adds what its leader tells after some seconds; None: it does not tell it."""

    def __init__(self) -> None:
        self.samples, self.now = Samples(Layout([Topic("a", b"a", 1)])), 0.0

    def sample(
        self,
        size: int | None,
        latest: int,
        earliest: int = 0,
        *,
        broker: int = 1,
        seconds: float = 60.0,
        took: float = 0.0,
    ) -> "Log":
        self.now += seconds
        sizes = np.array([-1 if size is None else size])
        offsets = np.array([latest]), np.array([earliest])
        answer = Answer(broker, np.array([0]), sizes, *offsets, self.now - took / 2, self.now + took / 2)
        self.samples.add(answer)
        return self

    def rate(self) -> tuple[float | None, str]:
        rates, estimated = self.samples.bytes_in()
        if np.isnan(rates[0]):
            return None, "unknown"
        return round(float(rates[0]), 3), "estimated" if estimated[0] else "exact"


def test_one_answer_tells_no_rate() -> None:
    assert Log().sample(1_000, 10).rate() == (None, "unknown")


def test_what_a_log_grows_by_was_written() -> None:
    assert Log().sample(1_000, 10).sample(7_000, 20).rate() == (100.0, "exact")


def test_nothing_written_is_known_exactly() -> None:
    assert Log().sample(0, 0).sample(0, 0).rate() == (0.0, "exact")


def test_where_records_were_deleted_their_mean_size_counts() -> None:
    log = Log().sample(60_000, 100, 40).sample(66_000, 190, 124)
    assert log.rate() == (90 * 1_000 / 60, "estimated")


def test_the_mean_size_of_records_is_that_of_the_last_exact_interval() -> None:
    log = Log().sample(10_000, 10).sample(70_000, 40)  # 2,000 bytes a record
    log.samples.close_window(60)
    assert log.sample(20_000, 70, 60).samples.wrote.tolist() == [60_000.0]


def test_a_record_whose_size_is_seen_an_interval_later_does_not_count_as_empty() -> None:
    log = Log().sample(10_000, 10)
    for number in range(1, 5):
        log.sample(10_000 + 1_000 * (number - 1), 10 + number).sample(10_000 + 1_000 * number, 10 + number)
    assert log.samples.mean_record() == pytest.approx([1_000], rel=0.12)


def test_a_late_answer_tells_nothing_of_the_size_of_records() -> None:
    log = Log().sample(10_000, 10).sample(20_000, 20).sample(20_000, 80, took=30)
    assert log.samples.mean_record() == pytest.approx([1_000])


def test_an_interval_after_a_deletion_is_not_exact_yet() -> None:
    log = Log().sample(60_000, 60, 10).sample(50_000, 70, 20).sample(60_000, 80, 20)
    assert log.rate()[1] == "estimated"
    log.samples.close_window(120)
    log.sample(66_000, 86, 20).samples.close_window(60)
    assert log.rate()[1] == "exact"


def compacted() -> Log:
    """Return a log that is compacted, of which 10 records of 2,000 bytes were read."""
    log = Log()
    log.samples.tell_compacted(np.array([1], np.int8))
    log.samples.learn(np.array([0]), np.array([20_000]), np.array([10]))
    return log


def test_of_a_compacted_log_records_count_with_the_size_of_those_that_were_read() -> None:
    log = compacted().sample(10_000, 10).sample(500, 70)
    assert log.rate() == (60 * 2_000 / 60, "estimated")
    assert log.samples.mean_record() == pytest.approx([2_000])


def test_the_growth_of_a_compacted_log_tells_nothing_even_where_it_never_shrank() -> None:
    log = Log().sample(10_000, 10)
    log.samples.tell_compacted(np.array([1], np.int8))
    assert log.sample(70_000, 70).rate() == (None, "unknown")


def test_a_compacted_log_to_which_nothing_is_written_has_no_bytes_in() -> None:
    log = Log()
    log.samples.tell_compacted(np.array([1], np.int8))
    assert log.sample(10_000, 10).sample(2_000, 10).rate() == (0, "exact")


def test_a_log_that_shrinks_without_a_deletion_is_compacted() -> None:
    log = Log().sample(10_000, 10).sample(40_000, 40)
    log.samples.close_window(60)
    assert log.sample(10_000, 70).samples.compacted.all()
    assert log.samples.seconds == [0]
    assert np.isnan(log.samples.mean_record()).all()


def test_a_topic_that_is_compacted_no_more_is_measured_by_its_growth() -> None:
    log = compacted().sample(10_000, 10)
    log.samples.tell_compacted(np.array([0], np.int8))
    assert log.sample(70_000, 70).rate() == (1_000, "exact")


@pytest.mark.parametrize(("latest", "earliest"), [(5, 0), (12, 3)])
def test_offsets_that_go_back_make_the_interval_unknown(latest: int, earliest: int) -> None:
    log = Log().sample(9_000, 10, 4).sample(9_500, latest, earliest)
    assert log.rate() == (None, "unknown")
    assert log.sample(9_500 + 600, latest + 1, earliest).rate()[0] is not None


def test_a_leader_that_was_late_tells_nothing_of_the_interval() -> None:
    assert Log().sample(0, 0).sample(6_000, 6, took=30).rate() == (None, "unknown")


def test_an_answer_without_a_size_ends_the_interval() -> None:
    log = Log().sample(0, 0).sample(None, 6)
    assert log.sample(6_000, 6).rate() == (None, "unknown")


def test_an_offset_behind_the_first_one_is_a_contradiction() -> None:
    assert Log().sample(10, 5, 0).sample(10, 6, 7).rate() == (None, "unknown")


def test_another_leader_has_another_size_so_records_count() -> None:
    assert Log().sample(50_000, 50).sample(30_000, 60, broker=2).rate() == (83.333, "estimated")


def test_a_leader_that_misses_a_round_covers_it_with_the_next_answer() -> None:
    assert Log().sample(0, 0).sample(12_000, 6, seconds=120).rate() == (100.0, "exact")


def test_a_clock_that_jumped_makes_the_interval_unknown() -> None:
    log = Log().sample(0, 0)
    log.samples.forget()
    assert log.sample(6_000, 6, seconds=3_600).rate() == (None, "unknown")


def test_the_rate_is_the_median_of_three_windows() -> None:
    log, size = Log().sample(0, 0), 0
    for grown in (6_000, 600_000, 12_000):
        size += grown
        log.sample(size, size).samples.close_window(60)
    assert log.rate() == (200.0, "exact")


def test_a_window_of_which_half_is_not_known_has_no_rate() -> None:
    log = Log().sample(0, 0).sample(6_000, 6)
    log.samples.close_window(60)
    log.sample(None, 6).samples.close_window(60)
    assert log.rate() == (None, "unknown")


def test_a_topic_that_grows_keeps_its_samples_and_one_made_anew_does_not() -> None:
    log = Log().sample(0, 0).sample(6_000, 6)
    log.samples = log.samples.moved_to(Layout([Topic("0", b"0", 2), Topic("a", b"a", 3)]))
    assert log.samples.wrote.tolist() == [0, 0, 6_000, 0, 0]
    log.samples = log.samples.moved_to(Layout([Topic("a", b"another id", 3)]))
    assert log.samples.wrote.tolist() == [0, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 300)), min_size=1, max_size=8))
def test_without_deletions_all_bytes_are_counted(steps: list[tuple[int, int]]) -> None:
    log, size = Log().sample(0, 0), 0
    for grown, seconds in steps:
        size += grown
        log.sample(size, size, seconds=float(seconds))
    assert log.samples.wrote[0] == size
    assert log.samples.seconds[0] == sum(seconds for _, seconds in steps)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(-50, 10**6), st.integers(-3, 10**6)), max_size=9)
)
def test_no_answer_makes_a_rate_that_is_negative_or_endless(
    answers: list[tuple[int, int, int]],
) -> None:
    log = Log()
    for size, latest, earliest in answers:
        rate = log.sample(size, latest, earliest).rate()[0]
        assert rate is None or 0 <= rate < 1e12
