from collections import Counter

from controller.state.counters import count_down, toggle
from tests.builders import partition

PAIR = (1, 2)


def test_a_key_whose_count_is_0_is_absent() -> None:
    counts = Counter(a=2)
    count_down(counts, "a")
    assert counts == {"a": 1}
    count_down(counts, "a")
    assert counts == {}


def test_a_partition_is_a_member_while_it_belongs() -> None:
    members = {partition("foo-1", PAIR).key}
    toggle(members, partition("foo-0", PAIR), True)
    toggle(members, partition("foo-1", PAIR), False)
    assert members == {partition("foo-0", PAIR).key}
