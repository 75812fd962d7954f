"""The spans of jobs, from the records of durable decisions, and their export by OpenTelemetry.

A job has one span, from its order to its end. Each step that adds or removes replicas is a child. Of a large
job only some partitions have spans; their choice depends on their names alone, so it is the same after a
restart.

Only this module imports OpenTelemetry. Its variables apply: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME,
OTEL_TRACES_SAMPLER and so on. The import takes a third of a second, so `reassignd.tracing.setting` imports
this module only if traces are on.
"""

import hashlib
from collections.abc import Callable, Mapping
from threading import Thread
from typing import NamedTuple, cast
from zlib import crc32

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, set_span_in_context

from common.clock import wall_clock
from controller.messages.event import AnyEvent
from controller.model.cluster import Deleted, Ending, Job, Partition, Reassignment, Replicas, TopicPartition
from controller.model.replicas import without
from controller.state.state import Decision, State
from controller.views.jobs import endings_of
from reassignd.config.version import __version__

JOB, STEP = "reassignment job", "reassignment step"
"""Names of the spans."""

CLOSE_SECONDS = 2.0
"""How long a stop waits for the last spans to be sent. Those of a receiver that does not answer are lost."""

Size = Callable[[TopicPartition], int | None]
"""Returns the bytes of a complete replica; None if unknown."""

_MS = 1_000_000


class JobIds(RandomIdGenerator):
    """Random ids, but those of a job while its span is made.

    Its trace continues in another process or instance.
    """

    def __init__(self) -> None:
        self.digest: bytes | None = None

    def choose(self, cluster_id: str, job: Job) -> None:
        """Let the next span have the ids of the job."""
        self.digest = hashlib.sha256(f"{cluster_id}/{job.id}/{job.created_ms}".encode()).digest()

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self.digest is None else int.from_bytes(self.digest[:16])

    def generate_span_id(self) -> int:
        if self.digest is None:
            return super().generate_span_id()
        chosen, self.digest = int.from_bytes(self.digest[16:24]), None
        return chosen


class Traces:
    """The export of this process: in the background, in batches.

    About `most` partitions of a job have spans. Spans beyond the queue (OTEL_BSP_MAX_QUEUE_SIZE) are dropped.
    """

    def __init__(self, most: int, exporter: SpanExporter | None = None) -> None:
        self.most, self.ids = most, JobIds()
        self._provider = TracerProvider(resource=_resource(), id_generator=self.ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self.tracer = self._provider.get_tracer("reassignd", __version__)

    def follow(self, state: State, cluster_id: str, size: Size, now_ms: int | None = None) -> "JobSpans":
        """Return what makes the spans of the jobs of `state`. Call it before the driver starts."""
        return JobSpans(self, state, cluster_id, size, wall_clock() if now_ms is None else now_ms)

    def close(self) -> None:
        """Send what is queued, for CLOSE_SECONDS at most."""
        # The SDK tries for half a minute, and its time limits do not apply everywhere.
        closing = Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)


class _Step(NamedTuple):
    span: Span
    start_ms: int
    base: Replicas
    following: Replicas


class JobSpans:
    """Follows the decisions on `state`, and makes the spans."""

    def __init__(self, traces: Traces, state: State, cluster_id: str, size: Size, now_ms: int) -> None:
        self._traces, self._state, self._cluster_id, self._size = traces, state, cluster_id, size
        self._jobs: dict[TopicPartition, Job] = {}
        """The jobs of partitions with spans."""
        self._spans: dict[int, Span] = {}
        """The spans of jobs that have not ended, by the job's id."""
        self._steps: dict[TopicPartition, _Step] = {}
        for reassignment in state.orders.reassignments.values():
            self._order(reassignment)
        for key in state.in_flight:
            partition = state.cluster.partition(*key)
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
        job = self._state.orders.jobs.get(reassignment.job)
        if job is not None and self._is_chosen(job, reassignment):
            self._jobs[reassignment.key] = job
        else:
            self._jobs.pop(reassignment.key, None)

    def _is_chosen(self, job: Job, reassignment: Reassignment) -> bool:
        one_of = -(-job.total // self._traces.most)
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
            self._steps[key] = self._start_step(job, partition, now_ms, is_resumed)

    def _start_step(self, job: Job, partition: Partition, now_ms: int, is_resumed: bool) -> _Step:
        span = self._traces.tracer.start_span(
            STEP,
            set_span_in_context(self._job_span(job), Context()),
            attributes={
                "reassignd.job.id": job.id,
                "reassignd.topic": partition.topic,
                "reassignd.partition": partition.partition,
                "reassignd.replicas.from": partition.current,
                "reassignd.replicas.to": partition.next,
            },
            start_time=now_ms * _MS,
        )
        if is_resumed:
            # It was in flight when this process began to follow it: its start is not known.
            span.set_attribute("reassignd.resumed", True)
        return _Step(span, now_ms, partition.current, partition.next)

    def _end_step(self, key: TopicPartition, step: _Step, now_ms: int, outcome: str) -> None:
        del self._steps[key]
        step.span.set_attribute("reassignd.outcome", outcome)
        size = self._size(key)
        if outcome == "done" and size is not None:
            step.span.set_attribute("reassignd.bytes", size * len(without(step.following, step.base)))
        step.span.end(max(step.start_ms, now_ms) * _MS)

    def _forget(self, deleted: Deleted, now_ms: int) -> None:
        if deleted.kind is Reassignment:
            self._jobs.pop(cast(TopicPartition, deleted.key), None)
        elif deleted.kind is Partition:
            key = cast(TopicPartition, deleted.key)
            step = self._steps.get(key)
            if step is not None:
                self._end_step(key, step, now_ms, "topic deleted")

    def _job_span(self, job: Job) -> Span:
        if job.id not in self._spans:
            self._traces.ids.choose(self._cluster_id, job)
            self._spans[job.id] = self._traces.tracer.start_span(
                JOB, Context(), start_time=job.created_ms * _MS
            )
        return self._spans[job.id]

    def _end_job(self, job: Job) -> None:
        span = self._job_span(job)
        del self._spans[job.id]
        endings: Mapping[Ending, int] = endings_of(self._state, job.id)
        span.set_attributes(
            {
                "reassignd.job.id": job.id,
                "reassignd.job.kind": job.kind.name.lower(),
                "reassignd.job.partitions": job.total,
                "reassignd.job.principal": job.principal,
                "reassignd.job.client_id": job.client_id or "",
                **{f"reassignd.job.{each.name.lower()}": count for each, count in endings.items()},
            }
        )
        if job.undoes:
            span.set_attribute("reassignd.job.undoes", job.undoes)
        span.end(max(job.created_ms, job.ended_ms) * _MS)


def _outcome(step: _Step, partition: Partition) -> str:
    """Return how the step has ended, from the record that ended it."""
    if partition.moving:
        return "replaced"
    if set(partition.replicas) == set(step.following):
        return "done"
    return "undone" if set(partition.replicas) == set(step.base) else "changed"


def _resource() -> Resource:
    """Return the resource of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, with our name as the default."""
    found = Resource.create({"service.version": __version__})
    if str(found.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        return found.merge(Resource({SERVICE_NAME: "reassignd"}))
    return found
