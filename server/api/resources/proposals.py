"""`/v1/proposals`: plans that meet a goal with the fewest moves, and their execution."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.responses import Response

from common.json.models import convert_model
from common.json.text import parse
from common.plan_errors import Faults
from controller.disks.rules import at_once
from controller.model.cluster import TopicPartition
from controller.model.disks import LOOK_SECONDS
from controller.model.plan import Entry, Plan, read_plan
from controller.state.state import State
from controller.views.reassignments import is_under_way
from server.api.resources import snapshot
from server.api.resources.disk_moves import WantedMoves, order_of
from server.api.resources.jobs import Accepted, JobOptions, submit_entries
from server.api.resources.placement import alter_excluded, exclude_dirs, still_allowed
from server.api.resources.reviews import Review, ReviewOptions, check_size, reviewed
from server.api.resources.snapshot import SnapshotPartition
from server.api.shared.answers import encoded_lines, json_in_pieces, json_response
from server.api.shared.call import Call, Endpoint
from server.api.shared.cordons import follow_cordons
from server.api.shared.disk_moves import WantedMove, order_moves
from server.api.shared.errors import HttpError
from server.api.shared.forecasts import ForecastRate, applying_rates, forecast_rate, scheduled_seconds
from server.api.shared.models import RateOrigin
from server.api.shared.plans import check_plan, refuse
from server.api.shared.proposals import (
    DiskFigures,
    DiskMoves,
    Kept,
    Proposal,
    ProposalFigures,
    ProposalRequest,
    Proposals,
    ProposalState,
    ProposalStore,
    ProposedPlacement,
    dirs_of,
)

SMALL = 10_000
"""Partitions of a cluster up to which a request waits for the result. The others are answered at once."""
WAIT_SECONDS = 30.0
"""How long such a request waits: a proposal may wait for others, and take minutes itself."""


class ProposeOptions(Struct, forbid_unknown_fields=True):
    """Query parameters of a request for a proposal."""

    wait: Annotated[
        bool,
        Meta(
            description="Wait for the plan of a small cluster. `false`: answer 202 at once, so that the"
            " proposal can be cancelled; poll it."
        ),
    ] = True


async def propose(call: Call, options: ProposeOptions) -> Response:
    """Compute a proposal.

    With more than SMALL partitions, after WAIT_SECONDS, or without a wait, the answer is 202, and the
    proposal is to be polled.
    """
    return await _start(call, await call.body(ProposalRequest), options)


async def again(call: Call, options: ProposeOptions) -> Response:
    """Compute the same goals and options for the present replicas, as another proposal.

    The given one is kept.
    """
    return await _start(call, _kept(call).request, options)


async def _start(call: Call, body: ProposalRequest, options: ProposeOptions) -> Response:
    kept = await begin(call, body)
    if options.wait and kept.partitions <= SMALL and kept.task is not None:
        # Not by `await`: another request may cancel the task, and that would end this one without an answer.
        await asyncio.wait({kept.task}, timeout=WAIT_SECONDS)
    if kept.id not in _store(call):
        raise HttpError(409, f"Proposal {kept.id} was deleted while it was computed.")
    if kept.state is ProposalState.FAILED:
        raise HttpError(422, "; ".join(kept.reasons))
    return json_response(_shown(call, kept), 202 if kept.open else 200)


async def nothing() -> None:
    """Do nothing before a proposal is computed."""


async def begin(call: Call, body: ProposalRequest, measure: Callable[[], Awaitable[None]] = nothing) -> Kept:
    """Begin to compute a proposal, after `measure` with all partitions that there are. Raises HttpError."""
    store, goals = _store(call), words(body)
    if not goals and body.relieve_over is None:
        raise HttpError(
            400,
            "no goal: give at least one of drain, demote, relieve, add, to, balance, rf, racks, repair,"
            " leaders and disks",
        )
    await call.refresh()
    await measure()
    partitions = sum(map(len, call.state.cluster.partitions.values()))
    rate = _rate(call, store, body)
    request = {
        "goals": words(_left(call.state, body)),
        "options": options(body),
        "limits": call.state.backlog.usage.limits._asdict(),
        "bandwidth": None if rate is None else rate.bytes,
        "rates": [] if rate is None else list(applying_rates(call.state, rate.origin).items()),
        # The next replica of a broker starts when a look finds the one before in its place.
        "seconds_of_move": LOOK_SECONDS / at_once(call.state, 0),
    }
    brokers = frozenset(body.drain), frozenset(body.add)
    shown = goals or ["relieve", str(body.relieve_over)]
    kept = store.start(shown, brokers, partitions, lambda kept: _lines(call, request, kept))
    kept.request, kept.rate_origin = body, None if rate is None else rate.origin
    return kept


async def proposals(call: Call) -> Proposals:
    """List the kept proposals, newest first."""
    store = _store(call)
    return Proposals([_shown(call, each) for each in store.newest_first()])


async def proposal(call: Call) -> Proposal:
    """Return a proposal: its progress, then its figures."""
    return _shown(call, _kept(call))


async def delete(call: Call) -> Proposals:
    """Forget a proposal; one that is being computed is cancelled."""
    await _store(call).delete(call.number("proposal"))
    return await proposals(call)


async def plan(call: Call) -> Response:
    """Return the plan."""
    return json_in_pieces(_ready(call).plan)


async def rollback(call: Call) -> Response:
    """Return the plan that restores the replicas of before."""
    return json_in_pieces(_ready(call).rollback)


async def moves(call: Call) -> Response:
    """Return the moves between log directories."""
    kept = _ready(call)
    if kept.disks is None:
        raise HttpError(404, f"Proposal {kept.id} is not about log directories.")
    return json_in_pieces(kept.moves)


async def review(call: Call, options: ReviewOptions) -> Review:
    """Forecast the plan as it is now, such as with a throttle of its job.

    Refused if a partition that it changes is not where it was.
    """
    kept = _ready(call)
    if kept.figures is None:
        raise HttpError(409, f"Proposal {kept.id} is about log directories: its forecast has no throttle.")
    if not kept.changes_anything:
        raise HttpError(409, f"Proposal {kept.id} changes no partition: there is nothing to forecast.")
    check_size(kept.figures.partitions)

    async def entries() -> Sequence[Entry]:
        return await call.off_loop.run(checked_entries, call.state, kept)

    return await reviewed(call, entries, options, elects=kept.figures.elects)


async def execute(call: Call, options: JobOptions) -> Response:
    """Submit the plan as a job. Refused if a partition that it changes is not where it was."""
    return await submit_kept(call, _ready(call), options)


async def submit_kept(call: Call, kept: Kept, options: JobOptions) -> Response:
    """Submit the plan of a proposal that is ready. Raises HttpError.

    Without moves there is no job. Brokers and directories that are empty already are excluded all the same:
    they are to stay empty.
    """
    state = call.state
    async with kept.executing:
        if kept.job is not None:
            raise HttpError(409, f"Proposal {kept.id} is executed by job {kept.job}.")
        if not kept.changes_anything and not kept.places:
            raise HttpError(409, f"Proposal {kept.id} changes nothing.")
        if kept.disks is not None:
            return await _submit_moves(call, kept, options)
        exclude, allow = _placed(state, kept)
        figures = kept.figures
        if figures is None or not figures.partitions:
            return _without_job(await _place(call, exclude, allow))
        await call.refresh()
        entries = await call.off_loop.run(checked_entries, state, kept)
        notes = await _place(call, exclude, allow)
        try:
            if exclude or allow:
                # Kafka may have taken seconds to cordon, in which others move partitions.
                entries = await call.off_loop.run(checked_entries, state, kept)
            elects = replace(options, elect=options.elect or figures.elects)
            kept.job, answer = await submit_entries(call, entries, elects, notes)
        except HttpError:
            await alter_excluded(call, allow, exclude)
            raise
        if kept.job is None:
            await alter_excluded(call, allow, exclude)
        return answer


def _placed(state: State, kept: Kept) -> tuple[frozenset[int], frozenset[int]]:
    """Return the brokers that its execution excludes, and allows again."""
    excluded = state.settings.excluded_brokers
    return kept.drain - excluded, kept.add & excluded


async def _place(call: Call, exclude: Collection[int], allow: Collection[int]) -> list[str]:
    """Change the excluded brokers; return a line for each one where Kafka does not follow."""
    await alter_excluded(call, exclude, allow)
    return await follow_cordons(call, exclude, allow)


async def _submit_moves(call: Call, kept: Kept, options: JobOptions) -> Response:
    """Order the moves between log directories. Refused if a replica is not where it was."""
    moves = await call.off_loop.run(moves_of, kept)
    if not moves:
        return _without_job(await exclude_dirs(call, dirs_of(kept.emptied)))
    await call.refresh()
    kept.job, notes = await order_moves(call, moves, order_of(call, options, kept.emptied))
    return json_response(Accepted(kept.job, len(moves), 0, [], list(notes), Plan(partitions=[])), 202)


def _without_job(notes: Sequence[str]) -> Response:
    return json_response(Accepted(None, 0, 0, [], list(notes), Plan(partitions=[])), 202)


def moves_of(kept: Kept) -> list[WantedMove]:
    """Return the moves between log directories of a proposal."""
    return convert_model(parse(bytes(kept.moves)), WantedMoves).moves


def _left(state: State, body: ProposalRequest) -> ProposalRequest:
    """Return the request with the brokers that the chosen topics leave among the drained ones.

    Raises HttpError.
    """
    if not body.to:
        return body
    known = state.cluster.brokers.keys() | state.cluster.unlisted_brokers
    if not body.topics and not body.partitions:
        raise HttpError(400, "`to` moves some topics: name them by `topics` (an expression) or `partitions`")
    if unknown := sorted({*body.to} - known):
        raise HttpError(422, f"broker {unknown[0]} is not in the cluster")
    if both := sorted({*body.to} & {*body.drain}):
        raise HttpError(400, f"broker {both[0]} is in `to` and in `drain`")
    if not known - {*body.to}:
        raise HttpError(400, "`to` names all brokers: no replica would have to move")
    return replace(body, to=[], drain=sorted({*body.drain} | (known - {*body.to})))


def words(body: ProposalRequest) -> list[str]:
    """Return the goals as the command takes them."""
    goals: list[str] = []
    brokers_of = (
        ("drain", body.drain),
        ("demote", body.demote),
        ("relieve", body.relieve),
        ("add", body.add),
        ("to", body.to),
    )
    for name, brokers in brokers_of:
        goals += [name, _ids(brokers)] if brokers else []
    goals += [name for name in ("balance", "racks", "repair", "leaders") if getattr(body, name)]
    factors = [] if body.rf is None else [str(body.rf)]
    factors += [f"{each.factor}:{each.topics}" for each in body.factors]
    goals += ["rf", *factors] if factors else []
    if body.disks is not None:
        goals += ["disks", _ids(body.disks.brokers)] if body.disks.brokers else ["disks"]
    return goals


def options(body: ProposalRequest) -> dict[str, Any]:
    """Return the options as the command takes them, by name."""
    return {
        "topics": body.topics,
        "partitions": [(each.topic, each.partition) for each in body.partitions] or None,
        "exclude_topics": body.exclude_topics,
        "exclude_brokers": _ids(body.exclude_brokers) if body.exclude_brokers else None,
        "tolerance": body.tolerance,
        "leaders": _value(body.preferred_leaders),
        "by": body.by,
        "tolerance_of": body.tolerance_of,
        "at": _value(body.at),
        "allow_unknown": body.allow_unknown,
        "minimize": _value(body.minimize),
        "spread": _value(body.spread),
        "byte_tolerance": body.byte_tolerance,
        "max_moves": body.max_moves,
        "max_bytes": body.max_bytes,
        "headroom": body.headroom,
        "strict_racks": body.strict_racks,
        "strict_sizes": body.strict_sizes,
        "fix_racks": body.fix_racks,
        "disable_rack_aware": body.disable_rack_aware,
        "weights": body.weights,
        "skip_moving": body.skip_moving,
        "relieve": body.relieve_over,
        "relieve_to": body.relieve_to,
        "allow_partial": body.allow_partial,
        "empty": None if body.disks is None else [(each.broker, each.dir) for each in body.disks.empty],
    }


def _value(choice: Enum | None) -> str | None:
    return None if choice is None else choice.value


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _shown(call: Call, kept: Kept) -> Proposal:
    """Return the proposal with the time that its forecast takes from now on."""
    shown = _store(call).shown(kept)
    figures = shown.figures and _from_now(call, kept, shown.figures)
    disks = shown.disks and _from_now(call, kept, shown.disks)
    return replace(shown, figures=figures, disks=disks, placement=_placement(call, kept))


def _placement(call: Call, kept: Kept) -> ProposedPlacement | None:
    """Return who gets nothing new from its execution on, or something again; None where that stays."""
    if kept.state is not ProposalState.READY or kept.job is not None:
        return None
    exclude, allow = _placed(call.state, kept)
    dirs = still_allowed(call, kept.emptied)
    return ProposedPlacement(sorted(exclude), sorted(allow), dirs) if exclude or allow or dirs else None


Figures = TypeVar("Figures", ProposalFigures, DiskFigures)


def _from_now(call: Call, kept: Kept, figures: Figures) -> Figures:
    forecast = figures.forecast
    if forecast is None:
        return figures
    size = forecast.seconds * forecast.bandwidth
    seconds = scheduled_seconds(call.state, size, forecast.bandwidth, forecast.seconds)
    forecast = replace(forecast, scheduled_seconds=seconds, rate_origin=kept.rate_origin)
    return replace(figures, forecast=forecast)


def _rate(call: Call, store: ProposalStore, body: ProposalRequest) -> ForecastRate | None:
    """Return the rate of the forecast; None if the bandwidth of brokers is not known."""
    unthrottled = store.bandwidth()
    if unthrottled is None:
        return None
    if body.disks is not None:
        # Neither the throttle nor pace slow what stays in a broker.
        return ForecastRate(unthrottled, RateOrigin.ASSUMED)
    return forecast_rate(call.state, call.services.progress, unthrottled)


async def _lines(call: Call, request: dict[str, Any], kept: Kept) -> AsyncIterator[bytes]:
    """Yield the input of the computation; the partitions are counted as they are handed over."""
    yield json.dumps(request).encode() + b"\n"
    disks = await call.services.inventories.disks()

    def counted() -> Iterator[Struct]:
        services = call.services
        known = services.sizes, services.load, disks
        for row in snapshot.rows(services.cluster_id(), call.state, *known):
            if isinstance(row, SnapshotPartition):
                kept.read += 1
                if row.bytes is None and kept.unsized is not None:
                    kept.unsized.add((row.topic, row.partition))
            yield row

    async for piece in encoded_lines(counted()):
        yield piece


def checked_entries(state: State, kept: Kept) -> list[Entry]:
    """Return the entries of the plan. Raises HttpError if a partition is not where it was, or moves."""
    for topic, number, replicas, _ in read_plan(parse(bytes(kept.rollback))):
        partition, key = state.cluster.partition(topic, number), TopicPartition(topic, number)
        if partition is None or partition.current != tuple(replicas):
            raise HttpError(409, f"{topic}-{number} has changed since the proposal; propose again.")
        if is_under_way(state, key):
            raise HttpError(409, f"{topic}-{number} is being reassigned or queued; wait for the end.")
    entries, faults = read_plan(parse(bytes(kept.plan))), Faults()
    check_plan(state, [*entries], faults)
    refuse(faults)
    return entries


def _store(call: Call) -> ProposalStore:
    if call.services.proposals is None:
        raise HttpError(501, "This server computes no proposals.")
    return call.services.proposals


def _kept(call: Call) -> Kept:
    return _store(call).get(call.number("proposal"))


def _ready(call: Call) -> Kept:
    kept = _kept(call)
    if kept.state is not ProposalState.READY:
        raise HttpError(409, f"Proposal {kept.id} has no plan: it is {kept.state.value}.")
    return kept


_PATH = "/v1/proposals/{proposal}"

ENDPOINTS = (
    Endpoint("GET", "/v1/proposals", "List the last proposals, newest first.", proposals, Proposals),
    Endpoint(
        "POST",
        "/v1/proposals",
        "Propose a plan with the fewest moves. 202 if the cluster is large: poll the proposal.",
        propose,
        Proposal,
        ProposalRequest,
        ProposeOptions,
    ),
    Endpoint("GET", _PATH, "Get a proposal, or its progress.", proposal, Proposal),
    Endpoint("DELETE", _PATH, "Forget a proposal, or cancel it.", delete, Proposals),
    Endpoint("GET", f"{_PATH}/plan", "Get the plan of a proposal.", plan, Plan),
    Endpoint("GET", f"{_PATH}/rollback", "Get the plan that restores the present replicas.", rollback, Plan),
    Endpoint(
        "GET", f"{_PATH}/moves", "Get the moves between log directories of a proposal.", moves, DiskMoves
    ),
    Endpoint(
        "GET",
        f"{_PATH}/review",
        "Forecast the plan of a proposal under the limits and throttles of this moment.",
        review,
        Review,
        query=ReviewOptions,
    ),
    Endpoint(
        "POST",
        f"{_PATH}/again",
        "Propose again: the same goals and options for the present replicas. 202 if the cluster is large.",
        again,
        Proposal,
        query=ProposeOptions,
    ),
    Endpoint(
        "POST", f"{_PATH}/execute", "Execute a proposal as a job.", execute, Accepted, None, JobOptions, 202
    ),
)
