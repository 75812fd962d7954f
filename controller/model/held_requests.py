"""The record of a held request: one to Cruise Control's API that waits for a second person's approval."""

from enum import StrEnum
from typing import NamedTuple

MOST_HELD = 25
"""Held requests that are kept, as with Cruise Control by default."""
HELD_MS = 14 * 24 * 3600 * 1000
"""How long one is kept, as with Cruise Control by default."""


class HeldState(StrEnum):
    """Cruise Control's words for what has become of a held request."""

    PENDING = "PENDING_REVIEW"
    APPROVED = "APPROVED"
    SUBMITTED = "SUBMITTED"
    """It was sent again after its approval, and carried out."""
    DISCARDED = "DISCARDED"


class HeldRequest(NamedTuple):
    """A request as it was sent."""

    id: int
    held_ms: int
    """Milliseconds since 1970."""
    endpoint: str
    """The last part of the path, such as `rebalance`."""
    query: str
    body: str
    client: str
    """The address of the client."""
    principal: str
    state: HeldState = HeldState.PENDING
    reason: str = "Awaiting review."
    decided_by: str = ""
    """The principal that has approved or discarded it; empty before."""

    @property
    def key(self) -> int:
        """The key under which the record is stored."""
        return self.id

    @property
    def asked(self) -> str:
        """All that is carried out: nobody can approve a body that he does not see."""
        asked = f"{self.endpoint.upper()}?{self.query}".rstrip("?")
        return f"{asked} {self.body}" if self.body else asked
