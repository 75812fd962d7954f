"""`/v1/events`: a stream of server-sent events."""

from collections.abc import AsyncIterator
from typing import Annotated, TypeAlias

from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.events.hub import EventHub, Reader, TooManyReadersError
from server.events.models import (
    End,
    JobDeleted,
    JobEvent,
    ManyPartitions,
    PartitionEvent,
    PausedEvent,
    ScheduleEvent,
    Start,
)

EventModel: TypeAlias = Annotated[
    Start | JobEvent | JobDeleted | PartitionEvent | ManyPartitions | PausedEvent | ScheduleEvent | End,
    Meta(title="Event", description="The `data` of a server-sent event; `event` names its kind."),
]


MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""The second one tells nginx to pass events on at once."""


async def events(call: Call) -> Response:
    """Stream the changes of jobs and partitions until the client closes the connection."""
    hub = call.services.events
    if hub is None:
        raise HttpError(503, "there is no event stream here")
    if call.request.method == "HEAD":
        return Response(media_type=MEDIA_TYPE, headers=HEADERS)
    try:
        reader = hub.open()
    except TooManyReadersError as error:
        raise HttpError(503, "there are too many readers of events already") from error
    return StreamingResponse(_stream(call, hub, reader), media_type=MEDIA_TYPE, headers=HEADERS)


async def _stream(call: Call, hub: EventHub, reader: Reader) -> AsyncIterator[bytes]:
    try:
        async for frame in reader.frames(call.refusal):
            yield frame
    finally:
        hub.close(reader)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/events",
        "Stream the changes of jobs and partitions as server-sent events.",
        events,
        EventModel,
        media_type=MEDIA_TYPE,
    ),
)
