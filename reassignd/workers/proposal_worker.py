"""Computes a proposal for a running server, as a process of its own.

It is started by `python -m reassignd.workers.proposal_worker`.

stdout gets a line of figures or of reasons, then the plan and its rollback, a line each, and a line of the
moves if they are between log directories.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from common.plan_errors import PlanError
from controller.model.limits import PlanLimits
from planner.disk_proposing import propose_disks, read_disk_goal
from planner.model.snapshot import Snapshot, parse_snapshot
from planner.plan import forecast
from planner.proposals.disks import disk_text, plan_text
from planner.proposals.disks.plan_text import moves_json
from planner.proposals.disks.result import DiskProposal, seconds_to_move
from planner.proposals.problem.goal import MissingSolverError, ProposalError
from planner.proposals.proposal_text import as_dict, plan_json, rollback_json, summary
from planner.proposals.result import Proposal
from planner.proposing import DISKS, propose_for, read_goal_options
from reassignd.workers.processes import serve, until_end

LISTED = 1_000
"""Left out partitions in the figures."""

MOST_REASONS = 20


def work(lines: Iterator[bytes], answers: BinaryIO) -> None:
    """Read one request and write its answer."""
    request = json.loads(next(lines))
    try:
        snapshot = parse_snapshot("the cluster", until_end(lines))
        if DISKS in request["goals"]:
            disk_goal = read_disk_goal(request["goals"], request["options"])
            _write_disks(answers, propose_disks(snapshot, disk_goal), request)
            return
        proposal = propose_for(snapshot, read_goal_options(request["goals"], request["options"]))
    except ProposalError as error:
        more = len(error.reasons) - MOST_REASONS
        reasons = error.reasons[:MOST_REASONS] + ([f"and {more:,} more reasons"] if more > 0 else [])
        _write(answers, {"reasons": reasons})
        return
    except (PlanError, MissingSolverError) as error:
        _write(answers, {"reasons": [str(error)]})
        return
    _write(answers, {"figures": _figures(snapshot, proposal, request)})
    answers.writelines(
        plan.encode() + b"\n" for plan in (plan_json(proposal.changes), rollback_json(proposal.changes))
    )


def _write_disks(answers: BinaryIO, proposal: DiskProposal, request: Mapping[str, Any]) -> None:
    """Write figures, then the plan, its rollback, and the moves, a line each."""
    figures = disk_text.as_dict(proposal)
    left_out = figures["left_out"]
    more = {
        "summary": disk_text.summary(proposal),
        "left_out": left_out[:LISTED],
        "left_out_replicas": len(left_out),
        "forecast": _disk_forecast(proposal, request),
    }
    _write(answers, {"disks": figures | more})
    texts = plan_text.plan_json(proposal), plan_text.rollback_json(proposal), moves_json(proposal.moves)
    answers.writelines(text.encode() + b"\n" for text in texts)


def _figures(snapshot: Snapshot, proposal: Proposal, request: Mapping[str, Any]) -> dict[str, Any]:
    figures = as_dict(proposal)
    del figures["plan"]
    left_out = figures["left_out"]
    return figures | {
        "summary": summary(proposal),
        "left_out": left_out[:LISTED],
        "left_out_partitions": len(left_out),
        "forecast": _forecast(snapshot, proposal, request),
    }


def _disk_forecast(proposal: DiskProposal, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the forecast, or None without a rate."""
    bandwidth = request["bandwidth"]
    if bandwidth is None:
        return None
    seconds = seconds_to_move(proposal.moves, bandwidth, request["seconds_of_move"])
    return {"bandwidth": bandwidth, "seconds": seconds}


def _forecast(snapshot: Snapshot, proposal: Proposal, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the forecast, or None if it cannot be computed: it is an addition to the proposal."""
    targets = [((row.topic, row.partition), replicas) for row, replicas in proposal.changes.items()]
    try:
        limits, rates = PlanLimits(**request["limits"]), dict(request["rates"])
        result = forecast(targets, snapshot, limits, request["bandwidth"], rates, elects=proposal.elects)
    except PlanError:
        return None
    return result._asdict()


def _write(answers: BinaryIO, value: Mapping[str, Any]) -> None:
    answers.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(serve(work))
