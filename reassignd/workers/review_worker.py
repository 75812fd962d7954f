"""Forecasts a plan for a running server, as a process of its own.

It is started by `python -m reassignd.workers.review_worker`.

The request has the targets, the limits and the bandwidth; the answer is one line: the forecast, or an error.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from common.plan_errors import PlanError
from controller.model.limits import PlanLimits
from planner.model.snapshot import parse_snapshot
from planner.plan import forecast
from reassignd.workers.processes import serve, until_end

WAITING = 100
"""Maximum number of waiting partitions in an answer."""


def work(lines: Iterator[bytes], answers: BinaryIO) -> None:
    """Read one request and write its answer."""
    request = json.loads(next(lines))
    targets = [((topic, number), tuple(replicas)) for topic, number, replicas in request["targets"]]
    answer: dict[str, Any]
    try:
        snapshot = parse_snapshot("the cluster", until_end(lines))
        limits, rates = PlanLimits(**request["limits"]), dict(request["rates"])
        result = forecast(targets, snapshot, limits, request["bandwidth"], rates, elects=request["elects"])
        answer = result._asdict() | {"waiting": result.waiting[:WAITING]}
    except PlanError as error:
        answer = {"error": str(error)}
    answers.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(serve(work))
