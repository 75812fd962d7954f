"""The counters of requests, decisions and commits."""

from protocol.apis import OTHER_API
from server.counters import Counters, RelayCounters


def test_requests_and_errors_are_counted_by_key() -> None:
    stats = Counters()
    stats.request(46, 0)
    stats.request(46, 31)
    assert stats.requests == {46: 2}
    assert stats.errors == {(46, 31): 1}


def test_errors_that_kafka_does_not_have_are_one_label() -> None:
    stats = Counters()
    for code in (31, 9999, -5000):
        stats.request(46, code)
    assert stats.errors == {(46, 31): 1, (46, -1): 2}


def test_only_requests_with_a_measured_time_count_for_the_average() -> None:
    stats = Counters()
    stats.request(46, 0, 0.5)
    stats.request(46, 0, 0.25)
    stats.request(46, 31)
    assert (stats.requests[46], stats.timed[46], stats.request_seconds[46]) == (3, 2, 0.75)


def test_gauges_show_the_current_values() -> None:
    stats = Counters()
    stats.loop_lag(0.5)
    stats.connection(1)
    stats.connection(1)
    stats.connection(-1)
    assert (stats.loop_lag_seconds, stats.connections) == (0.5, 1)


def test_requests_and_bytes_are_counted_by_key() -> None:
    counts = RelayCounters()
    counts.request(1, 100)
    counts.request(1, 50)
    counts.answer(1, 10_000)
    counts.request(0, 7)
    assert (counts.requests[1], counts.bytes_in[1], counts.bytes_out[1]) == (2, 150, 10_000)
    assert (counts.requests[0], counts.bytes_in[0], counts.bytes_out[0]) == (1, 7, 0)


def test_keys_that_a_client_makes_up_are_counted_together() -> None:
    counts = RelayCounters()
    for key in range(-(2**15), 2**15):
        counts.request(key, 10)
        counts.answer(key, 10)
    assert {len(each) for each in (counts.requests, counts.bytes_in, counts.bytes_out)} == {257}
    assert counts.requests[OTHER_API] == 2**16 - 256
