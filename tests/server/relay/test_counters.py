"""Counters of relayed requests and bytes."""

from server.relay.counters import RelayCounters


def test_requests_and_bytes_are_counted_by_key() -> None:
    counts = RelayCounters()
    counts.request(1, 100)
    counts.request(1, 50)
    counts.answer(1, 10_000)
    counts.request(0, 7)
    assert (counts.requests[1], counts.bytes_in[1], counts.bytes_out[1]) == (2, 150, 10_000)
    assert (counts.requests[0], counts.bytes_in[0], counts.bytes_out[0]) == (1, 7, 0)
