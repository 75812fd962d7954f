"""The held requests of Cruise Control's API."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from controller.model.held_requests import HELD_MS, MOST_HELD, HeldRequest, HeldState
from controller.state.most import first_of_most

OVER = frozenset({HeldState.SUBMITTED, HeldState.DISCARDED})


@dataclass(eq=False, slots=True)
class HeldRequests:
    """The requests that wait for a second person, or have waited."""

    by_id: dict[int, HeldRequest] = field(default_factory=dict)

    def put(self, record: HeldRequest) -> None:
        """Insert or replace a request."""
        self.by_id[record.id] = record

    def delete(self, number: int) -> None:
        """Remove a request."""
        del self.by_id[number]

    def find(self, number: int, now_ms: int) -> HeldRequest | None:
        """Return the request, unless it is too old."""
        held = self.by_id.get(number)
        return held if held is not None and now_ms - held.held_ms <= HELD_MS else None

    def next_id(self) -> int:
        """Return the id of the next one. The newest is never dropped, so no id returns."""
        return max(self.by_id, default=0) + 1

    def outdated(self, now_ms: int, added: HeldRequest) -> Iterator[int]:
        """Yield the ids to drop for one that is added: the old ones, and one if there are too many.

        That is one that is decided for good, or the oldest of the principal that has the most.
        """
        young = [held for held in sorted(self.by_id.values()) if now_ms - held.held_ms <= HELD_MS]
        yield from self.by_id.keys() - {held.id for held in young}
        if len(young) >= MOST_HELD:
            over = [held for held in young if held.state in OVER]
            yield (over[0] if over else first_of_most(young, added.principal)).id
