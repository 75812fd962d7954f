"""Read-only views of jobs, the queue and the limits for the JSON API (KIP-236, KIP-435).

Long results are iterators, because the state may change while the caller reads them; rows that were removed
meanwhile are left out. An iterator yields None for examined rows that it leaves out, so that the caller can
let other tasks run.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from controller.model.cluster import (
    Ending,
    Finished,
    Job,
    JobKind,
    Pending,
    Reassignment,
    Replicas,
    TopicPartition,
)
from controller.model.limits import NO_LIMITS
from controller.schedule.openings import closed_reason
from controller.scheduling.buckets import Bucket
from controller.scheduling.limits import LETTERED, LIMITS, Capacity, Cost, LimitKind, Usage, capacities_of
from controller.state.state import State

_NAMES = {kind: limit.name for limit in LIMITS for kind in limit.kinds}
"""Kind -> short name of the limit."""


class JobState(Enum):
    """The state of a job."""

    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


def job_state(job: Job) -> JobState:
    """Return the job's own state. A running job starts no steps while all reassignments are paused."""
    if job.ended_ms:
        return JobState.ENDED
    return JobState.PAUSED if job.paused else JobState.RUNNING


class PartState(Enum):
    """The state of a partition within a job."""

    MOVING = "moving"
    WAITING = "waiting"
    """The next step cannot start, for a reason other than the limits."""
    QUEUED = "queued"
    """The next step waits for capacity."""
    PENDING = "rolling back first"
    """The partition's earlier reassignment is rolled back before this one starts."""
    DONE = "done"
    ROLLED_BACK = "rolled back"
    TAKEN = "taken over"
    TOPIC_DELETED = "topic deleted"
    STOPPED = "stopped"


ENDINGS = (
    PartState.DONE,
    PartState.ROLLED_BACK,
    PartState.TAKEN,
    PartState.TOPIC_DELETED,
    PartState.STOPPED,
)
"""The final states, in the order in which they are shown (docs/glossary.md)."""

_STATES = {ending: PartState[ending.name] for ending in Ending}


def endings_of(state: State, number: int) -> Mapping[Ending, int]:
    """Return the number of partitions, or of replicas that change directories, of a job by their ending."""
    job = state.orders.jobs.get(number)
    if job is not None and job.kind is JobKind.DISKS:
        return state.disks.endings(number)
    return state.orders.endings.get(number, {})


class Part(NamedTuple):
    """One partition of a job.

    `replicas` is the list after the last completed step, `step` the list after the step in flight.
    """

    topic: str
    partition: int
    state: PartState
    replicas: Replicas
    target: Replicas
    original: Replicas
    step: Replicas | None = None
    reason: str = ""
    """Why the partition does not move, or which job took it over."""


PIECE = 4_000
"""Partitions whose states are told in about a millisecond."""


class PartRef(NamedTuple):
    """A partition of a job and its state, without the rest of `Part`, which takes ten times as long."""

    key: TopicPartition
    state: PartState
    record: Reassignment | Pending | Finished


def parts(state: State, number: int) -> Iterator[Part | None]:
    """Yield the partitions of a job, in the order of `part_refs`."""
    for ref in part_refs(state, number):
        yield None if ref is None else part_of(state, ref.record)


def part_refs(state: State, number: int) -> Iterator[PartRef | None]:
    """Yield the partitions of a job: moving, pending, other ongoing and finished ones, in this order.

    Those that have finished are in the order of `ENDINGS`, and then in the order in which they finished.
    A partition is listed once, even if it changes from one group to a later one during the iteration.
    """
    listed: set[TopicPartition] = set()
    for ref in _part_refs(state, number):
        if ref is None or ref.key in listed:
            yield None
        else:
            listed.add(ref.key)
            yield ref


def _part_refs(state: State, number: int) -> Iterator[PartRef | None]:
    if number in state.orders.open:
        for key in state.in_flight:
            yield _ongoing_ref(state, key, number)
        for pending in list(state.orders.pending.values()):
            yield _pending_ref(state, pending, number)
        for key in list(state.orders.reassignments):
            yield _ongoing_ref(state, key, number)
    yield from _finished_refs(state, number)


