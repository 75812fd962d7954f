"""Bytes in and out by hour of the day, and the busy hour."""

import numpy as np

from backends.load.profile import Profile


def hour_of(profile: Profile, wrote: float, read: float) -> Profile:
    """Add half an hour in which one partition was written and read at these rates."""
    profile.add(np.array([0]), np.array([wrote * 1800]), np.array([1800.0]))
    profile.add_read(np.array([read * 1800]), 1800.0)
    return profile


def test_the_first_hour_is_the_busy_hour_while_it_lasts() -> None:
    busy = hour_of(Profile(1), 100, 40).busy(5)
    assert (busy.hour, busy.bytes_in.tolist(), busy.bytes_out.tolist()) == (5, [100], [40])


def test_the_busy_hour_has_the_rates_of_the_days_in_both_directions() -> None:
    profile = hour_of(Profile(1), 100, 40)
    profile.end_hour(5)
    busy = hour_of(profile, 1, 2).busy(5)
    assert (busy.hour, busy.bytes_in.tolist(), busy.bytes_out.tolist()) == (5, [100], [40])
