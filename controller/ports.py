"""What the core needs of the world, as ports: a store for records, a backend for effects."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol

from controller.messages.effects import Effect
from controller.model.cluster import Change, Record


class StoreLostError(Exception):
    """The store takes no more: the connection to it is lost, or others write to it. Everything is to be read anew."""


class Store(Protocol):
    """Keeps records durably."""

    def load(self) -> Iterable[Record]:
        """All records; topics come before their partitions, and partitions in order of index."""
        ...

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """Make the changes durable, all or none, in order of calls. Done when a crash cannot lose them.

        Calls may be made before earlier ones are done; they share one disk flush.
        """
        ...


class Backend(Protocol):
    """Carries out effects."""

    def perform(self, effects: Sequence[Effect]) -> None:
        """Take the effects in order and return at once; what fails is retried or comes back as an event."""
        ...
