"""`/v1/queue`: what waits behind what runs (KIP-236's queue)."""

from typing import Any

from controller.views.jobs import Part, queued
from server.api.call import Call, pages
from server.api.table import LIMIT, OFFSET, Endpoint


async def queue(call: Call) -> dict[str, Any]:
    """The entries that have not started, in pages. A plan enters by `POST /v1/jobs?queue=true`."""
    offset, limit = call.query["offset"], call.query["limit"]
    page = await call.taken(pages(offset, queued(call.state)), limit)
    full = len(page) == limit
    total = len(await call.taken(queued(call.state))) if full or not page else offset + len(page)
    return {
        "total": total,
        "entries": [_row(part) for part in page],
        "next": offset + limit if full and offset + limit < total else None,
    }


def _row(part: Part) -> dict[str, Any]:
    return {
        "topic": part.topic,
        "partition": part.partition,
        "state": part.state.value,
        "replicas": part.replicas,
        "target": part.target,
        "reason": part.reason,
    }


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/queue",
        "List the queued partitions that have not started.",
        queue,
        "Queue",
        query=(OFFSET, LIMIT),
    ),
)
