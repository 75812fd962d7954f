"""A span of a trace, before it is handed to OpenTelemetry."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controller.model.cluster import Job

Attribute = str | int | bool | Sequence[int]


class TraceIds(NamedTuple):
    """The ids of a job's trace: 16 bytes of the trace, 8 bytes of its root span."""

    trace: int
    root: int


class Span(NamedTuple):
    """A span of a job's trace. Times are milliseconds since 1970."""

    ids: TraceIds
    is_root: bool
    """The root is the job; all other spans are its children."""
    name: str
    start_ms: int
    end_ms: int
    attributes: Mapping[str, Attribute]


def trace_ids(cluster_id: str, job: Job) -> TraceIds:
    """Return ids that follow from the job, so that its trace continues after a restart or in another instance."""
    digest = hashlib.sha256(f"{cluster_id}/{job.id}/{job.created_ms}".encode()).digest()
    return TraceIds(int.from_bytes(digest[:16]), int.from_bytes(digest[16:24]))
