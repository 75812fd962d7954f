"""Problems as JSON values for the mixed-integer programs of `tools.proposal_oracle`."""

from collections import Counter
from typing import Any

from planner.proposals.problem.counts import count_ranges
from planner.proposals.problem.goal import Problem
from planner.proposals.problem.nodes import RackRule


def for_oracle(problem: Problem, *, shares: bool = False) -> dict[str, Any]:
    """Return brokers, partitions and ranges; see `tools.proposal_oracle.optimum`."""
    rule = RackRule(problem.nodes)
    ranges = count_ranges(problem, rule) if problem.goal.even_counts else {}
    rows = []
    for row in problem.rows:
        bounds, held = rule.bounds(row.factor), Counter(rule.held(set(row.replicas) - problem.goal.drain))
        wanted = {}
        for rack in bounds.most:
            least, most = bounds.least[rack], bounds.most[rack]
            if not problem.goal.repair_racks:
                least, most = min(least, held[rack]), max(most, held[rack])
            wanted[rack] = [least, most, bounds.least[rack]]
        rows.append([row.replicas, row.factor, wanted])
    nodes = [[node.id, node.rack, node.receives, float(node.weight)] for node in problem.usable]
    return {"brokers": nodes, "rows": rows, "ranges": ranges, "shares": shares}
