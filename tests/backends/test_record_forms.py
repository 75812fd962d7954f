"""The forms of records: every kind has one, and it keeps everything."""

import pytest

from backends.record_forms import FORMS, MOST_CACHED
from controller.model.cluster import Pending, Record
from tests.backends.records import EVERY_KIND


def test_every_kind_of_record_has_a_form() -> None:
    assert set(FORMS) == set(Record.__args__) == {type(record) for record in EVERY_KIND}


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: type(record).__name__)
def test_a_row_keeps_the_record_and_begins_with_its_key(record: Record) -> None:
    form = FORMS[type(record)]
    row = tuple(form.to_row(record))
    assert form.to_record(row) == record
    assert len(row) == len(form.columns)
    key = tuple(form.key_to_row(record.key))
    assert key in (row[: form.keys], ())


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: type(record).__name__)
def test_many_rows_are_converted_like_single_ones(record: Record) -> None:
    form = FORMS[type(record)]
    row = tuple(form.to_row(record))
    assert form.to_records([row, row]) == [record, record]
    assert form.to_records([]) == []


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: type(record).__name__)
def test_values_are_text_and_numbers(record: Record) -> None:
    assert all(isinstance(value, str | int | None) for value in FORMS[type(record)].to_row(record))


def test_equal_lists_share_one_object_also_after_many_others() -> None:
    form = FORMS[Pending]
    for number in range(MOST_CACHED + 1):
        assert form.to_record(("foo", 0, f"{number},1", 1)) == Pending("foo", 0, (number, 1), 1)
    first, second = (form.to_record(("foo", 0, text, 1)) for text in ("0,1", "0," + "1"))
    assert isinstance(first, Pending)
    assert isinstance(second, Pending)
    assert first.target is second.target
