"""Queued plans: their entries start after the reassignments that run (KIP-236: reassign_partitions_queue)."""

from collections.abc import Iterator

from common.error_codes import ErrorCode
from controller.messages.job_events import AlterReply, Queue, TopicOutcomes
from controller.model.cluster import JobKind, Partition, Pending, Replicas, TopicPartition
from controller.model.errors import DONE, Outcome
from controller.reassignment.alter import ROWS_PER_SLICE, check_row, refuse_all
from controller.reassignment.jobs import open_job, seal_job
from controller.reassignment.phases import Phase, Trigger, fire, phase_of
from controller.reassignment.reassignments import Order, follow, withdraw
from controller.reassignment.repeated_rows import find_repeated
from controller.state.decision import Decision
from controller.state.state import State


def queue_plan(d: Decision, event: Queue) -> Iterator[None]:
    """Carry out each row independently. A moving partition is rolled back before its new target starts."""
    if not event.append and any(key not in d.state.external for key in waiting_entries(d.state)):
        busy = Outcome(
            ErrorCode.REASSIGNMENT_IN_PROGRESS,
            "A queued plan still has partitions that have not started. Wait for them, or append to it.",
        )
        d.answer(event, (yield from refuse_all(event.topics, busy)))
        return
    repeated = yield from find_repeated(event.topics)
    job = open_job(d, JobKind.QUEUE, event)
    answers = []
    for topic, rows in event.topics:
        outcomes: list[tuple[int, Outcome]] = []
        answers.append(TopicOutcomes(topic, outcomes))
        for row in rows or ():
            outcome, partition = check_row(d.state, topic, row, True)
            later = repeated and partition and repeated.defer(topic, row, outcomes, len(outcomes))
            if partition is not None and not later:
                outcome = _enqueue(d, partition, row.replicas, job)
            outcomes.append((row.partition, outcome))
            d.rows += 1
            if d.rows % ROWS_PER_SLICE == 0:
                yield
    if repeated:
        yield from repeated.carry_out(
            lambda key, row: _enqueue(d, d.state.partitions[key.topic][key.partition], row.replicas, job)
        )
    d.answer(event, AlterReply(DONE, answers, seal_job(d, job)))


def waiting_entries(state: State) -> Iterator[TopicPartition]:
    """Yield the queued partitions that have not started."""
    yield from state.pending
    queues = {job.id for job in state.jobs.values() if job.kind is JobKind.QUEUE and not job.ended_ms}
    if queues:
        for key, reassignment in state.reassignments.items():
            partition = state.partition(*key)
            not_started = partition is not None and partition.replicas == reassignment.original
            if not_started and reassignment.job in queues and not reassignment.rolling_back:
                yield key


def _enqueue(d: Decision, partition: Partition, target: Replicas | None, job: int) -> Outcome:
    """Order the target, or record it as pending behind the partition's reassignment, which is rolled back.

    A move by another client is not changed; the target waits for its end.
    """
    if target is None:
        return DONE
    key, order = partition.key, Order(target, job)
    phase = phase_of(d.state, key)
    if phase is Phase.IDLE:
        return fire(d, partition, Trigger.ORDER, order)
    if phase is Phase.EXTERNAL:
        withdraw(d, key, job)
        d.put(Pending(*key, target, job, d.state.topic_id(key.topic)))
        return DONE
    outcome = fire(d, partition, Trigger.CANCEL, order)
    if outcome.ok:
        pending = Pending(*key, target, job, d.state.topic_id(key.topic))
        if phase_of(d.state, key) is Phase.IDLE:
            follow(d, pending)
        else:
            d.put(pending)
    return outcome
