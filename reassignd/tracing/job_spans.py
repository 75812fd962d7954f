"""The spans of jobs, from the records of durable decisions.

A job has one span, from its order to its end. Each step that adds or removes replicas is a child. Of a large job only
some partitions have spans; their choice depends on their names alone, so it is the same after a restart.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast
from zlib import crc32

from controller.messages.event import AnyEvent
from controller.model.cluster import Deleted, Ending, Job, Partition, Reassignment, Replicas, TopicPartition
from controller.model.replicas import without
from controller.state.decision import Decision
from controller.state.state import State
from reassignd.tracing.span import Attribute, Span, trace_ids

JOB, STEP = "reassignment job", "reassignment step"
"""Names of the spans."""

Size = Callable[[TopicPartition], int | None]
"""Returns the bytes of a complete replica; None if unknown."""


class _Step(NamedTuple):
    job: Job
    base: Replicas
    following: Replicas
    start_ms: int
    is_resumed: bool
    """It was in flight when this process began to follow it: its start is not known."""


class JobSpans:
    """Follows the decisions on `state`, and gives `export` each span at its end.

    About `most` partitions of a job have spans. Create it before the driver starts; `now_ms` is that time.
    """

    def __init__(
        self,
        state: State,
        cluster_id: str,
        size: Size,
        export: Callable[[Span], None],
        most: int,
        now_ms: int,
    ) -> None:
        self._state, self._cluster_id, self._size = state, cluster_id, size
        self._export, self._most = export, most
        self._jobs: dict[TopicPartition, Job] = {}
        """The jobs of partitions with spans."""
        self._steps: dict[TopicPartition, _Step] = {}
        for reassignment in state.reassignments.values():
            self._order(reassignment)
        for key in state.in_flight:
            partition = state.partition(*key)
            if partition is not None:
                self._observe(partition, now_ms, is_resumed=True)

    def log_decision(self, _: AnyEvent, decision: Decision) -> None:
        """Follow the decision, which is durable."""
        for change in decision.changes:
            if isinstance(change, Partition):
                self._observe(change, decision.now_ms)
            elif isinstance(change, Reassignment):
                self._order(change)
            elif isinstance(change, Deleted):
                self._forget(change, decision.now_ms)
            elif isinstance(change, Job) and change.ended_ms:
                self._end_job(change)

    def _order(self, reassignment: Reassignment) -> None:
        job = self._state.jobs.get(reassignment.job)
        if job is not None and self._is_chosen(job, reassignment):
            self._jobs[reassignment.key] = job
        else:
            self._jobs.pop(reassignment.key, None)

    def _is_chosen(self, job: Job, reassignment: Reassignment) -> bool:
        one_of = -(-job.total // self._most)
        return one_of <= 1 or crc32(f"{reassignment.topic}-{reassignment.partition}".encode()) % one_of == 0

    def _observe(self, partition: Partition, now_ms: int, *, is_resumed: bool = False) -> None:
        key = partition.key
        step = self._steps.get(key)
        if step is not None:
            if partition.moving and partition.next == step.following:
                return
            self._end_step(key, step, now_ms, _outcome(step, partition))
        job = self._jobs.get(key)
        if job is not None and partition.moving:
            self._steps[key] = _Step(job, partition.current, partition.next, now_ms, is_resumed)

    def _forget(self, deleted: Deleted, now_ms: int) -> None:
        if deleted.kind is Reassignment:
            self._jobs.pop(cast(TopicPartition, deleted.key), None)
        elif deleted.kind is Partition:
            key = cast(TopicPartition, deleted.key)
            step = self._steps.get(key)
            if step is not None:
                self._end_step(key, step, now_ms, "topic deleted")

    def _end_step(self, key: TopicPartition, step: _Step, now_ms: int, outcome: str) -> None:
        del self._steps[key]
        adding = without(step.following, step.base)
        attributes: dict[str, Attribute] = {
            "reassignd.job.id": step.job.id,
            "reassignd.topic": key.topic,
            "reassignd.partition": key.partition,
            "reassignd.replicas.from": step.base,
            "reassignd.replicas.to": step.following,
            "reassignd.outcome": outcome,
        }
        size = self._size(key)
        if outcome == "done" and size is not None:
            attributes["reassignd.bytes"] = size * len(adding)
        if step.is_resumed:
            attributes["reassignd.resumed"] = True
        ids = trace_ids(self._cluster_id, step.job)
        self._export(Span(ids, False, STEP, step.start_ms, now_ms, attributes))

    def _end_job(self, job: Job) -> None:
        endings: Mapping[Ending, int] = self._state.endings.get(job.id, {})
        attributes: dict[str, Attribute] = {
            "reassignd.job.id": job.id,
            "reassignd.job.kind": job.kind.name.lower(),
            "reassignd.job.partitions": job.total,
            "reassignd.job.principal": job.principal,
            "reassignd.job.client_id": job.client_id or "",
            **{f"reassignd.job.{each.name.lower()}": count for each, count in endings.items()},
        }
        if job.undoes:
            attributes["reassignd.job.undoes"] = job.undoes
        ids = trace_ids(self._cluster_id, job)
        self._export(Span(ids, True, JOB, job.created_ms, job.ended_ms, attributes))


def _outcome(step: _Step, partition: Partition) -> str:
    """Return how the step has ended, from the record that ended it."""
    if partition.moving:
        return "replaced"
    if set(partition.replicas) == set(step.following):
        return "done"
    return "undone" if set(partition.replicas) == set(step.base) else "changed"
