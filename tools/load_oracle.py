"""The least bytes for even loads of small problems by mixed-integer programs (HiGHS): JSON on stdin, stdout.

A program of its own: HiGHS and OR-tools cannot be loaded into one process. For each problem it writes the
least bytes of a plan with all loads in their ranges, or null if there is none. Where the time does not
suffice, it is a lower bound.
"""

import json
import sys
from collections import defaultdict
from typing import Any

import highspy

SECONDS = 20.0


def least_bytes(problem: dict[str, Any]) -> float | None:
    """Return the least bytes.

    `racks`: {broker: rack}; `rows`: [[replicas, bytes, loads of a replica]]; `ranges`: {broker: [[least,
    most]]} by load. Every broker may receive, and each partition keeps its number of replicas in each rack.
    """
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.setOptionValue("time_limit", SECONDS)
    racks = problem["racks"]
    carried: dict[str, list[tuple[Any, list[float]]]] = defaultdict(list)
    costs = []
    for replicas, size, loads in problem["rows"]:
        chosen = {broker: solver.addBinary() for broker in racks}
        for rack in set(racks.values()):
            there = [broker for broker in racks if racks[broker] == rack]
            held = sum(int(broker) in replicas for broker in there)
            solver.addConstr(sum(chosen[broker] for broker in there) == held)
        for broker, variable in chosen.items():
            carried[broker].append((variable, loads))
            costs += [size * variable] if int(broker) not in replicas else []
    for broker, ranges in problem["ranges"].items():
        for load, (least, most) in enumerate(ranges):
            total = sum(loads[load] * variable for variable, loads in carried[broker])
            solver.addConstr(total >= least)
            solver.addConstr(total <= most)
    solver.minimize(sum(costs))
    if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return None
    return float(solver.getInfo().mip_dual_bound)


if __name__ == "__main__":
    sys.stdout.write(json.dumps([least_bytes(problem) for problem in json.load(sys.stdin)]))
