"""Jobs: all reassignments accepted in one request (KIP-236).

A job can be paused, prioritized and rolled back, including the partitions that it has finished. A rollback is
a job too. Jobs that ended are kept until they are pruned.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from common.error_codes import ErrorCode
from controller.execution.cordons import allow_again
from controller.messages.job_events import (
    LimitJob,
    Pause,
    Prioritize,
    Prune,
    Reorder,
    RollBackJob,
    RollBackReply,
    ThrottleJob,
)
from controller.model.cluster import (
    Ending,
    Finished,
    Job,
    JobKind,
    Partition,
    Paused,
    Reassignment,
    Replicas,
    TopicPartition,
)
from controller.model.disks import DiskMove
from controller.model.errors import DONE, Outcome
from controller.model.jobs import GONE, TOPIC_GONE
from controller.model.limits import NO_LIMITS
from controller.reassignment.orders import open_job, seal_job
from controller.reassignment.phases import Trigger, fire
from controller.reassignment.reassignments import Order, enqueue, withdraw
from controller.scheduling.buckets import Planned
from controller.state.state import Decision, State

ROWS_PER_SLICE = 500


def roll_back_job(d: Decision, event: RollBackJob) -> Iterator[None]:
    """Order every partition of the job back to its original, the last finished one first.

    Partitions that a later job took over are skipped and named in the reply.
    """
    state = d.state
    job = state.orders.jobs.get(event.job)
    if job is None:
        d.answer(event, RollBackReply(_unknown(event.job)))
        return
    skipped: list[tuple[TopicPartition, str]] = []
    ended = dict(state.orders.finished.get(job.id, {}))
    for seen, pending in enumerate(list(state.orders.pending.values())):
        if pending.job == job.id:
            withdraw(d, pending.key)
            if pending.key in state.orders.pending:
                skipped.append((pending.key, GONE))
        if seen % ROWS_PER_SLICE == ROWS_PER_SLICE - 1:
            yield
    number = _open_rollback(d, job, event)
    ongoing: list[Reassignment | Finished] = list(state.orders.reassignments.values())
    for seen, row in enumerate(chain(reversed(ongoing), reversed(ended.values()))):
        if row.job == job.id:
            key = TopicPartition(row.topic, row.partition)
            refusal = _take_back(d, job, key, row if isinstance(row, Finished) else None, number)
            if refusal:
                skipped.append((key, refusal))
        if seen % ROWS_PER_SLICE == ROWS_PER_SLICE - 1:
            yield
    d.answer(event, RollBackReply(DONE, seal_job(d, number), skipped))


def _open_rollback(d: Decision, job: Job, event: RollBackJob) -> int:
    """Create the job of the rollback, which no longer happens automatically."""
    if job.until_ms:
        d.put(job._replace(until_ms=0))
    return open_job(d, JobKind.ROLLBACK, event)


def pause(d: Decision, event: Pause) -> None:
    """Pause or resume the job, or everything."""
    state = d.state
    d.answer(event, DONE)
    if event.job is None:
        d.put(Paused(event.paused))
        return
    job = state.orders.jobs.get(event.job)
    if job is None or job.ended_ms:
        d.answer(event, _unknown(event.job) if job is None else _ended(job))
        return
    d.put(job._replace(paused=event.paused))
    if not event.paused:
        for key in [key for key in state.orders.waiting if _is_blocked(state, key, job.id)]:
            d.put(state.orders.reassignments[key]._replace(blocked=""))
            fire_again(d, key)
        for key in state.orders.take_deferred(job.id):
            if key in state.orders.reassignments:
                fire_again(d, key)


def prioritize(d: Decision, event: Prioritize) -> Iterator[None]:
    """Set the priority, and enqueue the job's waiting steps again."""
    state = d.state
    job = state.orders.jobs.get(event.job)
    if job is None or job.ended_ms:
        d.answer(event, _unknown(event.job) if job is None else _ended(job))
        return
    d.put(job._replace(priority=event.priority))
    for seen, reassignment in enumerate(state.orders.reassignments.values()):
        if reassignment.job == job.id:
            fire_again(d, reassignment.key)
        if seen % ROWS_PER_SLICE == ROWS_PER_SLICE - 1:
            yield
    d.answer(event, DONE)


def throttle_job(d: Decision, event: ThrottleJob) -> None:
    """Set the throttle of the job. The leases follow at the end of the decision."""
    job = d.state.orders.jobs.get(event.job)
    if job is None or job.ended_ms:
        d.answer(event, _unknown(event.job) if job is None else _ended(job))
        return
    d.put(job._replace(throttle=event.throttle))
    d.answer(event, DONE)


def limit_job(d: Decision, event: LimitJob) -> Iterator[None]:
    """Change limits of the job, which apply from the next step on. Its steps in flight count at once."""
    state, backlog = d.state, d.state.backlog
    job = state.orders.jobs.get(event.job)
    if job is None or job.ended_ms:
        d.answer(event, _unknown(event.job) if job is None else _ended(job))
        return
    defaults = NO_LIMITS._asdict()
    changes = {field: defaults[field] if value is None else value for field, value in event.changes.items()}
    d.put(job._replace(limits=job.limits._replace(**changes)))
    for seen, (key, reassignment) in enumerate(list(state.orders.reassignments.items())):
        if reassignment.job == job.id:
            if key in backlog.costs and key not in state.gateway.external:
                backlog.count_for_job(key, job.id)
            else:
                fire_again(d, key)
        if seen % ROWS_PER_SLICE == ROWS_PER_SLICE - 1:
            yield
    d.answer(event, DONE)


