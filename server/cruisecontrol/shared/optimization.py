"""From a request that plans to its answer, and to the job that executes the plan.

An execution runs the plan that was approved: that of the newest dry run of the same request by the same
client, if its partitions still are where they were. Otherwise a new plan is made, and the answer says so.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Set
from functools import partial
from typing import NamedTuple

from common.json.text import parse
from common.tasks import cancel
from controller.model.load import LoadSummary
from controller.model.plan import read_plan
from controller.model.tasks import job_client_id
from controller.state.state import State
from server.api.resources.proposals import begin, nothing, submit_kept
from server.api.shared.errors import HttpError
from server.api.shared.proposals import Kept, ProposalFigures, ProposalRequest, ProposalState
from server.cruisecontrol.shared import goals, results
from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.disk_results import DiskAnswer, disk_answer, left_in_directories
from server.cruisecontrol.shared.dry_runs import asked_of, earlier_plan, executed_run, shown_run
from server.cruisecontrol.shared.errors import not_ready, refused, unknown_broker
from server.cruisecontrol.shared.executions import make_way, turn_to_execute
from server.cruisecontrol.shared.goals import Chosen, as_request, choose
from server.cruisecontrol.shared.loads import Change, broker_rows, changes_of, led_by, planned_rows
from server.cruisecontrol.shared.measuring import measure_unknown
from server.cruisecontrol.shared.plan_parameters import (
    PlanParameters,
    check_parameters,
    disk_options,
    job_options,
)
from server.cruisecontrol.shared.tasks import RunningTask

POLL_SECONDS = 0.2
"""How often the progress of a computation is looked at."""


class Wanted(NamedTuple):
    """What an endpoint asks for, without the goals."""

    request: ProposalRequest
    evens: bool = False
    """Replicas of all brokers are evened out."""
    leaving: frozenset[int] = frozenset()
    """Brokers that give up their replicas."""
    new: frozenset[int] = frozenset()
    """Brokers that are added."""
    demoted: frozenset[int] = frozenset()
    reuse_ms: int = 0
    """How old the plan of an equal dry run may be that answers a dry run."""
    goals: Sequence[str] = ()
    """The goals of a request that names none, instead of the default ones."""
    at_once: int | None = None
    """Replicas that may move between the log directories of a broker at once."""

    @property
    def mends(self) -> bool:
        """Whether the plan is there to meet the goals in the whole cluster."""
        return self.evens or bool(self.leaving) or self.request.disks is not None


class _Plan(NamedTuple):
    """The plan of a request."""

    kept: Kept
    note: Sequence[str] = ()
    """Whether it is the approved one, or how old it is."""
    approved: bool = False
    """Its goals were judged when it was shown."""


async def optimize(
    call: CruiseControlCall, given: PlanParameters, wanted: Wanted, task: RunningTask
) -> bytes:
    """Return the answer of a request that plans, after its plan was submitted if that is asked for.

    Raises CruiseControlError, HttpError or DriverStoppedError.
    """
    check_parameters(given)
    asked = asked_of(call, given, task)
    if given.dryrun or asked not in call.state.tasks.dry_runs:
        _require_sizes(call.state)
    stops = 0 if given.dryrun else await make_way(call, stop=given.stop_ongoing_execution)
    load = call.load
    has_load = goals.has_rates(load)
    names = given.goals or wanted.goals
    chosen = choose(
        names, skip_hard=given.skip_hard_goal_check, assigner=given.kafka_assigner, has_load=has_load
    )
    request = wanted.request
    if request.disks is None:
        request = as_request(chosen, request, has_load=has_load, evens=wanted.evens)
        request.skip_moving = True
    request.exclude_topics = given.excluded_topics or None
    kept, note, approved = await _plan(call, given, request, task, asked, wanted.reuse_ms)
    if approved:
        chosen = chosen._replace(skip_hard=True)
    body = await _answer(call, given, wanted, chosen, kept, [*note, *_left_out(kept)], load)
    if given.dryrun:
        await call.context.tasks.keep(task, body, await shown_run(call, asked, task, kept))
        return body
    async with turn_to_execute(call, stops):
        await call.context.tasks.keep(task, body, executed_run(call.state, asked, task), executes=True)
        if kept.changes_anything or kept.places:
            task.step = "submitting the plan"
            options = job_options(given) if kept.disks is None else disk_options(given, wanted.at_once)
            await submit_kept(call.of_task(job_client_id(task.id)), kept, options)
    return body


def _require_sizes(state: State) -> None:
    """Raise CruiseControlError while no size is measured. What was approved needs none."""
    if not state.sizes_known:
        raise not_ready("the sizes of replicas are not measured yet")


def check_brokers(state: State, brokers: Sequence[int]) -> None:
    """Raise CruiseControlError for a broker that the cluster does not have."""
    known = state.cluster.brokers.keys() | state.cluster.unlisted_brokers
    for broker in brokers:
        if broker not in known:
            raise unknown_broker(broker)


async def _plan(
    call: CruiseControlCall,
    given: PlanParameters,
    request: ProposalRequest,
    task: RunningTask,
    asked: str,
    reuse_ms: int,
) -> _Plan:
    """Return the proposal to show, or to execute."""
    if given.dryrun and not reuse_ms:
        return _Plan(await _computed(call, request, task))
    earlier, why_not = await earlier_plan(call, asked, reuse_ms if given.dryrun else call.context.reuse_ms)
    if earlier is None:
        note = [] if given.dryrun else [f"new proposal: {why_not}"]
        return _Plan(await _computed(call, request, task), note)
    if given.dryrun:
        seconds = (call.context.wall_clock() - earlier.created_ms) // 1000
        return _Plan(earlier, [f"proposal {earlier.id}, made {seconds} s ago"])
    return _Plan(earlier, [f"executes proposal {earlier.id}"], approved=True)


async def _computed(call: CruiseControlCall, request: ProposalRequest, task: RunningTask) -> Kept:
    _require_sizes(call.state)
    kept = await _begun(call, request, task)
    kept.unsized, work = set(), kept.task
    try:
        while work is not None and not work.done():
            task.step = "waiting for another proposal" if kept.state is ProposalState.WAITING else "planning"
            task.percentage = round(100.0 * kept.read / max(kept.partitions, 1), 1)
            await asyncio.wait({work}, timeout=POLL_SECONDS)
    except asyncio.CancelledError:
        if work is not None:
            await cancel(work)
        raise
    if kept.disks is None:
        _figures(kept)
    if kept.unsized:
        kept.unsized = await call.call.off_loop.run(_copied_unsized, kept.unsized, kept)
    return kept


def _copied_unsized(unsized: Set[tuple[str, int]], kept: Kept) -> set[tuple[str, int]]:
    """Return those of the partitions that the plan copies."""
    changes = ((each, (each.topic, each.partition)) for each in _changes(kept))
    return {key for each, key in changes if key in unsized and not {*each.after} <= {*each.before}}


async def _begun(call: CruiseControlCall, request: ProposalRequest, task: RunningTask) -> Kept:
    """Begin the computation, as soon as there is room for one more."""
    task.step = "measuring sizes"
    measure: Callable[[], Awaitable[None]] = partial(measure_unknown, call)
    while True:
        try:
            return await begin(call.call, request, measure)
        except HttpError as error:
            if error.status != 429:
                raise (not_ready if error.status == 503 else refused)(str(error)) from error
            task.step, measure = "waiting for other proposals", nothing
            await asyncio.sleep(POLL_SECONDS)


def _left_out(kept: Kept) -> list[str]:
    if kept.disks is not None:
        return left_in_directories(kept.disks)
    figures = _figures(kept)
    if not figures.left_out_partitions:
        return []
    first = figures.left_out[0] if figures.left_out else None
    example = f", such as {first.topic}-{first.partition}: {first.reason}" if first is not None else ""
    return [f"{figures.left_out_partitions} partitions are left out{example}"]


async def _answer(
    call: CruiseControlCall,
    given: PlanParameters,
    wanted: Wanted,
    chosen: Chosen,
    kept: Kept,
    notes: Sequence[str],
    load: LoadSummary,
) -> bytes:
    now = await broker_rows(call.context)
    milliseconds = round(1000 * call.store.shown(kept).seconds)
    if (disks := kept.disks) is not None:
        topics = len(call.state.cluster.partitions)
        shown = DiskAnswer(given, chosen, disks, notes, topics, milliseconds)
        listed = await call.call.off_loop.run(_changes, kept) if given.verbose else None
        return await call.call.off_loop.run(disk_answer, shown, now, listed)
    figures = _figures(kept)

    def compute() -> bytes:
        changes = [_as_led(call.state, each) for each in _changes(kept)]
        before, after = planned_rows(now, figures.brokers, changes, call.context.services.load)
        for row in (*before, *after):
            if row.alive:
                row.state = (
                    "NEW" if row.id in wanted.new else "DEMOTED" if row.id in wanted.demoted else row.state
                )
        verdicts = goals.judge(
            chosen,
            goals.evidence(figures, before, wanted.leaving, False),
            goals.evidence(figures, after, wanted.leaving, True),
            mends=wanted.mends,
        )
        coverage = load.coverage if load.sampling else 1.0
        numbers = results.summary(figures, verdicts, coverage, given.excluded, notes, len(kept.unsized or ()))
        topics = len(call.state.cluster.partitions)
        summaries = results.goal_summaries(verdicts, after, topics, milliseconds)
        return results.result(numbers, summaries, (before, after), changes if given.verbose else None)

    return await call.call.off_loop.run(compute)


def _figures(kept: Kept) -> ProposalFigures:
    """Return the figures of a proposal. Raises CruiseControlError if it has none."""
    if kept.figures is None:
        raise refused("; ".join(kept.reasons) or "the proposal was deleted")
    return kept.figures


def _changes(kept: Kept) -> list[Change]:
    if not kept.changes_anything:
        return []
    plan, rollback = (read_plan(parse(bytes(each))) for each in (kept.plan, kept.rollback))
    return changes_of(plan, rollback)


def _as_led(state: State, change: Change) -> Change:
    """Return the change from the present leader on: the job elects the new one."""
    partition = state.cluster.partition(change.topic, change.partition)
    return change if partition is None else led_by(change, partition.leader)
