"""The set of ids."""

from hypothesis import given
from hypothesis import strategies as st

from backends.audit_topic.known_ids import KnownIds


@given(st.lists(st.integers(1, 30), max_size=60))
def test_it_tells_what_a_set_tells(numbers: list[int]) -> None:
    known, plain = KnownIds(), set[int]()
    for number in numbers:
        assert known.add(number) == (number not in plain)
        plain.add(number)


def test_consecutive_ids_take_one_range() -> None:
    known = KnownIds()
    assert all(known.add(number) for number in [*range(1, 1000, 2), *range(2, 1000, 2)])
    assert len(known._starts) == 1