def part_states(state: State, number: int) -> Iterator[Mapping[TopicPartition, PartState]]:
    """Yield the states of a job's partitions in pieces, in a fifth of the time of `part_refs`.

    What a later piece says of a partition replaces what an earlier one says. A partition that ends during the
    iteration has its state before or after that.
    """
    rows = list(state.orders.finished.get(number, {}).values())
    for start in range(0, len(rows), PIECE):
        piece = rows[start : start + PIECE]
        yield {TopicPartition(row.topic, row.partition): _ending(state, row) for row in piece}
    if number not in state.orders.open:
        return
    keys, jobs = list(state.orders.reassignments), [row.job for row in state.orders.reassignments.values()]
    for start in range(0, len(keys), PIECE):
        pairs = zip(keys[start : start + PIECE], jobs[start : start + PIECE], strict=True)
        at_rest = PartState.QUEUED if state.settings.opening.is_open else PartState.WAITING
        yield dict.fromkeys([key for key, job in pairs if job == number], at_rest)
    yield {key: PartState.WAITING for key in state.orders.waiting if _job_of(state, key) == number}
    pending = (_pending_ref(state, each, number) for each in state.orders.pending.values())
    yield {ref.key: ref.state for ref in pending if ref is not None}
    yield {key: PartState.MOVING for key in state.in_flight if _job_of(state, key) == number}


def _job_of(state: State, key: TopicPartition) -> int | None:
    reassignment = state.orders.reassignments.get(key)
    return None if reassignment is None else reassignment.job


def part_of(state: State, record: Reassignment | Pending | Finished) -> Part | None:
    """Return the partition as it is now; None if it has left the job, or its topic is deleted."""
    if isinstance(record, Pending):
        return _pending_part(state, record)
    if isinstance(record, Reassignment):
        now = state.orders.reassignments.get(record.key)
        if now is not None and now.job == record.job:
            return _ongoing_part(state, now)
        ended = state.orders.finished.get(record.job, {}).get(record.key)
        return None if ended is None else _finished_part(state, ended)
    return _finished_part(state, record)


def order_of(state: State, key: TopicPartition) -> Reassignment | Pending | None:
    """Return the order that moves the partition, or else the one that waits for it; None without any."""
    return state.orders.reassignments.get(key) or state.orders.pending.get(key)


def returned(state: State, job: Job, rows: Iterable[Finished]) -> int:
    """Return how many of these finished partitions of a rollback are back where the undone job found them."""
    return sum(row.ending is Ending.ROLLED_BACK and _is_back(state, job, row) for row in rows)


def queued(state: State) -> Iterator[Part | None]:
    """Yield the entries of the queue: partitions of queued plans that have not started."""
    for job in list(state.orders.jobs.values()):
        if job.kind is JobKind.QUEUE and job.id in state.orders.open:
            for part in parts(state, job.id):
                not_started = part is not None and part.step is None and part.replicas == part.original
                is_pending = part is not None and part.state is PartState.PENDING
                is_open = part is not None and part.state in {PartState.QUEUED, PartState.WAITING}
                yield part if is_pending or (is_open and not_started) else None


def waiting_reason(state: State, reassignment: Reassignment) -> str:
    """Return the reason why no step of the reassignment is in flight."""
    reason = state.orders.waiting.get(reassignment.key)
    if reason is not None:
        return reason
    return queued_reason(state, reassignment.job, state.backlog.bucket_of(reassignment.key))


def stopped_reason(state: State) -> str:
    """Return why no step of any job starts; empty if steps start."""
    if state.orders.paused:
        return "all reassignments are paused"
    if state.backlog.halted:
        return "no step starts while the cancel znode exists"
    return (
        ""
        if state.settings.opening.is_open
        else closed_reason(state.settings.schedule, state.settings.opening)
    )


def held_reason(state: State) -> str:
    """Return why no step of any job starts, the health guard included, which lets repairs start.

    The result is empty if steps start.
    """
    stopped = stopped_reason(state)
    if stopped or state.backlog.usage.held != 0:
        return stopped
    return f"the cluster is unhealthy: {state.gateway.health_problem}"


