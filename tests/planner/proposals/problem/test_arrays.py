import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.proposals.problem import arrays
from planner.proposals.problem.arrays import filled, group_codes, in_blocks, lowered

counts = st.lists(st.integers(0, 30), min_size=1, max_size=6)


@pytest.mark.parametrize("rows", [0, 1, 4, 5])
def test_blocks_of_rows_give_the_same_as_all_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "BLOCK", 2)
    values = np.arange(2 * rows).reshape(rows, 2)
    assert np.array_equal(in_blocks(lambda left, right: left + right, values, values), 2 * values)


def test_equal_rows_get_equal_codes() -> None:
    assert group_codes([np.array([5, 3, 5]), np.array([-1, 0, -1])]).tolist() == [1, 0, 1]


def test_codes_are_compressed_before_they_overflow() -> None:
    wide = [np.array([2**31, 0, 2**31])] * 4
    assert group_codes(wide).tolist() == [1, 0, 1]


def test_the_emptiest_are_filled_first() -> None:
    room = np.full(3, 99)
    assert filled(np.array([0, 3, 5]), 5, room, np.ones(3, np.int64)).tolist() == [4, 1, 0]


def test_a_weight_scales_the_level() -> None:
    assert filled(np.zeros(2, np.int64), 9, np.full(2, 99), np.array([1, 2])).tolist() == [3, 6]


def test_the_fullest_are_lowered_relative_to_their_weights() -> None:
    assert lowered(np.array([6, 6, 3]), 5, np.zeros(3, np.int64), np.array([1, 2, 1])).tolist() == [4, 1, 0]
    assert filled(np.array([0, 1]), 1, np.full(2, 99), np.array([2, 3])).tolist() == [1, 0]


def test_no_more_is_given_than_there_is_room() -> None:
    assert filled(np.array([0, 0]), 9, np.array([2, 3]), np.ones(2, np.int64)).tolist() == [2, 3]


def test_the_fullest_are_lowered_first() -> None:
    assert lowered(np.array([9, 7, 1]), 4, np.zeros(3, np.int64)).tolist() == [3, 1, 0]


@given(counts, st.integers(0, 60))
def test_filling_adds_the_amount_with_the_least_maximum(before: list[int], amount: int) -> None:
    given_ = filled(np.array(before), amount, np.full(len(before), 10**6), np.ones(len(before), np.int64))
    after = np.array(before) + given_
    assert given_.sum() == amount
    assert after[given_ > 0].max(initial=0) <= after.min() + 1


@given(counts, st.integers(0, 60))
def test_lowering_takes_the_amount_or_all(before: list[int], amount: int) -> None:
    taken = lowered(np.array(before), amount, np.zeros(len(before), np.int64))
    assert taken.sum() == min(amount, sum(before))
    assert (taken <= np.array(before)).all()
