"""Claims: their bytes, and which one is valid after another."""

import pytest

from backends.state_topic.claim import CLAIM_KEY, Lease, StepPermit, decode_claim
from common.clock import ManualClock
from protocol.record_batch import Producer
from tests.backends.state_topic.builders import a_claim


def test_a_claim_is_read_as_it_was_written() -> None:
    claim = a_claim(3, Producer(7, 2), replaces=(7, 1), peer="10.0.0.1:9095", released=True)
    key, value = claim.encode()
    assert (key, decode_claim(value or b"")) == (CLAIM_KEY, claim)


NESTED = b'{"z":' + b"[" * 5_000 + b"]" * 5_000 + b"}"


@pytest.mark.parametrize("value", [b"", b"{}", b'{"instance":1}', b"\xff", b'{"instance":"\xff"}', NESTED])
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


async def test_a_lease_lasts_from_the_sending() -> None:
    clock = ManualClock()
    lease = Lease(clock, 4.0)
    lease.renew(sent=0.0)
    validity = []
    for seconds in (3.9, 0.2):
        await clock.advance(seconds)
        validity.append(lease.valid)
    assert validity == [True, False]


async def test_a_late_answer_to_an_earlier_batch_does_not_shorten_the_lease() -> None:
    clock = ManualClock()
    lease = Lease(clock, 4.0)
    lease.renew(sent=2.0)
    lease.renew(sent=1.0)
    await clock.advance(5.5)
    assert lease.valid


def test_an_ended_lease_cannot_be_renewed() -> None:
    lease = Lease(ManualClock(), 4.0)
    lease.end()
    lease.renew(sent=0.0)
    assert not lease.valid


def test_the_seconds_that_are_left_are_known() -> None:
    lease = Lease(clock := ManualClock(), 4.0)
    lease.renew(1.0)
    assert lease.seconds_left == 5.0 - clock.now()


async def test_steps_need_a_valid_lease_and_wait_for_their_time() -> None:
    lease = Lease(clock := ManualClock(), 4.0)
    permit = StepPermit(lease, clock, 2.0)
    lease.renew(0.0)
    assert not permit()
    await clock.advance(3)
    assert permit()
    await clock.advance(2)
    assert not permit()
    lease.renew(clock.now())
    permit.end()
    assert not permit()
