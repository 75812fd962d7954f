from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from planner.proposals.goal import Row
from planner.proposals.leaders import even_out
from tests.planner.proposals.builders import row

lists = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True), min_size=1, max_size=20)


def leaders(result: dict[Row, tuple[int, ...]]) -> Counter[int]:
    return Counter(replicas[0] for replicas in result.values())


def even(*replicas: tuple[int, ...], fixed: dict[int, int] | None = None) -> dict[Row, tuple[int, ...]]:
    rows = {row(*each, number=number): each for number, each in enumerate(replicas)}
    return even_out(rows, fixed or {}, frozenset({1, 2, 3}))


def test_a_chain_of_brokers_hands_leaders_on() -> None:
    assert leaders(even((1, 2), (1, 2), (1, 2), (2, 3))) == {1: 2, 2: 1, 3: 1}


def test_leaders_of_other_partitions_count() -> None:
    assert leaders(even((1, 2), (1, 2), fixed={1: 2})) == {2: 2}


def test_a_broker_below_its_share_takes_over() -> None:
    assert leaders(even((1, 2), (2, 1), (1, 3))) == {1: 1, 2: 1, 3: 1}


@given(lists)
def test_only_the_order_changes(replicas: list[list[int]]) -> None:
    rows = {row(*each, number=number): tuple(each) for number, each in enumerate(replicas)}
    result = even_out(rows, {}, frozenset(range(1, 6)))
    assert {key: set(each) for key, each in result.items()} == {key: set(each) for key, each in rows.items()}


@given(lists)
def test_leaders_get_no_less_even(replicas: list[list[int]]) -> None:
    rows = {row(*each, number=number): tuple(each) for number, each in enumerate(replicas)}
    result = even_out(rows, {}, frozenset(range(1, 6)))
    assert max(leaders(result).values()) <= max(leaders(rows).values())
