"""The hours of the day as records."""

from collections.abc import Awaitable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.load import kept_hours
from backends.load.columns import Samples
from backends.load.kept_hours import LARGEST, ROWS_AN_HOUR, KeptHours, coded, decoded, restored
from backends.load.layout import Layout, Topic
from common.off_loop import InlineExecutor
from controller.messages.event import Event
from controller.messages.events import HoursMeasured
from controller.model.load_hours import LoadHours

DAY_MS = 24 * 3_600_000


class Kept:
    """The records that a controller keeps."""

    def __init__(self) -> None:
        self.records: dict[int, LoadHours] = {}
        self.written: list[int] = []
        self.hours = self.after_a_restart()

    def after_a_restart(self) -> KeptHours:
        return KeptHours(self.records, self.submit, InlineExecutor())

    def submit(self, event: Event[Any]) -> Awaitable[Any]:
        assert isinstance(event, HoursMeasured)
        self.records[event.hours.number] = event.hours
        self.written.append(event.hours.number)
        return done()


async def done() -> None:
    return None


def measured(*topics: tuple[str, int], rate: float = 1e6) -> Samples:
    """Return samples of topics whose partitions have this rate at six o'clock, multiplied by their number."""
    samples = Samples(Layout([Topic(name, name.encode(), count) for name, count in topics]))
    numbers = [number for _, count in topics for number in range(count)]
    samples.profile.bytes_in[6] = np.array(numbers) * rate
    return samples


def at_six(samples: Samples) -> Sequence[float]:
    return [round(float(rate)) for rate in samples.profile.bytes_in[6]]


@given(st.floats(1, LARGEST))
def test_a_rate_is_kept_to_within_five_percent(rate: float) -> None:
    assert decoded(coded(np.array([rate], np.float32)))[0] == pytest.approx(rate, rel=0.05)


def test_rates_that_are_0_or_unknown_stay_so() -> None:
    rates = decoded(coded(np.array([0, np.nan, 0.1], np.float32)))
    np.testing.assert_array_equal(rates, np.array([0, np.nan, 0], np.float32))


async def test_the_hours_are_back_after_a_restart() -> None:
    kept = Kept()
    await kept.hours.keep(measured(("orders", 3), ("clicks", 250)), 1)
    found = await kept.after_a_restart().restore(2)
    rows = found.layout.taken_from(found.layout)
    assert len(rows) == 253
    for topic, number in (("orders", 2), ("clicks", 249), ("clicks", 0)):
        row = found.layout.row(topic, number)
        assert row is not None
        assert found.profile.bytes_in[6, row] == pytest.approx(number * 1e6, rel=0.05)
        assert np.isnan(found.profile.bytes_in[7, row])
    assert found.profile.bytes_out is None


async def test_bytes_out_are_kept_where_they_are_known() -> None:
    kept, samples = Kept(), measured(("orders", 2))
    samples.profile.bytes_out = np.full_like(samples.profile.bytes_in, 5e5)
    await kept.hours.keep(samples, 1)
    found = await kept.after_a_restart().restore(2)
    assert found.profile.bytes_out == pytest.approx(samples.profile.bytes_out, rel=0.05)


async def test_records_of_more_than_seven_days_are_not_used() -> None:
    kept = Kept()
    await kept.hours.keep(measured(("orders", 3)), 0)
    assert (await kept.after_a_restart().restore(7 * DAY_MS)).layout.size == 3
    assert (await kept.after_a_restart().restore(7 * DAY_MS + 1)).layout.size == 0


async def test_each_hour_writes_a_bounded_share_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_hours, "ROWS_AN_HOUR", 3_000)
    kept, samples = Kept(), measured(("orders", 8_000))
    for hour in range(8):
        before = len(kept.written)
        await kept.hours.keep(samples, hour)
        assert 1 <= len(kept.written) - before < 8
    assert set(kept.written) == set(range(8))
    assert kept.written[:10] == [*range(8), 0, 1]


async def test_a_cluster_that_grows_keeps_what_was_written() -> None:
    kept = Kept()
    await kept.hours.keep(measured(("orders", 1_500)), 1)
    await kept.hours.keep(measured(("orders", 1_500), ("clicks", 3_000)), 2)
    found = await kept.after_a_restart().restore(3)
    assert sorted((each.name, each.partitions) for each in found.layout.topics) == [
        ("clicks", 3_000),
        ("orders", 1_500),
    ]


async def test_what_moves_to_a_new_record_is_in_it_before_it_leaves_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = Kept()
    await kept.hours.keep(measured(("orders", 3_000)), 1)
    monkeypatch.setattr(kept_hours, "ROWS_AN_HOUR", 1)
    for hour in range(2, 20):
        await kept.after_a_restart().keep(measured(("orders", 9_000)), hour)
        found = await kept.after_a_restart().restore(hour)
        assert not np.isnan(found.profile.bytes_in[6][:3_000]).any()
    assert len(kept.records) == 16


async def test_the_oldest_records_are_written_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_hours, "ROWS_AN_HOUR", 1)
    kept, samples = Kept(), measured(("orders", 4_000))
    for hour in range(8):
        await kept.after_a_restart().keep(samples, hour)
    assert kept.written == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("back_ms", [1, DAY_MS])
async def test_a_clock_that_was_set_back_loses_no_hours(
    back_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_hours, "ROWS_AN_HOUR", 1)
    kept, samples = Kept(), measured(("orders", 4_000))
    for _ in range(4):
        await kept.hours.keep(samples, 2 * DAY_MS)
    assert (await kept.after_a_restart().restore(2 * DAY_MS - back_ms)).layout.size == 4_000
    for hour in range(4):
        await kept.hours.keep(samples, 2 * DAY_MS - back_ms + hour // 4)
    assert kept.written == [0, 1, 2, 3, 0, 1, 2, 3]


async def test_what_a_small_cluster_has_is_written_each_hour() -> None:
    kept = Kept()
    for hour in range(3):
        await kept.hours.keep(measured(("orders", ROWS_AN_HOUR // 2)), hour)
    assert len(kept.written) == 3 * len(kept.records)


@pytest.mark.parametrize(
    ("topics", "hours"),
    [("orders\tf00\t0\t1", "eJw="), ("orders\tzz\t0\t1", ""), ("orders\tf0\t0\t-1", ""), ("orders", "é")],
)
def test_a_record_that_cannot_be_read_is_named(
    topics: str, hours: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert restored([LoadHours(7, 1, topics, hours)]).layout.size == 0
    assert "record 7 of the load by hour cannot be read" in caplog.text
