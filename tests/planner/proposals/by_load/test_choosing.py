import numpy as np

from planner.proposals.by_load.choosing import leaving
from planner.proposals.by_load.task import Items


def items(loads: list[list[float]], sizes: list[float]) -> Items:
    """Return replicas on broker 0 with these loads."""
    rows, home = np.arange(len(loads)), np.array(loads)
    return Items(rows, np.zeros_like(rows), np.zeros_like(rows), home, home, np.array(sizes))


def test_the_cheapest_replicas_with_the_wanted_loads_leave() -> None:
    replicas = items([[5, 1], [5, 1], [1, 5], [1, 5]], [30, 10, 10, 30])
    leaves = leaving(replicas, np.full(4, 0.5), np.array([[100, 100]]))
    assert leaves.tolist() == [False, True, True, False]


def test_replicas_that_are_nearly_equal_do_not_keep_the_solver_busy() -> None:
    # GLOP goes around in circles on these columns as they are.
    replicas = items(
        [[0.0032316367223139, 0.0010889923516722], [0.0032316380479036, 0.0010889923516722]], [1, 1.0000003]
    )
    leaves = leaving(replicas, np.full(2, 0.229664), np.array([[1, 1]]))
    assert leaves.sum() <= 1
