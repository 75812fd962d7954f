"""Counters of relayed requests and bytes."""

from protocol.apis import OTHER_API
from server.relay.counters import RelayCounters


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
