from controller.state.counters import count_down, count_up, toggle
from tests.builders import partition

PAIR = (1, 2)


def test_what_was_counted_up_and_down_is_absent() -> None:
    counts: dict[str, int] = {}
    count_up(counts, "a", 2)
    count_down(counts, "a")
    assert counts == {"a": 1}
    count_down(counts, "a")
    assert counts == {}


def test_a_partition_is_a_member_while_it_belongs() -> None:
    members = {partition("foo-1", PAIR).key}
    toggle(members, partition("foo-0", PAIR), True)
    toggle(members, partition("foo-1", PAIR), False)
    assert members == {partition("foo-0", PAIR).key}
