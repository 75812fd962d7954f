"""The ports of the controller: the store of records, the backend for effects, the submission of events."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol, TypeVar

from controller.messages.effects import ControllerEffect, UpstreamEffect
from controller.messages.event import Event, Reply
from controller.model.cluster import Change, Record

E_contra = TypeVar("E_contra", contravariant=True)


class StoreLostError(Exception):
    """The store no longer accepts records: the connection is lost, or someone else writes to it.

    Reload everything.
    """


class Store(Protocol):
    """Keeps records durably."""

    def load(self) -> Iterable[Record]:
        """Return all records: each topic before its partitions, partitions in order of index."""
        ...

    def prepare(self, changes: Sequence[Change]) -> None:
        """Take the first changes of a commit to come, while the caller appends others to the same list.

        A store may write them already, but they have no effect until `commit` gets that list. The caller
        makes no other commits meanwhile. Others may, if their changes do not depend on the order.
        """
        ...

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """Write the changes atomically, in the order of calls. Completes when a crash cannot lose them.

        Callers need not wait for earlier calls; calls share a disk flush.
        """
        ...


class Backend(Protocol[E_contra]):
    """Carries out the effects of one kind of cluster."""

    def perform(self, effects: Sequence[E_contra]) -> None:
        """Start the effects in order and return. Failures are retried, or submitted as events."""
        ...


AnyBackend = Backend[ControllerEffect] | Backend[UpstreamEffect]
"""The backend of a cluster. The controller emits only the effects that fit the cluster's mode."""


class SubmitEvent(Protocol):
    """Submits an event to the controller and waits for the reply, which is durable."""

    def __call__(self, event: Event[Reply], /) -> Awaitable[Reply]: ...


class Submitter(Protocol):
    """An object with the method `submit`, for example the driver."""

    def submit(self, event: Event[Reply], /) -> Awaitable[Reply]: ...
