from fractions import Fraction

import pytest

from planner.proposals.goals_text import broker_ids, read_goal, read_tolerance, read_weights
from planner.proposals.problem.goal import ProposalError


def test_goals_are_combined() -> None:
    goal = read_goal(["drain", "7,8", "add", "31"])
    assert (goal.drain, goal.add) == (frozenset({7, 8}), frozenset({31}))
    assert goal.even_counts
    assert goal.even_leaders


def test_a_drain_alone_balances_nothing() -> None:
    goal = read_goal(["drain", "7"])
    assert not goal.even_counts
    assert not goal.even_leaders


def test_a_factor_is_read() -> None:
    assert read_goal(["rf", "3"]).factor == 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["fly"], "unknown goal 'fly'; expected drain, add, rf, balance, racks, leaders"),
        (["drain"], "drain needs broker ids"),
        (["drain", "1,x"], "drain '1,x': expected different broker ids, separated by commas"),
        (["balance", "balance"], "balance is given twice"),
        (["drain", "1", "add", "1"], "broker 1 cannot be both drained and added"),
        (["rf", "0"], "rf '0': expected a replication factor from 1"),
    ],
)
def test_bad_goals_are_named(words: list[str], reason: str) -> None:
    with pytest.raises(ProposalError, match=f"^{reason}$"):
        read_goal(words)


def test_a_tolerance_is_a_percentage_or_a_fraction() -> None:
    assert read_tolerance("5%") == read_tolerance("0.05") == Fraction(1, 20)
    with pytest.raises(ProposalError, match="tolerance '120%'"):
        read_tolerance("120%")


def test_weights_are_exact_fractions() -> None:
    assert read_weights(["7=0.5", "8=2"]) == {7: Fraction(1, 2), 8: 2}
    with pytest.raises(ProposalError, match="weight '7=0'"):
        read_weights(["7=0"])


def test_the_same_broker_twice_is_refused() -> None:
    with pytest.raises(ProposalError, match="different broker ids"):
        broker_ids("drain", "1,1")
