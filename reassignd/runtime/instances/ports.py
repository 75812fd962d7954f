"""Positions of the brokers' ports, in a row of the state topic.

Each instance uses a position after it has read it from the topic, also the active one, which assigns it. So a port leads
to the same broker at all instances.
"""

from collections.abc import Callable, Mapping

from backends.state_topic.history import History
from backends.state_topic.meta import PORTS_KEY, encode_ports, read_ports
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord
from server.gateway.port_assignments import PortAssignmentError, PortPendingError

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
        self._assigned: dict[int, int] = {}
        """Positions that this instance has written in its term."""
        self._write: Write | None = None

    def begin_term(self, write: Write) -> None:
        """Assign positions by `write` from now on."""
        self._write, self._assigned = write, {}

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

    def position(self, broker: int) -> int:
        """See `Ports.position`. An active instance assigns a missing position; it is valid when it has been read."""
        self.changed()
        if self._damage:
            raise PortAssignmentError(self._damage)
        if broker not in self._positions:
            if self._write is not None and broker not in self._assigned:
                self._assign(broker, self._write)
            raise PortPendingError
        return self._positions[broker]

    def _assign(self, broker: int, write: Write) -> None:
        positions = {**self._positions, **self._assigned}
        self._assigned[broker] = positions[broker] = max(positions.values(), default=0) + 1
        write(encode_ports(positions))
