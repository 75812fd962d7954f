import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.zookeeper.store.records import CODECS, read_row
from backends.zookeeper.znodes.fields import ZnodeError, encode
from controller.model.cluster import (
    Ending,
    Finished,
    Job,
    JobKind,
    Lease,
    Paused,
    Pending,
    Reassignment,
    Record,
    ResourceType,
)

NAMES = st.text(min_size=1, max_size=10)
NUMBERS = st.integers(0, 99)
REPLICAS = st.lists(NUMBERS).map(tuple)
RECORDS = st.one_of(
    st.builds(Reassignment, NAMES, NUMBERS, REPLICAS, REPLICAS, NUMBERS, NAMES, NAMES),
    st.builds(Job, NUMBERS, st.sampled_from(JobKind), NUMBERS, NAMES, st.none() | NAMES),
    st.builds(Finished, NUMBERS, NAMES, NUMBERS, REPLICAS, REPLICAS, st.sampled_from(Ending), NUMBERS),
    st.builds(Pending, NAMES, NUMBERS, REPLICAS, NUMBERS, NAMES),
    st.builds(Paused, st.booleans()),
    st.builds(Lease, st.sampled_from(ResourceType), NAMES, NAMES, NAMES, st.none() | NAMES),
)


@given(RECORDS)
def test_an_encoded_record_is_decoded(record: Record) -> None:
    read = read_row(type(record), json.loads(encode(list(record))))
    assert (type(read), read) == (type(record), record)


@pytest.mark.parametrize("kind", CODECS)
@pytest.mark.parametrize("row", [None, [], [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2], "abc", {}])
def test_an_invalid_row_is_an_error(kind: type[Record], row: object) -> None:
    with pytest.raises(ZnodeError, match=f"is not a {kind.__name__}"):
        read_row(kind, row)


def test_rows_of_before_topics_had_ids_are_read() -> None:
    assert read_row(Reassignment, ["foo", 0, [1], [2], 3, ""]) == Reassignment("foo", 0, (1,), (2,), 3)
    assert read_row(Pending, ["foo", 0, [2], 3]) == Pending("foo", 0, (2,), 3)
