from zoneinfo import ZoneInfo

import pytest

from common.zones import host_zone
from controller.schedule.periods import (
    EXAMPLE,
    Period,
    Schedule,
    ScheduleError,
    no_zones,
    parse_schedule,
    read_schedule,
)

EVERY_DAY = tuple(range(7))


def test_the_example_is_a_schedule() -> None:
    nights = Period((0, 1, 2, 3, 4), 22 * 60, 30 * 60, 50_000_000)
    days = Period((5, 6), 0, 24 * 60, None)
    berlin = ZoneInfo("Europe/Berlin")
    assert parse_schedule(EXAMPLE, host_zone) == Schedule((nights, days), "Europe/Berlin", tz=berlin)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("22:00-06:00", Period(EVERY_DAY, 1320, 1800, None)),
        ("fri-MON 9:30 - 10:00", Period((0, 4, 5, 6), 570, 600, None)),
        ("Sat, Sun 00:00-24:00 throttle = 48MiB", Period((5, 6), 0, 1440, 48 * 2**20)),
        ("Mon,Wed-Thu 20:00-24:00 THROTTLE=1.5 GB/s;", Period((0, 2, 3), 1200, 1440, 1_500_000_000)),
    ],
)
def test_days_and_spaces_are_optional_and_the_case_has_no_meaning(text: str, period: Period) -> None:
    assert parse_schedule(text, host_zone) == Schedule((period,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mo-Fri 22:00-06:00", "'Mo-Fri 22:00-06:00': 'Mo' is not a day: expected Mon, Tue"),
        ("Mon,,Tue 1:00-2:00", "'' is not a day"),
        ("10:00-11:00; 22:00-25:00", "'22:00-25:00': '25:00' is not a time: expected 00:00 to 24:00"),
        ("22:60-23:00", "'22:60' is not a time"),
        ("08:00-08:00", "'08:00-08:00': a period ends after its start; a whole day is 00:00-24:00"),
        ("24:00-06:00", "a period ends after its start"),
        ("at night", "'at night': expected [DAYS] HH:MM-HH:MM [throttle=RATE], or tz=ZONE"),
        ("Mon 1:00-2:00 throttle=fast", "throttle=fast: expected bytes per second, such as 50MB"),
        ("Mon 1:00-2:00 throttle=0", "the throttle is at least 1 byte per second"),
        ("Mon 1:00-2:00; tz=Mars/Base", "'tz=Mars/Base' is not a time zone: expected a name such as"),
        ("Mon 1:00-2:00; tz=../../etc/passwd", "is not a time zone"),
        ("Mon 1:00-2:00; tz=Europe", "is not a time zone"),
        ("Mon 1:00-2:00; tz=Zürich", "is not a time zone"),
        ("Mon 1:00-2:00; tz=UTC; tz=UTC", "'tz=UTC': there is one time zone for the whole schedule"),
        ("tz=UTC", "there is no period: expected at least one"),
        (";".join(["1:00-2:00"] * 51), "there are 51 periods: expected at most 50"),
    ],
)
def test_a_refusal_names_the_entry_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        parse_schedule(text, host_zone)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_zone_data_only_utc_is_known() -> None:
    assert parse_schedule("1:00-2:00; tz=utc", no_zones).zone == "utc"
    with pytest.raises(ScheduleError, match="no zone data: install tzdata, or use UTC"):
        parse_schedule("1:00-2:00; tz=Europe/Paris", no_zones)


def test_a_stored_text_that_is_not_valid_has_no_periods() -> None:
    assert read_schedule("at night", host_zone) == Schedule(
        (), problem="'at night': expected [DAYS] HH:MM-HH:MM [throttle=RATE], or tz=ZONE"
    )
