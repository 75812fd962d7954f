"""Positions of the brokers' ports, in a row of the state topic.

Each instance uses a position after it has read it from the topic, also the active one, which assigns it. So a port leads
to the same broker at all instances.
"""

from collections.abc import Callable, Mapping

from backends.state_topic.history import History
from backends.state_topic.rows import PORTS_KEY, encode_ports, read_ports
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord
from server.gateway.port_assignments import Claim, Holders, PortAssignmentError, PortPendingError, assign

Write = Callable[[BatchRecord], None]
"""Writes the row in the term of this instance."""


class TopicPorts:
    """Implements `server.gateway.port_assignments.Ports` for the rows of `history`."""

    def __init__(self, history: Callable[[], History]) -> None:
        self._history = history
        self._row: bytes | None = None
        self._positions: Mapping[int, int] = {}
        self._damage = ""
        """Why the row cannot be read; empty if it can."""
        self._written: Mapping[int, int] | None = None
        """The positions that this instance has written last in its term; the row may not have been read yet."""
        self._write: Write | None = None
        self._holders: Holders = tuple

    def begin_term(self, write: Write, holders: Holders) -> None:
        """Assign positions by `write` from now on, those of brokers that are gone and hold nothing again."""
        self._write, self._written, self._holders = write, None, holders

    def end_term(self) -> None:
        """Only read positions from now on."""
        self._write = None

    def changed(self) -> bool:
        """Read the row; tell whether it has changed since the last call."""
        row = self._history().rows.get(PORTS_KEY)
        if row == self._row:
            return False
        self._row = row
        try:
            self._positions, self._damage = read_ports(self._history().rows), ""
        except DecodeError as error:
            self._damage = str(error)
        return True

    async def position(self, claim: Claim) -> int:
        """See `Ports.position`. An active instance assigns a missing position; it is valid when it has been read."""
        self.changed()
        if self._damage:
            raise PortAssignmentError(self._damage)
        if self._positions.get(claim.broker, claim.limit + 1) <= claim.limit:
            return self._positions[claim.broker]
        if self._write is not None:
            known = self._positions if self._written is None else self._written
            if known.get(claim.broker, claim.limit + 1) > claim.limit:
                self._written = assign(known, claim, self._holders)
                self._write(encode_ports(self._written))
        raise PortPendingError
