"""Bytes out of a topic on a broker, by partition."""

import numpy as np

from backends.load.layout import Layout, Topic
from backends.load.leaders import Leaders
from backends.load.split import known_sums, split

LEADERS = Leaders()
LEADERS.update(Layout([Topic("a", b"a", 3), Topic("b", b"b", 1)]), np.array([1, 1, 2, 2], np.int32))


def divided(told: dict[int, dict[str, float]], read: list[float], wrote: list[float]) -> list[float | None]:
    found = split(told, LEADERS, np.array(read, np.float64), np.array(wrote, np.float32))
    return [None if np.isnan(each) else round(each, 3) for each in found.tolist()]


def test_a_topic_is_split_by_what_groups_read() -> None:
    assert divided({1: {"a": 90}, 2: {"a": 7, "b": 5}}, [1, 2, 4, np.nan], [9, 1, 1, 1]) == [30, 60, 7, 5]


def test_without_groups_a_topic_is_split_by_what_is_written() -> None:
    assert divided({1: {"a": 90}, 2: {}}, [0, 0, 0, 0], [8, 1, np.nan, 0]) == [80, 10, 0, 0]


def test_a_broker_of_which_nothing_is_told_is_unknown() -> None:
    assert divided({1: {"a": 90}}, [0, 0, 0, 0], [0, 0, 0, 0]) == [45, 45, None, None]


def test_a_topic_that_groups_read_and_that_has_no_figure_is_unknown() -> None:
    assert divided({1: {}, 2: {}}, [1, 0, 0, 0], [1, 1, 1, 1]) == [None, None, None, 0]


def test_a_topic_whose_figure_is_not_known_is_unknown() -> None:
    assert divided({1: {"a": 9}, 2: {"a": 3, "b": np.nan}}, [0, 0, 0, 0], [1, 2, 1, 1]) == [3, 6, 3, None]


def test_what_followers_serve_is_that_of_the_topic() -> None:
    assert divided({1: {"a": 90, "b": 6}, 2: {}}, [0, 0, 0, 0], [1, 2, 0, 1]) == [30, 60, 0, 6]


def test_a_sum_is_known_where_all_of_it_is() -> None:
    rates = np.array([1, 2, np.nan, 5], np.float32)
    assert known_sums(rates, LEADERS, [1, 2, 3]) == {1: 3.0}
