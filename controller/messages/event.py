"""The base of all events, and the type of the reply that each one has."""

from typing import Generic, NamedTuple, TypeVar

Reply = TypeVar("Reply")


class AnyEvent:
    """An event, whatever its reply."""

    __slots__ = ()


class Event(AnyEvent, Generic[Reply]):
    """An event whose submitter receives a `Reply`; None where there is nothing to say."""

    __slots__ = ()


class Requester(NamedTuple):
    """Who asks: the client that sent a request. Jobs, the log and the audit log name it."""

    principal: str = "User:ANONYMOUS"
    client_id: str | None = None
    via: str = ""
    """Id of the instance that has forwarded the request; empty if it arrived here."""


UNKNOWN_REQUESTER = Requester()
