import numpy as np

from backends.load.layout import Layout, Topic
from backends.load.leaders import Leaders


def test_a_cluster_may_have_no_partitions() -> None:
    leaders, topic = Leaders(), Topic("foo", b"id", 2)
    leaders.update(Layout([topic]), np.array([1, 2], np.int32))
    assert leaders.led(2).tolist() == [1]
    leaders.update(Layout(), np.zeros(0, np.int32))
    assert leaders.led(2).tolist() == []
