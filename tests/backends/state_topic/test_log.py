"""The times that follow from a session."""

import asyncio

import pytest

from backends.state_topic.log import LONGEST_PAUSE, Timings, until_answered
from common.clock import ManualClock
from tests.backends.state_topic.builders import FENCED


def test_the_lease_ends_before_a_standby_claims_and_several_beats_fit_into_it() -> None:
    timings = Timings(3.0)
    assert timings.beat * 4 < timings.lease < timings.session
    assert timings.jitter < timings.session
    assert timings.outage < timings.session


class Operation:
    """Fails with `failures`, then returns the number of attempts."""

    def __init__(self, *failures: Exception) -> None:
        self.failures, self.attempts = list(failures), 0

    async def __call__(self) -> int:
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)
        return self.attempts


async def test_the_time_of_the_answered_attempt_is_returned() -> None:
    clock = ManualClock()
    task = asyncio.create_task(until_answered(clock, Operation(OSError(), OSError())))
    await clock.advance(0.05)
    await clock.advance(0.1)
    answered = await task
    assert answered.result == 3
    assert answered.sent == pytest.approx(0.15)


async def test_pauses_grow_to_a_limit() -> None:
    clock, operation = ManualClock(), Operation(*[OSError()] * 50)
    task = asyncio.create_task(until_answered(clock, operation))
    for _ in range(20):
        await clock.advance(LONGEST_PAUSE)
    assert 15 < operation.attempts < 30
    task.cancel()


async def test_other_errors_are_raised_at_once() -> None:
    operation = Operation(FENCED)
    with pytest.raises(type(FENCED)):
        await until_answered(ManualClock(), operation)
    assert operation.attempts == 1
