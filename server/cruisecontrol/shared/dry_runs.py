"""Plans that dry runs have shown, and the one that an equal request executes, also after a restart.

They are records (`controller.model.tasks`). The plan of the same process is taken from the proposals that are
kept; after a restart it is put back there, so that `/v1/proposals` has it too.
"""

from hashlib import sha256

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict

from controller.model.tasks import MOST_PLAN_CHARACTERS, DryRun
from controller.state.state import State
from server.api.resources.proposals import checked_entries, moves_of
from server.api.shared.disk_moves import located
from server.api.shared.errors import HttpError
from server.api.shared.proposals import (
    EMPTY,
    DiskFigures,
    Kept,
    ProposalFigures,
    ProposalRequest,
    ProposalState,
)
from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.plan_parameters import EXECUTION_ONLY, PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask, compressed, unpacked

MOST_BYTES = 16 * MOST_PLAN_CHARACTERS
"""Of a plan and its rollback that are compressed to see whether they are short enough."""


class _Stored(Struct):
    """What is kept of a proposal."""

    goals: list[str]
    drain: list[int]
    add: list[int]
    partitions: int
    created_ms: int
    seconds: float
    request: ProposalRequest
    figures: ProposalFigures | None
    plan: Raw
    rollback: Raw
    unsized: list[tuple[str, int]]
    disks: DiskFigures | None = None
    moves: Raw = Raw(b"null")


def asked_of(call: CruiseControlCall, given: PlanParameters, task: RunningTask) -> str:
    """Return a digest of the client and of what the plan of its request depends on."""
    asked = sorted((name, repr(each)) for name, each in asdict(given).items() if name not in EXECUTION_ONLY)
    whole = task.request.principal, task.request.endpoint, call.body, asked
    return sha256(msgspec.json.encode(whole)).hexdigest()


async def shown_run(call: CruiseControlCall, asked: str, task: RunningTask, kept: Kept) -> DryRun | None:
    """Return the record of a dry run that has ended now; None if it shows a plan that is a record already."""
    before = call.state.tasks.dry_runs.get(asked)
    if before is not None and _at_hand(call, before) is kept:
        return None
    kept.asked = asked
    text = await call.call.off_loop.run(_packed, kept, call.store.shown(kept).seconds)
    return DryRun(asked, task.request.principal, kept.id, call.context.wall_clock(), text)


def executed_run(state: State, asked: str, task: RunningTask) -> DryRun | None:
    """Return the record of the dry run that ended before the task began, which executes it or a newer plan.

    So a dry run is executed once. One that is refused may be executed again.
    """
    run = state.tasks.dry_runs.get(asked)
    return None if run is None or run.ended_ms > task.started_ms else run._replace(task=task.id)


async def earlier_plan(call: CruiseControlCall, asked: str, most_ms: int) -> tuple[Kept | None, str]:
    """Return the proposal of the last equal dry run, if it still fits the cluster; or why it is not used."""
    run = call.state.tasks.dry_runs.get(asked)
    old = run is None or call.context.wall_clock() - run.ended_ms > most_ms
    if run is None or old or _was_executed(call.state, run):
        return None, f"no dry run of this request in the last {most_ms // 60_000} minutes, or it was executed"
    kept = await _kept(call, run)
    if kept is None:
        return None, f"proposal {run.proposal} was too large to be kept for so long, or is of another version"
    if kept.job is not None:
        return None, f"proposal {kept.id} was executed by job {kept.job}"
    if not kept.changes_anything:
        return kept, ""
    await call.call.refresh()
    try:
        if kept.disks is not None:
            await located(call.call, await call.call.off_loop.run(moves_of, kept))
        else:
            await call.call.off_loop.run(checked_entries, call.state, kept)
    except HttpError as error:
        return None, str(error)
    return kept, ""


def _was_executed(state: State, run: DryRun) -> bool:
    """Return whether a task has executed the plan, and was not refused."""
    task = state.tasks.results.get(run.task)
    return bool(run.task) and (task is None or not task.failed)


async def _kept(call: CruiseControlCall, run: DryRun) -> Kept | None:
    """Return the proposal that the dry run has shown. After a restart, another one can have its number.

    That restart can also have been an upgrade to a version with other proposals.
    """
    if (kept := _at_hand(call, run)) is not None or not run.plan:
        return kept
    try:
        restored = await call.call.off_loop.run(_restored, run)
    except msgspec.DecodeError:
        return None
    call.store.restore(restored)
    return _at_hand(call, run) or restored


def _at_hand(call: CruiseControlCall, run: DryRun) -> Kept | None:
    kept = call.store.get(run.proposal) if run.proposal in call.store else None
    return kept if kept is not None and kept.asked == run.asked else None


def _packed(kept: Kept, seconds: float) -> str:
    """Return the proposal as a text; an empty one if that would be too long for a record."""
    has_plan = kept.figures is not None or kept.disks is not None
    if not has_plan or len(kept.plan) + len(kept.rollback) + len(kept.moves) > MOST_BYTES:
        return ""
    stored = _Stored(
        list(kept.goals),
        sorted(kept.drain),
        sorted(kept.add),
        kept.partitions,
        kept.created_ms,
        seconds,
        kept.request,
        kept.figures,
        Raw(kept.plan),
        Raw(kept.rollback),
        sorted(kept.unsized or ()),
        kept.disks,
        Raw(kept.moves or b"null"),
    )
    text = compressed(msgspec.json.encode(stored))
    return text if len(text) <= MOST_PLAN_CHARACTERS else ""


def _restored(run: DryRun) -> Kept:
    stored = msgspec.json.decode(unpacked(run.plan), type=_Stored)
    return Kept(
        run.proposal,
        stored.goals,
        frozenset(stored.drain),
        frozenset(stored.add),
        stored.partitions,
        stored.created_ms,
        0.0,
        ProposalState.READY,
        stored.partitions,
        stored.seconds,
        figures=stored.figures,
        disks=stored.disks,
        request=stored.request,
        plan=memoryview(bytes(stored.plan)),
        rollback=memoryview(bytes(stored.rollback)),
        moves=EMPTY if stored.disks is None else memoryview(bytes(stored.moves)),
        unsized=set(stored.unsized),
        asked=run.asked,
    )
