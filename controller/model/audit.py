"""Entries of the audit log: accepted requests and their principals.

No decision reads them; they are stored with the records of their decision.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple


class AuditLogError(Exception):
    """The stored log cannot be read. The text is one line."""


class AuditAction(StrEnum):
    """What a client ordered; `review` is about requests that wait for the approval of a second person."""

    ORDER = "order"
    QUEUE = "queue"
    CANCEL = "cancel"
    ROLLBACK = "rollback"
    PAUSE = "pause"
    RESUME = "resume"
    LIMITS = "limits"
    PRIORITY = "priority"
    ACLS = "acls"
    USERS = "users"
    REVIEW = "review"


class AuditEntry(NamedTuple):
    """One accepted request. Ids increase by one; times are milliseconds since 1970 and never decrease."""

    id: int
    time_ms: int
    action: AuditAction
    principal: str
    client_id: str | None
    job: int
    """The job that the request created or changed; 0 for none."""
    detail: str
    """The numbers of the request, as a JSON object."""


class AuditTrim(NamedTuple):
    """The deletion of old entries: those with ids below `before`."""

    before: int


class AuditFilter(NamedTuple):
    """Which entries to return. None permits every value; times are milliseconds since 1970."""

    actions: Collection[AuditAction] | None = None
    principal: str | None = None
    client_id: str | None = None
    job: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    """Entries before this time."""
    topic: str | None = None
    """Entries that name this topic."""
