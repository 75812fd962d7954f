from hypothesis import given
from hypothesis import strategies as st

from planner.proposals.problem.nodes import Node
from planner.proposals.problem.rack_rule import RackRule, rack_bounds

counts = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 6), min_size=1)


def test_three_replicas_are_in_three_racks() -> None:
    bounds = rack_bounds(3, {"a": 2, "b": 2, "c": 2})
    assert bounds.least == bounds.most == {"a": 1, "b": 1, "c": 1}


def test_racks_differ_by_one_when_there_are_more_replicas_than_racks() -> None:
    bounds = rack_bounds(3, {"a": 3, "b": 3})
    assert (bounds.least, bounds.most) == ({"a": 1, "b": 1}, {"a": 2, "b": 2})


def test_a_small_rack_is_filled_to_its_bound() -> None:
    assert rack_bounds(4, {"a": 1, "b": 5}).most == {"a": 1, "b": 3}


@given(st.integers(1, 12), counts)
def test_the_bounds_leave_room_for_every_replica(factor: int, brokers_of: dict[str, int]) -> None:
    bounds = rack_bounds(factor, brokers_of)
    wanted = min(factor, sum(brokers_of.values()))
    assert sum(bounds.least.values()) <= wanted <= sum(bounds.most.values())
    assert all(bounds.most[rack] - bounds.least[rack] in {0, 1} for rack in brokers_of)


def test_the_excess_counts_replicas_that_must_move() -> None:
    rule = RackRule(Node(number, rack, True, True) for number, rack in enumerate("aabbcc", start=1))
    assert rule.excess((1, 3, 5)) == 0
    assert rule.excess((1, 2, 3)) == 1
    assert rule.excess((1, 2, 3, 4, 5, 6)) == 0
