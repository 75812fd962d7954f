"""The format of requests to the planner in a child process, and of its answers.

A request is a line about the cluster, a line per move, and an empty line. An answer is a line with the
forecast, then a line per move with its steps, in the order of the request; or a single line with an error. An
empty line ends it.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from common.lists import grouped
from common.plan_errors import PlanError
from controller.model.jobs import PlannedStep
from controller.model.limits import PlanLimits
from planner.model.snapshot import Broker, Snapshot
from planner.model.step_table import Move, Scheduler
from planner.plan import make_plan, repairs_first

END = b"\n"

FORECAST_KEYS = (
    "partitions",
    "steps",
    "waves",
    "replica_movements",
    "leader_movements",
    "bytes",
    "bandwidth",
    "seconds",
    "least_seconds",
    "waiting_partitions",
)
"""Fields of `planner.model.forecast.Forecast` that an answer contains."""


class Request(NamedTuple):
    """Moves to plan.

    Brokers that are not `live` are offline. `bandwidth` is in bytes per second and broker.
    """

    limits: PlanLimits
    bandwidth: int
    live: Set[int]
    moves: list[Move]


def head(limits: PlanLimits, bandwidth: int, live: Collection[int]) -> bytes:
    """Return the first line of a request."""
    return json.dumps([limits, bandwidth, sorted(live)]).encode() + b"\n"


def rows(moves: Iterable[Move]) -> bytes:
    """Return the lines of a request for the moves."""
    return b"".join(json.dumps(move).encode() + b"\n" for move in moves)


def read_request(lines: Iterator[str]) -> Request | None:
    """Read a request, up to the empty line; None at the end of the input.

    Raises PlanError if it is incomplete.
    """
    moves: list[Move] = []
    first = next(lines, None)
    if first is None:
        return None
    for line in lines:
        if line == "\n":
            limits, bandwidth, live = json.loads(first)
            return Request(PlanLimits(*limits), bandwidth, set(live), moves)
        topic, partition, current, target, isr, leader, min_isr, size, original = json.loads(line)
        now, then, in_sync, before = map(tuple, (current, target, isr, original))
        moves.append(Move(topic, partition, now, then, in_sync, leader, min_isr, size, before))
    raise PlanError("the request is incomplete")


def answer(request: Request, scheduler: Scheduler) -> Iterator[str]:
    """Make the plan and yield the lines of the answer."""
    limits, bandwidth, live, moves = request
    snapshot = Snapshot({broker: Broker(broker) for broker in live}, {})
    plan = make_plan(repairs_first(moves, live), snapshot, limits, bandwidth, scheduler)
    forecast = plan.forecast._asdict()
    yield json.dumps({name: forecast[name] for name in FORECAST_KEYS}) + "\n"
    rows = plan.steps.rows("topic", "partition", "wave", "replicas")
    steps = grouped(((topic, partition), (wave, list(replicas))) for topic, partition, wave, replicas in rows)
    for move in moves:
        yield json.dumps(steps.get((move.topic, move.partition), ())) + "\n"
    yield "\n"


def failure(reason: str) -> str:
    """Return the answer for an error."""
    return json.dumps({"error": " ".join(reason.split())}) + "\n\n"


def read_answer(lines: Iterable[bytes]) -> tuple[Mapping[str, Any], Iterator[list[PlannedStep]]]:
    """Return the forecast and the steps of each move.

    Raises PlanError with the reason if there is no plan.
    """
    remaining = iter(lines)
    try:
        first = json.loads(next(remaining, b""))
    except ValueError as error:
        raise PlanError("the planner ended without an answer") from error
    if "error" in first:
        raise PlanError(first["error"])
    return first, (_read_steps(line) for line in remaining if line != END)


def _read_steps(line: bytes) -> list[PlannedStep]:
    return [PlannedStep(wave, tuple(replicas)) for wave, replicas in json.loads(line)]