def obstacles(state: State) -> list[str]:
    """Return what keeps steps of all jobs from starting now; repairs start in spite of the health guard."""
    found = [stopped] if (stopped := stopped_reason(state)) else []
    if state.backlog.usage.held is not None:
        most = "one step at a time" if state.backlog.usage.held else "no step"
        found.append(f"{most}, except of repairs: the cluster is unhealthy: {state.gateway.health_problem}")
    return found


def queued_reason(state: State, number: int, bucket: Bucket | None) -> str:
    """Return why steps of the job in this bucket of the backlog do not start.

    Without a bucket, they are not planned yet.
    """
    stopped = stopped_reason(state)
    if stopped:
        return stopped
    job = state.orders.jobs.get(number)
    if job is not None and job.paused:
        return f"job {job.id} is paused"
    usage = state.backlog.usage
    capacity = None if bucket is None else bucket.parked_at or usage.exhausted(capacities_of(bucket.cost))
    if bucket is None or capacity is None:
        return "waits for its turn"
    if capacity.kind is LimitKind.HEALTH:
        return f"the cluster is unhealthy: {state.gateway.health_problem}"
    return exhausted_text(usage, capacity, bucket.cost)


def exhausted_text(usage: Usage, capacity: Capacity, cost: Cost) -> str:
    """Return a text for an exhausted capacity: its use, its limit, and how much of it a step needs."""
    name = f"limit {_NAMES[capacity.kind]}" if capacity.kind in _NAMES else f"limit of {capacity}"
    if usage.is_paced(capacity):
        name = "pace"
    elif capacity.kind is LimitKind.LIST:
        name = "limit of Kafka"
    text = f"{name}: {usage.taken(capacity)} of {usage.limit(capacity)} {capacity}"
    needed = dict(capacities_of(cost)).get(capacity, 0)
    return text if needed <= 1 else f"{text}, {needed} more needed"


class LimitView(NamedTuple):
    """A limit and its use.

    `used` is None for R, which nothing uses up; for B it is that of the busiest broker.
    """

    name: str
    config: str
    limit: int | None
    """None for no limit."""
    used: int | None
    meaning: str


def limit_views(state: State) -> list[LimitView]:
    """Return all limits and how much of each the steps in flight use."""
    limits, used = state.backlog.usage.limits, state.backlog.usage.by_limit()
    return [
        LimitView(each.name, each.config, each.shown(limits), used[each.name], each.meaning)
        for each in LIMITS
    ]


class JobLimitView(NamedTuple):
    """A limit of a job's own, and what its steps in flight use of it, as in `LimitView`."""

    name: str
    limit: int
    used: int | None


def job_limits(state: State, job: Job) -> list[JobLimitView]:
    """Return the limits of the job itself; those of the cluster apply to its steps too."""
    if job.limits == NO_LIMITS:
        return []  # Most jobs have none, and their use is counted over all capacities.
    used = state.backlog.usage.by_limit(job.id)
    if job.kind is JobKind.DISKS:
        flying = (sum(move.job == job.id for move in moves.values()) for moves in state.disks.flying.values())
        used["B"] = max(flying, default=0)
    return [
        JobLimitView(each.name, limit, used[each.name])
        for each in LETTERED
        if (limit := each.shown(job.limits)) is not None
    ]


class BrokerLoad(NamedTuple):
    """Replicas that steps in flight move to and from a broker, as limit B counts them."""

    broker: int
    incoming: int
    outgoing: int


def broker_loads(state: State) -> list[BrokerLoad]:
    """Return the loads of the brokers that steps in flight use, sorted by broker id."""
    usage = state.backlog.usage
    return [
        BrokerLoad(
            broker,
            usage.taken(Capacity(LimitKind.INCOMING, broker)),
            usage.taken(Capacity(LimitKind.OUTGOING, broker)),
        )
        for broker in sorted(usage.brokers())
    ]


class Totals(NamedTuple):
    """Counts of reassignments; `moving`, `waiting` and `queued` add up to `ongoing`."""

    ongoing: int
    moving: int
    waiting: int
    queued: int
    pending: int
    """Partitions of queued plans that wait for a move of another client, or for a rollback, which is in
    `ongoing`."""
    others: int = 0
    """Partitions in `GatewayState.external`, including steps of reassignd that a stop left in flight. Not in
    `ongoing`."""


