"""The optimum of small problems by mixed-integer programs (HiGHS): JSON on stdin and stdout.

A program of its own: HiGHS and OR-tools cannot be loaded into one process. For each problem it writes the optimum of the rack
rule, the deviation of counts and the moves, each at the optimum of the earlier ones.
"""

import json
import sys
from typing import Any

import highspy

Optimum = tuple[int, int, int]


def optimum(problem: dict[str, Any]) -> Optimum:
    """Return rack penalty, deviation and moves.

    `brokers`: [[id, rack, receives]]; `rows`: [[replicas, factor, {rack: [least, most]}]]; `ranges`: {id: [least, most]}.
    """
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    brokers = {broker: (rack, receives) for broker, rack, receives in problem["brokers"]}
    chosen = [
        {
            broker: solver.addBinary()
            for broker, (_, receives) in brokers.items()
            if receives or broker in replicas
        }
        for replicas, _, _ in problem["rows"]
    ]
    racks: list[Any] = []
    moves: list[Any] = []
    for row, (replicas, factor, bounds) in zip(chosen, problem["rows"], strict=True):
        solver.addConstr(sum(row.values()) == factor)
        moves += [used for broker, used in row.items() if broker not in replicas]
        for rack, (least, most) in bounds.items():
            racks += _outside(solver, [used for b, used in row.items() if brokers[b][0] == rack], least, most)
    deviations: list[Any] = []
    for broker, (least, most) in problem["ranges"].items():
        deviations += _outside(
            solver, [row[int(broker)] for row in chosen if int(broker) in row], least, most
        )
    penalty, deviation, moved = (_least(solver, terms) for terms in (racks, deviations, moves))
    return penalty, deviation, moved


def _outside(solver: Any, terms: list[Any], least: int, most: int) -> list[Any]:
    """Return variables that hold how far the sum of the terms is below or above its bounds."""
    if not terms:
        return []
    lack, over = solver.addVariable(lb=0), solver.addVariable(lb=0)
    solver.addConstr(sum(terms) + lack >= least)
    solver.addConstr(sum(terms) - over <= most)
    return [lack, over]


def _least(solver: Any, terms: list[Any]) -> int:
    """Minimize a sum and keep it at its minimum from now on."""
    if not terms:
        return 0
    solver.minimize(sum(terms))
    value: int = round(solver.getObjectiveValue())
    solver.addConstr(sum(terms) <= value)
    return value


if __name__ == "__main__":
    sys.stdout.write(json.dumps([optimum(problem) for problem in json.load(sys.stdin)]))
