"""Read-only views of jobs, the queue and the limits for the JSON API (KIP-236, KIP-435).

Long results are iterators, because the state may change while the caller reads them; rows that were removed
meanwhile are left out. An iterator yields None for examined rows that it leaves out, so that the caller can
let other tasks run.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from controller.model.cluster import (
    Ending,
    Finished,
    Job,
    JobKind,
    Partition,
    Pending,
    Reassignment,
    Replicas,
    TopicPartition,
)
from controller.reassignment.next_step import plan_step
from controller.scheduling.limits import CONFIGS, Cost, LimitKind, Place, Usage, places
from controller.scheduling.plan_limits import LETTERS
from controller.scheduling.steps import UNLIMITED
from controller.state.state import State

_LETTER = {
    LimitKind.PARTITIONS: LETTERS["partitions"],
    LimitKind.LEADERS: LETTERS["leaders"],
    LimitKind.REPLICAS: LETTERS["replicas"],
    LimitKind.INCOMING: LETTERS["per_broker"],
    LimitKind.OUTGOING: LETTERS["per_broker"],
}


class JobState(Enum):
    """Where a job stands."""

    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


def job_state(job: Job) -> JobState:
    """Where the job stands; one that runs may still be held up by a pause of everything."""
    if job.ended_ms:
        return JobState.ENDED
    return JobState.PAUSED if job.paused else JobState.RUNNING


class PartState(Enum):
    """Where one partition's part in a job stands."""

    MOVING = "moving"
    WAITING = "waiting"
    """Its next step cannot start, whatever the limits."""
    QUEUED = "queued"
    """Its turn will come."""
    PENDING = "rolling back first"
    """An earlier reassignment of it goes back before this one starts."""
    DONE = "done"
    ROLLED_BACK = "rolled back"
    TAKEN = "taken over"
    TOPIC_DELETED = "topic deleted"
    STOPPED = "stopped"


class Part(NamedTuple):
    """One partition of a job.

    `replicas` are those after the last completed step, `step` where the next one leads.
    """

    topic: str
    partition: int
    state: PartState
    replicas: Replicas
    target: Replicas
    original: Replicas
    step: Replicas | None = None
    reason: str = ""
    """Why it does not move, or who took it over."""


def parts(state: State, number: int) -> Iterator[Part | None]:
    """The partitions of a job: those that move, those that will, those that have ended.

    Each is listed once, though it may go from one kind to the next meanwhile: they are looked for in that
    order.
    """
    listed: set[TopicPartition] = set()
    for part in _parts(state, number):
        key = None if part is None else TopicPartition(part.topic, part.partition)
        if key is None or key in listed:
            yield None
        else:
            listed.add(key)
            yield part


def _parts(state: State, number: int) -> Iterator[Part | None]:
    if number in state.open:
        for key in state.in_flight:
            yield _ongoing_part(state, state.reassignments.get(key), number)
        for pending in list(state.pending.values()):
            yield _pending_part(state, pending, number)
        for wanted in list(state.reassignments.values()):
            yield _ongoing_part(state, state.reassignments.get(wanted.key), number)
    for row in list(state.finished.get(number, {}).values()):
        yield _finished_part(state, row)


def endings(state: State, number: int) -> Iterator[PartState]:
    """How each partition's part in the job has ended."""
    return (_ending(state, row) for row in list(state.finished.get(number, {}).values()))


def queued(state: State) -> Iterator[Part | None]:
    """The entries of the queue: partitions of queued plans that have not started."""
    for job in list(state.jobs.values()):
        if job.kind is JobKind.QUEUE and job.id in state.open:
            for part in parts(state, job.id):
                untouched = part is not None and part.step is None and part.replicas == part.original
                pending = part is not None and part.state is PartState.PENDING
                open_ = part is not None and part.state in {PartState.QUEUED, PartState.WAITING}
                yield part if pending or (open_ and untouched) else None


def jobs_in_flight(state: State) -> Iterator[int | None]:
    """The job of each step in flight."""
    return (_job_of(state, key) for key in state.in_flight)


def waiting_jobs(state: State) -> Iterator[int | None]:
    """The job of each partition whose next step cannot start."""
    return (_job_of(state, key) for key in list(state.waiting))


def waiting_reason(state: State, wanted: Reassignment, partition: Partition) -> str:
    """Why no step of the reassignment is in flight."""
    known = state.waiting.get(wanted.key)
    if known is not None:
        return known
    if state.paused:
        return "everything is paused"
    if state.backlog.halted:
        return "nothing starts while the cancel znode exists"
    job = state.jobs.get(wanted.job)
    if job is not None and job.paused:
        return f"job {job.id} is paused"
    plan = plan_step(state, partition, wanted)
    place = state.backlog.blocker(plan.rank, plan.cost) or state.backlog.usage.exhausted(plan.cost)
    if place is None:
        return "its turn will come"
    if place.kind is LimitKind.HEALTH:
        return f"the cluster is not well: {state.health_problem}"
    return in_words(state.backlog.usage, place, plan.cost)


