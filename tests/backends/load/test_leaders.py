"""Which rows each broker leads."""

import numpy as np

from backends.load.layout import Layout, Topic
from backends.load.leaders import Leaders


def test_what_a_broker_leads_is_the_same_array_until_it_changes() -> None:
    leaders, layout = Leaders(), Layout([Topic("foo", b"id", 3)])
    leaders.update(layout, np.array([1, 2, 2], np.int32))
    first = leaders.led(1)
    leaders.update(layout, np.array([1, 2, 3], np.int32))
    assert leaders.led(1) is first
    assert [leaders.led(broker).tolist() for broker in (1, 2, 3)] == [[0], [1], [2]]


def test_a_cluster_may_have_no_partitions() -> None:
    leaders, topic = Leaders(), Topic("foo", b"id", 2)
    leaders.update(Layout([topic]), np.array([1, 2], np.int32))
    assert leaders.led(2).tolist() == [1]
    leaders.update(Layout(), np.zeros(0, np.int32))
    assert leaders.led(2).tolist() == []
