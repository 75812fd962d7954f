"""`/v1/queue`: the queue of KIP-236."""

from typing import Annotated

from msgspec import Meta, Struct

from controller.views import jobs as views
from controller.views.jobs import PartState
from server.api.shared.call import Call, Endpoint, skip_rows
from server.api.shared.models import Page, Replicas


class QueueEntry(Struct):
    """A partition of a queued plan that has not started."""

    topic: str
    partition: int
    state: PartState
    replicas: Replicas
    target: Replicas
    reason: str


class Queue(Struct):
    """A page of the queue."""

    total: int
    entries: list[QueueEntry]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]


async def queue(call: Call, page: Page) -> Queue:
    """List the entries that have not started. `POST /v1/jobs?queue=true` queues a plan."""
    offset, limit = page.offset, page.limit
    listed = await call.collect(skip_rows(views.queued(call.state), offset), limit)
    full = len(listed) == limit
    total = len(await call.collect(views.queued(call.state))) if full or not listed else offset + len(listed)
    next_offset = offset + limit if full and offset + limit < total else None
    return Queue(total, [_row(part) for part in listed], next_offset)


def _row(part: views.Part) -> QueueEntry:
    return QueueEntry(part.topic, part.partition, part.state, part.replicas, part.target, part.reason)


ENDPOINTS = (
    Endpoint(
        "GET", "/v1/queue", "List the queued partitions that have not started.", queue, Queue, query=Page
    ),
)
