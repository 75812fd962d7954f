"""Rows of a commit in batches."""

from hypothesis import example, given
from hypothesis import strategies as st

from backends.state_topic.batches import MAX_BATCH_BYTES, RECORD_OVERHEAD, Batches
from protocol.record_batch import BatchRecord
from tests.backends.state_topic.builders import row

sizes = st.lists(st.integers(0, MAX_BATCH_BYTES // 2 * 3), max_size=8)


def rows(numbers: list[int]) -> list[BatchRecord]:
    return [row(f"k{index}", "x" * size) for index, size in enumerate(numbers)]


def size(batch: list[BatchRecord]) -> int:
    return sum(len(key or b"") + len(value or b"") + RECORD_OVERHEAD for key, value in batch)


@given(sizes, sizes)
def test_batches_have_all_rows_in_order_and_only_a_single_row_is_too_long(
    first: list[int], second: list[int]
) -> None:
    batches = Batches(rows(first))
    batches.add(rows(second))
    assert [each for batch in batches.batches for each in batch] == rows(first) + rows(second)
    assert all(size(batch) <= MAX_BATCH_BYTES or len(batch) == 1 for batch in batches.batches)


@example([], [MAX_BATCH_BYTES])
@given(sizes, sizes)
def test_commits_join_if_they_fit_into_one_batch(first: list[int], second: list[int]) -> None:
    batches = Batches(rows(first))
    joined = batches.join(Batches(rows(second)))
    one = len(Batches(rows(first) + rows(second)).batches) <= 1
    assert joined == one
    assert [each for batch in batches.batches for each in batch] == rows(first) + (
        rows(second) if one else []
    )
