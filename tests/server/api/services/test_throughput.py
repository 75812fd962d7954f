from collections import Counter

from server.api.services.throughput import KEPT_SECONDS, SAMPLE_SECONDS, Copied, Sample, Throughput, Totals


def test_a_sample_has_the_mean_of_its_intervals() -> None:
    kept = Throughput(lambda: 7)
    kept.add(SAMPLE_SECONDS / 3, Copied(Counter({1: 900}), Counter({2: 900})), 10)
    assert kept.samples() == []
    kept.add(SAMPLE_SECONDS * 2 / 3, Copied(Counter({1: 600}), Counter({3: 600})), 20)
    assert kept.samples() == [Sample(7, 20, {1: 100}, {2: 60, 3: 40})]


def test_a_sample_with_an_unknown_part_is_unknown() -> None:
    kept = Throughput(lambda: 7)
    kept.add(1.0, Copied(Counter(), Counter(), {1}, {2}), None)
    kept.add(SAMPLE_SECONDS, Copied(Counter({1: 5000}), Counter({2: 5000})), None)
    kept.add(SAMPLE_SECONDS, Copied(Counter(), Counter()), None)
    assert [each[2:] for each in kept.samples()] == [({1: None}, {2: None}), ({}, {})]


def test_totals_go_on_when_samples_begin_anew() -> None:
    totals = Totals()
    for _ in range(2):
        Throughput(lambda: 7, totals).add(1.0, Copied(Counter({1: 5}), Counter({2: 5})), None)
    assert (totals.received, totals.sent) == ({1: 10}, {2: 10})


def test_samples_of_an_hour_are_kept() -> None:
    times = iter(range(10_000))
    kept = Throughput(lambda: next(times))
    for _ in range(1_000):
        kept.add(SAMPLE_SECONDS, Copied(Counter(), Counter()), None)
    assert len(kept.samples()) == KEPT_SECONDS / SAMPLE_SECONDS
    assert [each.time_ms for each in kept.samples(since_ms=997)] == [998, 999]
