"""When history may be deleted for its age."""

import pytest

from common.clock import ManualClock
from reassignd.runtime.storage.age_clock import TRUSTED_AFTER_SECONDS, AgeClock

YEAR = 365 * 24 * 3600.0


class Machine:
    """A machine whose wall clock can be set."""

    def __init__(self, retention: float = YEAR) -> None:
        self.clock, self.ahead = ManualClock(), 1e9
        self.age = AgeClock(int(retention * 1000), self.clock, self.wall_ms)

    def wall_ms(self) -> int:
        return int((self.clock.now() + self.ahead) * 1000)

    async def after(self, seconds: float) -> bool:
        """Return whether the clock is trusted after this time."""
        await self.clock.advance(seconds)
        return self.age() == self.wall_ms()


async def test_a_clock_is_trusted_after_a_day() -> None:
    machine = Machine()
    assert machine.age() == 0
    assert not await machine.after(TRUSTED_AFTER_SECONDS - 1)
    assert await machine.after(1)


@pytest.mark.parametrize("jump", [2 * YEAR, -2 * YEAR])
async def test_a_clock_that_jumps_is_trusted_a_day_later(
    jump: float, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    assert await machine.after(TRUSTED_AFTER_SECONDS)
    machine.ahead += jump
    assert not await machine.after(60)
    assert f"the clock has jumped by {jump:.0f} s" in caplog.text
    assert await machine.after(TRUSTED_AFTER_SECONDS)


async def test_small_corrections_change_nothing() -> None:
    machine = Machine()
    await machine.after(TRUSTED_AFTER_SECONDS)
    machine.ahead += 30
    assert await machine.after(60)


async def test_a_short_retention_is_a_short_wait() -> None:
    assert await Machine(retention=10).after(10)
