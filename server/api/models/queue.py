"""The models of `/v1/queue`."""

from typing import Annotated

from msgspec import Meta, Struct

from controller.views.jobs import PartState
from server.api.models.shared import Replicas


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