def in_words(usage: Usage, place: Place, cost: Cost) -> str:
    """An exhausted place, and what of it a step would take."""
    name = f"limit {_LETTER[place.kind]}" if place.kind in _LETTER else f"limit of {place}"
    text = f"{name}: {usage.taken(place)} of {usage.limit(place)} {place}"
    needed = dict(places(cost)).get(place, 0)
    return text if needed <= 1 else f"{text}, {needed} more needed"


class LimitView(NamedTuple):
    """A limit of KIP-435.

    `used` is None for R, which is no place that runs out; for B it is the busiest broker's.
    """

    letter: str
    config: str
    limit: int | None
    """None when there is none."""
    used: int | None


def limit_views(state: State) -> list[LimitView]:
    """Every limit, and what steps in flight take of it."""
    usage = state.backlog.usage
    used: dict[str, int | None] = {
        "per_partition": None,
        "partitions": usage.taken(Place(LimitKind.PARTITIONS)),
        "leaders": usage.taken(Place(LimitKind.LEADERS)),
        "replicas": usage.taken(Place(LimitKind.REPLICAS)),
        "per_broker": max((max(load[1:]) for load in broker_loads(state)), default=0),
    }
    views = []
    for config, field in CONFIGS.items():
        limit = getattr(usage.limits, field)
        views.append(LimitView(LETTERS[field], config, None if limit == UNLIMITED else limit, used[field]))
    return views


class BrokerLoad(NamedTuple):
    """Replicas on their way to and from a broker, as limit B counts them."""

    broker: int
    incoming: int
    outgoing: int


def broker_loads(state: State) -> list[BrokerLoad]:
    """The brokers that steps in flight use, in order of id."""
    usage = state.backlog.usage
    return [
        BrokerLoad(
            broker,
            usage.taken(Place(LimitKind.INCOMING, broker)),
            usage.taken(Place(LimitKind.OUTGOING, broker)),
        )
        for broker in sorted(usage.brokers())
    ]


class Totals(NamedTuple):
    """Reassignments in numbers; `moving`, `waiting` and `queued` add up to `ongoing`."""

    ongoing: int
    moving: int
    waiting: int
    queued: int
    pending: int
    """Queued plans' partitions that are rolled back first, and so among the ongoing ones of earlier jobs, or
    that others move."""
    others: int = 0
    """Partitions in `State.external`, steps of ours that a stop left among them; they are not among the
    ongoing ones."""


def totals(state: State) -> Totals:
    """Reassignments in numbers, at no cost."""
    others = len(state.external)
    ongoing, moving, waiting = (
        len(state.reassignments),
        len(state.backlog.costs) - others,
        len(state.waiting),
    )
    return Totals(ongoing, moving, waiting, max(0, ongoing - moving - waiting), len(state.pending), others)


def _job_of(state: State, key: TopicPartition) -> int | None:
    wanted = state.reassignments.get(key)
    return None if wanted is None else wanted.job


def _ongoing_part(state: State, wanted: Reassignment | None, number: int) -> Part | None:
    if wanted is None or wanted.job != number:
        return None
    partition = state.partition(wanted.topic, wanted.partition)
    if partition is None:
        return None
    if partition.key in state.in_flight:
        where, step, reason = PartState.MOVING, partition.next, ""
    else:
        where = PartState.WAITING if wanted.key in state.waiting else PartState.QUEUED
        step, reason = None, waiting_reason(state, wanted, partition)
    return Part(*wanted.key, where, partition.current, wanted.target, wanted.original, step, reason)


def _pending_part(state: State, pending: Pending, number: int) -> Part | None:
    now = state.partition(pending.topic, pending.partition)
    if pending.job != number or now is None or state.pending.get(pending.key) is not pending:
        return None
    earlier = state.reassignments.get(pending.key)
    original = now.current if earlier is None else earlier.original
    where, reason = PartState.PENDING, ""
    if earlier is None:
        where, reason = PartState.QUEUED, why_pending(state, pending)
    return Part(*pending.key, where, now.current, pending.target, original, reason=reason)


def why_pending(state: State, pending: Pending) -> str:
    """What the queued target waits for."""
    if pending.key in state.reassignments:
        return PartState.PENDING.value
    if pending.key in state.external:
        return "someone else moves it: this starts where that ends"
    return "someone else has moved it, perhaps not for the last time: this starts soon"


def _ending(state: State, row: Finished) -> PartState:
    """A job that takes another back has done so wherever a partition went back to what the other had found."""
    job = state.jobs.get(row.job)
    undone = state.finished.get(0 if job is None else job.undoes, {}).get(
        TopicPartition(row.topic, row.partition)
    )
    if row.ending is Ending.ROLLED_BACK and undone is not None and undone.original == row.target:
        return PartState.DONE
    return PartState[row.ending.name]


def _finished_part(state: State, row: Finished) -> Part:
    partition = state.partition(row.topic, row.partition)
    reason = f"job {row.taken_by} took it over" if row.ending is Ending.TAKEN else ""
    return Part(
        row.topic,
        row.partition,
        _ending(state, row),
        () if partition is None else partition.current,
        row.target,
        row.original,
        reason=reason,
    )
