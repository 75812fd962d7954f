"""The forms of records: every kind has one, and it keeps everything."""

import pytest

from backends.record_forms import FORMS
from controller.model.cluster import Record
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
def test_values_are_text_and_numbers(record: Record) -> None:
    assert all(isinstance(value, str | int | None) for value in FORMS[type(record)].to_row(record))
