"""Rows that are refused before the controller, and the merge of all rows into one response."""

import pytest

from server.dispatch.row_errors import merged, repeated


def test_repeated_returns_values_that_occur_more_than_once() -> None:
    assert repeated(["a", "b", "a", "c", "a"]) == {"a"}


def test_results_are_in_the_order_of_the_request() -> None:
    assert merged([None, (29, None), None], [(0, None), (3, "no")]) == [(0, None), (29, None), (3, "no")]


def test_each_row_must_have_a_result() -> None:
    with pytest.raises((StopIteration, RuntimeError)):
        merged([None, None], [(0, None)])