def totals(state: State) -> Totals:
    """Return the counts of reassignments in constant time."""
    others = len(state.gateway.external)
    ongoing, moving = len(state.orders.reassignments), len(state.backlog.costs) - others
    waiting = len(state.orders.waiting) if state.settings.opening.is_open else ongoing - moving
    return Totals(
        ongoing, moving, waiting, max(0, ongoing - moving - waiting), len(state.orders.pending), others
    )


def _ongoing_ref(state: State, key: TopicPartition, number: int) -> PartRef | None:
    reassignment = state.orders.reassignments.get(key)
    if reassignment is None or reassignment.job != number:
        return None
    if key in state.in_flight:
        return PartRef(key, PartState.MOVING, reassignment)
    return PartRef(key, state_at_rest(state, key), reassignment)


def state_at_rest(state: State, key: TopicPartition) -> PartState:
    """Return the state of an ongoing reassignment without a step in flight."""
    waits = key in state.orders.waiting or not state.settings.opening.is_open
    return PartState.WAITING if waits else PartState.QUEUED


def _ongoing_part(state: State, reassignment: Reassignment) -> Part | None:
    key = reassignment.key
    partition = state.cluster.partition(*key)
    if partition is None:
        return None
    if key in state.in_flight:
        part_state, step, reason = PartState.MOVING, partition.next, ""
    else:
        part_state = state_at_rest(state, key)
        step, reason = None, waiting_reason(state, reassignment)
    current, target, original = partition.current, reassignment.target, reassignment.original
    return Part(*key, part_state, current, target, original, step, reason)


def _pending_ref(state: State, pending: Pending, number: int) -> PartRef | None:
    key = pending.key
    if pending.job != number or state.orders.pending.get(key) is not pending:
        return None
    return PartRef(key, PartState.PENDING if key in state.orders.reassignments else PartState.QUEUED, pending)


def _pending_part(state: State, pending: Pending) -> Part | None:
    now = state.cluster.partition(pending.topic, pending.partition)
    if now is None:
        return None
    earlier = state.orders.reassignments.get(pending.key)
    original = now.current if earlier is None else earlier.original
    part_state, reason = PartState.PENDING, ""
    if earlier is None:
        part_state, reason = PartState.QUEUED, why_pending(state, pending)
    return Part(*pending.key, part_state, now.current, pending.target, original, reason=reason)


def why_pending(state: State, pending: Pending) -> str:
    """Return the reason why the queued target has not started."""
    if pending.key in state.orders.reassignments:
        return PartState.PENDING.value
    if pending.key in state.gateway.external:
        return "another client moves it: the target starts when that move ends"
    return "another client moved it: the target starts when no further move follows"


def _ending(state: State, row: Finished) -> PartState:
    """Return the final state.

    A rollback is done if the partition is back where the undone job found it.
    """
    job = state.orders.jobs.get(row.job)
    if row.ending is Ending.ROLLED_BACK and job is not None and _is_back(state, job, row):
        return PartState.DONE
    return _STATES[row.ending]


def _is_back(state: State, job: Job, row: Finished) -> bool:
    undone = state.orders.finished.get(job.undoes, {}).get(TopicPartition(row.topic, row.partition))
    return undone is not None and undone.original == row.target


def _finished_refs(state: State, number: int) -> Iterator[PartRef | None]:
    rows = list(state.orders.finished.get(number, {}).values())
    counted: Mapping[Ending, int] = state.orders.endings.get(number, {})
    for ending in ENDINGS:
        # A rollback is done where it took a partition back.
        if Ending[ending.name] in counted or (ending is PartState.DONE and Ending.ROLLED_BACK in counted):
            for row in rows:
                is_listed = _ending(state, row) is ending
                yield PartRef(TopicPartition(row.topic, row.partition), ending, row) if is_listed else None


def _finished_part(state: State, row: Finished) -> Part:
    partition = state.cluster.partition(row.topic, row.partition)
    reason = f"taken over by job {row.taken_by}" if row.ending is Ending.TAKEN else ""
    return Part(
        row.topic,
        row.partition,
        _ending(state, row),
        () if partition is None else partition.current,
        row.target,
        row.original,
        reason=reason,
    )
