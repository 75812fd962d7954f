"""The events of a decision."""

from collections.abc import Iterator, Mapping

from controller.model.cluster import (
    Change,
    Config,
    Deleted,
    Ending,
    Finished,
    Job,
    Partition,
    Paused,
    Pending,
    Reassignment,
    TopicPartition,
    UpstreamStep,
)
from controller.model.configs import SCHEDULE, ResourceType
from controller.schedule.openings import closed_reason
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import Decision, State
from controller.views.jobs import PartState, endings_of, job_state, state_at_rest
from server.events.models import (
    KINDS,
    Event,
    JobDeleted,
    JobEvent,
    ManyPartitions,
    PartitionEvent,
    PausedEvent,
    ScheduleEvent,
)

MOST = 1_000
"""Changed records of partitions in one decision that have an event each."""

_SCHEDULE_KEY = (ResourceType.BROKER, CLUSTER_DEFAULT, SCHEDULE)
_OF_PARTITIONS = frozenset({Partition, Reassignment, Finished, Pending, UpstreamStep})


def events_of(state: State, decision: Decision) -> Iterator[Event]:
    """Yield the events of a durable decision. Jobs and partitions are shown as they are now."""
    changes = decision.changes
    if decision.wake_at_ms is not None or Deleted(Config, _SCHEDULE_KEY) in changes:
        yield _schedule_event(state)
    jobs = [state.orders.jobs.get(each.id, each) for each in changes if type(each) is Job]
    yield from (_job_event(state, job) for job in jobs if not job.ended_ms)
    partitions = [each for each in changes if _kind(each) in _OF_PARTITIONS]
    if len(partitions) > MOST:
        yield ManyPartitions(len(partitions))
    else:
        yield from _partition_events(state, partitions)
    yield from (_job_event(state, job) for job in jobs if job.ended_ms)
    for change in changes:
        if type(change) is Paused:
            yield PausedEvent(change.paused)
        elif type(change) is Deleted and change.kind is Job and isinstance(change.key, int):
            yield JobDeleted(change.key)


def _kind(change: Change) -> type:
    return change.kind if type(change) is Deleted else type(change)


def _partition_events(state: State, changes: list[Change]) -> Iterator[Event]:
    """Yield the ends of partitions, then one event for each partition that goes on."""
    going_on: dict[TopicPartition, None] = {}
    for change in changes:
        if isinstance(change, Finished):
            partition = state.cluster.partition(change.topic, change.partition)
            replicas = change.target if partition is None else partition.current
            ended = PartState[change.ending.name].value
            yield PartitionEvent(change.topic, change.partition, change.job, ended, replicas, change.target)
        elif isinstance(change, Partition | Reassignment | Pending | UpstreamStep):
            going_on[TopicPartition(change.topic, change.partition)] = None
    for key in going_on:
        event = _ongoing(state, key)
        if event is not None:
            yield event


def _ongoing(state: State, key: TopicPartition) -> PartitionEvent | None:
    pending, reassignment = state.orders.pending.get(key), state.orders.reassignments.get(key)
    partition = state.cluster.partition(*key)
    if partition is None:
        return None
    if pending is not None:
        return PartitionEvent(*key, pending.job, "pending", partition.current, pending.target)
    if reassignment is None:
        return None
    found = PartState.MOVING if key in state.in_flight else state_at_rest(state, key)
    return PartitionEvent(*key, reassignment.job, found.value, partition.current, reassignment.target)


def _schedule_event(state: State) -> ScheduleEvent:
    opening = state.settings.opening
    reason = None if opening.is_open else closed_reason(state.settings.schedule, opening)
    return ScheduleEvent(opening.is_open, opening.throttle, opening.until_ms or None, reason)


def _job_event(state: State, job: Job) -> JobEvent:
    counted: Mapping[Ending, int] = endings_of(state, job.id) if job.ended_ms else {}
    return JobEvent(
        job.id,
        KINDS[job.kind],
        job_state(job).value,
        job.total,
        job.priority,
        job.principal,
        job.client_id,
        job.created_ms,
        job.ended_ms or None,
        {PartState[ending.name].value: count for ending, count in counted.items()},
    )
