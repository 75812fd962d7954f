from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.table import BEHIND, IN_SYNC, OFFLINE
from planner.proposals.solver.leaders import _Leaders, even_leaders, taken_over
from tests.planner.proposals.builders import padded

lists = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True), min_size=1, max_size=20)
EVERY = np.ones(3, np.bool_)
NONE = np.zeros(3, np.int64)


def in_sync(each: Ints) -> Ints:
    """The states of replicas that are all in sync."""
    return np.zeros(each.shape, np.int8)


def counts(*replicas: tuple[int, ...], others: tuple[int, int, int] = (0, 0, 0)) -> list[int]:
    same = padded(*replicas)
    leaders, _ = even_leaders(same, same, in_sync(same), np.array(others), EVERY)
    return [int((leaders == broker).sum()) for broker in range(3)]


def test_a_chain_of_brokers_hands_leaders_on() -> None:
    assert counts((0, 1), (0, 1), (0, 1), (1, 2)) in ([2, 1, 1], [1, 2, 1])


def test_leaders_of_other_partitions_count() -> None:
    assert counts((0, 1), (0, 1), others=(2, 0, 0)) == [0, 2, 0]


def test_a_broker_below_its_share_takes_over() -> None:
    assert counts((0, 1), (1, 0), (0, 2)) == [1, 1, 1]


def test_even_leaders_stay() -> None:
    same = padded((0, 1), (1, 2), (2, 0))
    assert even_leaders(same, same, in_sync(same), NONE, EVERY)[1] == 0


def test_a_broker_that_takes_no_part_keeps_its_leaders() -> None:
    same = padded((0, 1), (0, 1), (0, 1))
    leaders, changes = even_leaders(same, same, in_sync(same), NONE, np.array([False, True, True]))
    assert (leaders.tolist(), changes) == ([0, 0, 0], 0)


def successor(
    before: tuple[int, ...], after: tuple[int, ...], *states: int, leaders: tuple[int, int, int] = (0, 0, 0)
) -> int:
    """Return the leader after the change.

    `states` are those of the replicas before, which are in sync if not given.
    """
    given_states = np.array([states or [IN_SYNC] * len(before)])
    leader: int = taken_over(padded(before), padded(after), given_states, np.array(leaders)).item()
    return leader


def test_a_leader_that_keeps_its_replica_stays() -> None:
    assert successor((1, 0), (1, 2)) == 1


def test_the_kept_replica_with_the_fewest_leaders_takes_over() -> None:
    assert successor((2, 1, 0), (1, 0), leaders=(0, 5, 0)) == 0
    assert successor((2, 1), (1, 0), leaders=(0, 5, 0)) == 1


def test_a_replica_that_is_not_in_sync_takes_over_only_if_it_must() -> None:
    assert successor((2, 1, 0), (1, 0), IN_SYNC, BEHIND, IN_SYNC) == 0
    assert successor((2, 1), (1, 0), IN_SYNC, BEHIND) == 0
    assert successor((2, 1), (1, 0), IN_SYNC, OFFLINE) == 0
    assert successor((2, 1, 0), (1, 0), IN_SYNC, OFFLINE, BEHIND) == 0


def test_leadership_is_not_handed_over_to_a_replica_that_is_behind() -> None:
    same = padded((0, 1), (0, 1), (0, 2), (0, 2))
    states = np.array([[IN_SYNC, BEHIND]] * 2 + [[IN_SYNC, IN_SYNC]] * 2)
    leaders, _ = even_leaders(same, same, states, NONE, EVERY)
    assert leaders.tolist() == [0, 0, 2, 2]


@given(lists)
def test_leaders_get_no_less_even(replicas: list[list[int]]) -> None:
    before = padded(*replicas)
    leaders, _ = even_leaders(before, before, in_sync(before), np.zeros(5, np.int64), np.ones(5, np.bool_))
    assert ((before == leaders[:, None]).any(axis=1)).all()
    assert np.bincount(leaders).max() <= np.bincount(before[:, 0]).max()


def leaders_of(replicas: Sequence[Sequence[int]], brokers: int) -> _Leaders:
    same = padded(*replicas)
    every, nothing = np.ones(brokers, np.bool_), np.zeros(brokers, np.int64)
    return _Leaders(same, same, same >= 0, np.ones(len(same), np.bool_), nothing, every)


@given(lists)
def test_the_small_network_gives_as_even_leaders_with_as_few_changes(replicas: list[list[int]]) -> None:
    problem, before = leaders_of(replicas, 5), padded(*replicas)
    small, large = problem.solve_between_brokers(), problem.solve()
    if small is not None:
        assert ((before == small[:, None]).any(axis=1)).all()
        assert (small != before[:, 0]).sum() == (large != before[:, 0]).sum()
        assert sorted(np.bincount(small, minlength=5)) == sorted(np.bincount(large, minlength=5))


def test_the_small_network_suffices_where_followers_are_many() -> None:
    replicas = [(0, 1, 2), (0, 2, 1), (0, 1, 2), (0, 2, 1), (0, 1, 2), (0, 2, 1)]
    small = leaders_of(replicas, 3).solve_between_brokers()
    assert small is not None
    assert np.bincount(small).tolist() == [2, 2, 2]


def test_a_partition_is_not_handed_over_twice() -> None:
    replicas = [(0, 1, 2), (0, 3), (0, 3), (0, 3), (0, 3)]
    problem = leaders_of(replicas, 4)
    assert problem.solve_between_brokers() is None
    assert sorted(np.bincount(problem.solve(), minlength=4)) == [0, 1, 2, 2]
