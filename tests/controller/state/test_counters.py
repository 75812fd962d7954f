from collections import Counter

from controller.state.counters import count_down


def test_a_key_whose_count_is_0_is_absent() -> None:
    counts = Counter(a=2)
    count_down(counts, "a")
    assert counts == {"a": 1}
    count_down(counts, "a")
    assert counts == {}


def test_several_can_be_subtracted_at_once() -> None:
    counts = Counter(a=3, b=2)
    count_down(counts, "a", 2)
    count_down(counts, "b", 2)
    assert counts == {"a": 1}