def reorder(d: Decision, event: Reorder) -> None:
    """Set the remaining steps of the job's partitions, and their waves."""
    state, taken = d.state, 0
    for key, replicas, steps in event.partitions:
        reassignment, partition = state.orders.reassignments.get(key), state.cluster.partition(*key)
        in_job = reassignment is not None and reassignment.job == event.job
        if in_job and partition is not None and partition.next == replicas:
            state.backlog.planned.put(key, tuple(steps))
            state.backlog.place_in_wave(key, Planned(event.job, steps[0].wave))
            taken += 1
    d.rows = len(event.partitions)
    d.answer(event, taken)


def prune(d: Decision, event: Prune) -> Iterator[None]:
    """Delete old jobs and their finished partitions.

    A job is kept as long as a rollback of it is, or as long as it is to be rolled back automatically.
    """
    state = d.state
    undone = {job.undoes for job in state.orders.jobs.values()}
    ended = [
        j
        for j in state.orders.jobs.values()
        if j.ended_ms and not j.until_ms and j.id != state.orders.last_job and j.id not in undone
    ]
    ended.sort(key=lambda job: (job.ended_ms, job.id))
    surplus = max(len(ended) - event.keep, _surplus_jobs(state, ended, event.partitions))
    for place, job in enumerate(ended):
        if place >= surplus and job.ended_ms >= event.ended_before_ms:
            continue
        rows: list[Finished | DiskMove] = list(state.orders.finished.get(job.id, {}).values())
        rows += state.disks.moves.get(job.id, {}).values()
        for row in rows:
            d.delete(type(row), row.key)
            d.rows += 1
            if d.rows % ROWS_PER_SLICE == 0:
                yield
        d.delete(Job, job.id)
        d.rows += 1


def _surplus_jobs(state: State, ended: Sequence[Job], partitions: int) -> int:
    """Return how many of the oldest jobs to delete to keep at most `partitions` finished partitions."""
    finished, moves = state.orders.finished, state.disks.moves
    excess = sum(map(len, finished.values())) + sum(map(len, moves.values())) - partitions
    for place, job in enumerate(ended):
        if excess <= 0:
            return place
        excess -= len(finished.get(job.id, ())) + len(moves.get(job.id, ()))
    return len(ended)


def fire_again(d: Decision, key: TopicPartition) -> None:
    """Enqueue the partition again if it has no step in flight. Its older backlog entry becomes void."""
    partition = d.state.cluster.partition(*key)
    if partition is not None and partition.key not in d.state.in_flight:
        enqueue(d, partition)


def rollback_target(
    state: State, job: Job, key: TopicPartition, row: Finished | None
) -> tuple[Replicas, str]:
    """Return the list to which a rollback of the job returns the partition, or the reason why it skips it.

    `row` is its finished part in the job; None if that has not ended.
    """
    partition = state.cluster.partition(*key)
    gone = row is not None and (row.ending is Ending.TOPIC_DELETED or row.taken_by == TOPIC_GONE)
    if partition is None or gone or state.cluster.topics[key.topic].deleting:
        return (), GONE
    reassignment, pending = state.orders.reassignments.get(key), state.orders.pending.get(key)
    if row is None and pending is not None and pending.job != job.id:
        return (), f"taken over by job {pending.job}"
    if row is None:
        back = reassignment.original if reassignment is not None else partition.replicas
    elif row.ending is Ending.TAKEN:
        return (), f"taken over by job {row.taken_by}"
    elif reassignment is not None:
        return (), f"taken over by job {reassignment.job}"
    elif partition.replicas != row.target:
        return (
            (),
            f"its replicas are {list(partition.replicas)}, not the {list(row.target)} that the job left",
        )
    else:
        back = row.original
    # A rollback of a rollback leads to the target of the job that was undone.
    undone = state.orders.finished.get(job.undoes, {}).get(key)
    return _checked(state, partition, back if undone is None else undone.target)


def _checked(state: State, partition: Partition, back: Replicas) -> tuple[Replicas, str]:
    """Return the list, or why it cannot be ordered any more: records outlive the registration of brokers."""
    if set(back) == set(partition.current):
        return back, ""
    outcome = state.cluster.check_replicas(back)
    return (back, "") if outcome.ok else ((), outcome.message or "")


def _take_back(d: Decision, job: Job, key: TopicPartition, row: Finished | None, number: int) -> str:
    """Order the partition back for the rollback.

    Return the reason if that is impossible, else an empty string.
    """
    back, refusal = rollback_target(d.state, job, key, row)
    partition = d.state.cluster.partition(*key)
    if refusal or partition is None:
        return refusal
    allow_again(d, back)
    outcome = fire(d, partition, Trigger.ORDER, Order(back, number))
    return outcome.message or "" if not outcome.ok else ""


def _is_blocked(state: State, key: TopicPartition, job: int) -> bool:
    reassignment = state.orders.reassignments[key]
    return reassignment.job == job and bool(reassignment.blocked)


def _unknown(job: int) -> Outcome:
    return Outcome(ErrorCode.RESOURCE_NOT_FOUND, f"There is no job {job}; `reassignd jobs` lists them.")


def _ended(job: Job) -> Outcome:
    return Outcome(ErrorCode.INVALID_REQUEST, f"Job {job.id} has ended.")
