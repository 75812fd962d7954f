"""The model of `/v1/events`."""

from typing import Annotated, TypeAlias

from msgspec import Meta

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
