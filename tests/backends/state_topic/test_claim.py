"""Claims: their bytes, and which one is valid after another."""

import pytest

from backends.state_topic.claim import CLAIM_KEY, decode_claim
from protocol.record_batch import Producer
from tests.backends.state_topic.builders import a_claim


def test_a_claim_is_read_as_it_was_written() -> None:
    claim = a_claim(3, Producer(7, 2), replaces=(7, 1), peer="10.0.0.1:9095", released=True)
    key, value = claim.encode()
    assert (key, decode_claim(value or b"")) == (CLAIM_KEY, claim)


NESTED = b'{"z":' + b"[" * 5_000 + b"]" * 5_000 + b"}"


@pytest.mark.parametrize("value", [b"", b"{}", b'{"instance":1}', b"\xff", NESTED])
def test_other_bytes_are_no_claim(value: bytes) -> None:
    assert decode_claim(value) is None


def test_the_newer_epoch_of_a_producer_id_is_valid() -> None:
    older, newer = a_claim(1, Producer(7, 1)), a_claim(2, Producer(7, 2))
    assert newer.follows(older)
    assert newer.follows(newer)
    assert older.follows(None)
    assert not older.follows(newer)


def test_a_claim_with_another_producer_id_is_valid_after_the_claim_that_it_names() -> None:
    last = a_claim(1, Producer(7, 5))
    assert a_claim(2, Producer(8, 0), replaces=(7, 5)).follows(last)
    assert not a_claim(2, Producer(8, 0), replaces=(7, 4)).follows(last)
    assert not a_claim(2, Producer(8, 0)).follows(last)
