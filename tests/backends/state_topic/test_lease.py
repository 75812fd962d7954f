"""The lease is valid for some seconds from the sending of an acknowledged batch."""

from backends.state_topic.lease import Lease, StepPermit
from common.clock import ManualClock


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
