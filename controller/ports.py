"""The ports of the core: the store that keeps its records, the backend that carries out its effects, the way in."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol

from controller.messages.effects import Effect
from controller.messages.event import Event, Reply
from controller.model.cluster import Change, Record


class StoreLostError(Exception):
    """The store no longer accepts records: the connection is lost, or someone else writes to it. Reload everything."""


class Store(Protocol):
    """Keeps records durably."""

    def load(self) -> Iterable[Record]:
        """Return all records: each topic before its partitions, partitions in order of index."""
        ...

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """Write the changes atomically, in the order of calls. Completes when a crash cannot lose them.

        Callers need not wait for earlier calls; calls share a disk flush.
        """
        ...


class Backend(Protocol):
    """Carries out effects."""

    def perform(self, effects: Sequence[Effect]) -> None:
        """Start the effects in order and return. Failures are retried, or submitted as events."""
        ...


class SubmitEvent(Protocol):
    """Submits an event to the controller and waits for the reply, which is durable."""

    def __call__(self, event: Event[Reply], /) -> Awaitable[Reply]: ...


class Submitter(Protocol):
    """An object with such a method, for example the driver."""

    def submit(self, event: Event[Reply], /) -> Awaitable[Reply]: ...
