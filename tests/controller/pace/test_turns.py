import pytest

from controller.pace.turns import MOST_DEBT, Turns


def seconds(turns: Turns, effort: float, most: int) -> list[int]:
    """Return in which seconds a small replica may start, and then moves."""
    found: list[int] = []
    for second in range(most):
        if turns.follow(effort, moving=second - 1 in found):
            found.append(second)
    return found


@pytest.mark.parametrize("effort", [1 / 16, 1 / 4, 0.4, 1 / 2])
def test_a_replica_moves_in_the_share_of_the_seconds_that_the_effort_says(effort: float) -> None:
    found = seconds(Turns(), effort, 1000)
    assert len(found) == pytest.approx(1000 * effort, abs=2)


def test_with_an_effort_of_a_quarter_three_of_four_seconds_are_pauses() -> None:
    assert seconds(Turns(), 1 / 4, 12) == [0, 4, 8]


def test_from_one_on_there_are_no_turns() -> None:
    assert seconds(Turns(), 1.0, 5) == [0, 1, 2, 3, 4]


def test_a_turn_that_was_not_used_is_kept_and_not_more() -> None:
    turns = Turns()
    assert all(turns.follow(0.5, moving=False) for _ in range(10))
    assert not turns.follow(0.5, moving=True)
    assert turns.follow(0.5, moving=False)


def test_a_long_move_costs_a_limited_pause() -> None:
    turns = Turns()
    for _ in range(100):
        turns.follow(0.5, moving=True)
    pauses = 0
    while not turns.follow(0.5, moving=False):
        pauses += 1
    assert pauses == 2 * MOST_DEBT
