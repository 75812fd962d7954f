"""The optimum of small problems by mixed-integer programs (HiGHS): JSON on stdin and stdout.

A program of its own: HiGHS and OR-tools cannot be loaded into one process. For each problem it writes the
optimum of the rack rule, the deviation of counts and the moves, each at the optimum of the earlier ones. If
shares are asked for, racks are then filled that lack a replica, and it adds the lowest highest share of all
brokers, and of each rack on its own.
"""

import json
import sys
from typing import Any

import highspy

Optimum = tuple[int, int, int, dict[str, float]]

EVERY = ""
"""The name of all racks together."""


def optimum(problem: dict[str, Any]) -> Optimum:
    """Return rack penalty, deviation, moves, and the highest share by rack.

    `brokers`: [[id, rack, receives, weight]]; `rows`: [[replicas, factor, {rack: [least, most, least before
    repairs]}]]; `ranges`: {id: [least, most]}; `shares`: whether the highest shares are asked for.
    """
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    brokers = {broker: (rack, receives) for broker, rack, receives, _ in problem["brokers"]}
    chosen = [
        {
            broker: solver.addBinary()
            for broker, (_, receives) in brokers.items()
            if receives or broker in replicas
        }
        for replicas, _, _ in problem["rows"]
    ]
    racks: list[Any] = []
    lacks: list[Any] = []
    moves: list[Any] = []
    for row, (replicas, factor, bounds) in zip(chosen, problem["rows"], strict=True):
        solver.addConstr(sum(row.values()) == factor)
        moves += [used for broker, used in row.items() if broker not in replicas]
        for rack, (least, most, wanted) in bounds.items():
            there = [used for b, used in row.items() if brokers[b][0] == rack]
            racks += _outside(solver, there, least, most)
            if problem["shares"]:
                lacks += _outside(solver, there, wanted, len(brokers))[:1]
    deviations: list[Any] = []
    for broker, (least, most) in problem["ranges"].items():
        deviations += _outside(
            solver, [row[int(broker)] for row in chosen if int(broker) in row], least, most
        )
    penalty, deviation, moved = (_least(solver, terms) for terms in (racks, deviations, moves))
    shares = _highest_shares(solver, problem, chosen, lacks) if problem["shares"] else {}
    return penalty, deviation, moved, shares


def _highest_shares(
    solver: Any, problem: dict[str, Any], chosen: list[dict[int, Any]], lacks: list[Any]
) -> dict[str, float]:
    """Return the lowest possible highest share of each rack on its own, and of all brokers."""
    _least(solver, lacks)
    shares = {}
    for rack in (EVERY, *sorted({rack for _, rack, _, _ in problem["brokers"]})):
        highest = solver.addVariable(lb=0)
        for broker, own, _, weight in problem["brokers"]:
            terms = [row[broker] for row in chosen if broker in row]
            if rack in (EVERY, own) and terms:
                solver.addConstr(sum(terms) - weight * highest <= 0)
        solver.minimize(highest)
        shares[rack] = solver.getObjectiveValue()
    return shares


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
