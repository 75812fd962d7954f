import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.model.snapshot import Snapshot
from planner.proposals.by_load.leader_bound import least_highest
from planner.proposals.problem.goal import problem_of
from planner.proposing import propose, read_goal_options
from tests.planner.proposals.builders import cluster, failing, loaded


def bound(sets: list[list[int]], weights: list[int], brokers: int) -> float:
    """Return the bound where the first replica of each partition leads, and all shares are 1."""
    members, loads = np.array(sets), np.array(weights, np.float64)
    carried = np.bincount(members[:, 0], loads, brokers).astype(np.float64)
    return least_highest(carried, np.ones(brokers), loads, members[:, 0], members[:, 1:])


def test_leadership_in_parts_is_as_even_as_the_replicas_allow() -> None:
    assert bound([[0, 1], [0, 1], [0, 2]], [6, 6, 0], 3) == 6
    assert bound([[0, -1], [0, 1]], [8, 4], 2) == 8


def test_a_bound_is_said_where_a_broker_stays_above_its_range() -> None:
    snapshot: Snapshot = loaded(cluster("--", (1, 2), (1, 2), (2, 1)), 60, 30, 10)
    stuck = failing(snapshot, behind={0: {2}, 1: {2}})
    goal = read_goal_options(["balance"], {"by": "leaders-in"}).goal
    notes = propose(problem_of(stuck, goal)).notes
    assert "leaders-in: whoever leads, the fullest broker carries at least 1.80 of its fair share" in notes


@given(st.lists(st.tuples(st.permutations([0, 1, 2]), st.integers(0, 20)), min_size=1, max_size=6), st.data())
def test_no_choice_of_leaders_is_better(rows: list[tuple[list[int], int]], data: st.DataObject) -> None:
    sets = [members[: data.draw(st.integers(2, 3))] for members, _ in rows]
    padded = [[*members, *[-1] * (3 - len(members))] for members in sets]
    chosen = [data.draw(st.sampled_from(members)) for members in sets]
    weights = [weight for _, weight in rows]
    assert bound(padded, weights, 3) <= np.bincount(chosen, weights, 3).max() + 1e-6
