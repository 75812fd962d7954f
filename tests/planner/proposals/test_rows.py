from collections import Counter

from planner.proposals.class_flow import Placement, classes_of
from planner.proposals.rows import deal, ordered
from tests.planner.proposals.builders import row

RACKS = {1: "a", 2: "b", 3: "a", 4: "b"}


def test_every_row_gets_its_number_of_different_brokers() -> None:
    rows = [row(1, 2, number=number) for number in range(3)]
    [group] = classes_of(rows)
    dealt = dict(deal([Placement(group, {1: 2, 2: 3, 3: 1})], RACKS))
    assert sorted(map(sorted, dealt.values())) == [[1, 2], [1, 2], [2, 3]]


def test_the_smallest_row_moves() -> None:
    rows = [row(1, 2, number=0, size=9), row(1, 2, number=1, size=3)]
    [group] = classes_of(rows)
    dealt = dict(deal([Placement(group, {1: 1, 2: 2, 3: 1})], RACKS))
    assert dealt[rows[1]] == {2, 3}


def test_the_leader_stays_first_and_new_replicas_are_last() -> None:
    partition = row(2, 1, 3)
    assert ordered([(partition, frozenset({1, 2, 4}))], Counter())[partition] == (2, 1, 4)


def test_the_broker_with_the_fewest_leaders_takes_over() -> None:
    partition = row(2, 1, 3)
    assert ordered([(partition, frozenset({1, 3, 4}))], Counter({1: 5}))[partition] == (3, 1, 4)
