import io
import json

import pytest

from common.plan_errors import PlanError
from controller.model.jobs import PlannedStep
from controller.model.limits import PlanLimits
from planner import handover
from planner.model.step_table import Move, schedule

LIMITS = PlanLimits(per_partition=1, partitions=2)
LIVE = {1, 2, 3, 4}


def move(number: int, isr: tuple[int, ...] = (1, 2), target: tuple[int, ...] = (3, 4)) -> Move:
    return Move("orders", number, (1, 2), target, isr, 1, 1, 100)


def lines(*moves: Move) -> list[str]:
    whole = handover.head(LIMITS, 50, LIVE) + handover.rows(moves) + handover.END
    return list(io.StringIO(whole.decode()))


def answered(*moves: Move) -> list[bytes]:
    request = handover.read_request(iter(lines(*moves)))
    assert request is not None
    return [line.encode() for line in handover.answer(request, schedule)]


def waves_of(steps: list[PlannedStep]) -> list[int]:
    return [step.wave for step in steps]


def test_a_request_arrives_as_it_was_sent() -> None:
    moves = [move(0), move(1, isr=(2,))]
    assert handover.read_request(iter(lines(*moves))) == (LIMITS, 50, LIVE, moves)


@pytest.mark.parametrize("count", [1, 2])
def test_an_incomplete_request_is_an_error(count: int) -> None:
    with pytest.raises(PlanError, match="is incomplete"):
        handover.read_request(iter(lines(move(0))[:count]))


def test_the_input_ends_between_two_requests() -> None:
    assert handover.read_request(iter(())) is None


def test_the_answer_has_a_forecast_and_the_steps_of_each_move() -> None:
    forecast, steps = handover.read_answer(answered(move(0), move(1), move(2)))
    assert (forecast["partitions"], forecast["bytes"], forecast["bandwidth"]) == (3, 600, 50)
    first, *others = steps
    assert first == [(0, (3, 1, 2)), (1, (3, 2)), (2, (3, 4))]
    assert [waves_of(each) for each in others] == [[0, 1, 2], [1, 2, 3]]
    assert forecast["waves"] == 4


def test_repairs_are_planned_first_and_answers_keep_the_order_of_the_request() -> None:
    _, steps = handover.read_answer(answered(move(0), move(1), move(2, isr=(1,))))
    assert [waves_of(each)[0] for each in steps] == [0, 1, 0]


def test_a_partition_that_cannot_move_has_no_steps_and_is_counted() -> None:
    forecast, steps = handover.read_answer(answered(move(0, target=(1, 9)), move(1)))
    assert list(map(waves_of, steps)) == [[], [0, 1, 2]]
    assert forecast["waiting_partitions"] == 1


def test_a_failure_is_one_line() -> None:
    line = handover.failure("no Java:\n  install one")
    assert json.loads(line) == {"error": "no Java: install one"}
    with pytest.raises(PlanError, match=r"^no Java: install one$"):
        handover.read_answer([line.encode()])


@pytest.mark.parametrize("said", [[], [b"Killed\n"]])
def test_an_end_without_an_answer_is_a_failure(said: list[bytes]) -> None:
    with pytest.raises(PlanError, match="without an answer"):
        handover.read_answer(said)
