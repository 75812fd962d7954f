"""Durable assignment of the gateway's ports to brokers, and its file.

The first port leads to any broker. Clients keep brokers' addresses while they run, so a port must lead to the
same broker after a restart.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from common.durable_file import replace_file

FILE = "gateway-ports.json"


class PortAssignmentError(Exception):
    """The positions cannot be read or written. The message is one line that says what to do."""


class PortPendingError(Exception):
    """The broker has no position yet; it is being assigned."""


class Ports(Protocol):
    """Positions of brokers, from 1 on."""

    def position(self, broker: int) -> int:
        """Return the broker's position, which is durable. Raises PortAssignmentError and PortPendingError."""
        ...


class PortAssignments:
    """Implements `Ports` in a file of the data directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._positions = self._read()

    @property
    def positions(self) -> Mapping[int, int]:
        """The assigned positions, by broker."""
        return self._positions

    def position(self, broker: int) -> int:
        """Return the broker's position; a new one is durable when this returns."""
        if broker not in self._positions:
            position = max(self._positions.values(), default=0) + 1
            self._write(self._positions | {broker: position})
            self._positions[broker] = position
        return self._positions[broker]

    def _read(self) -> dict[int, int]:
        try:
            positions = {int(broker): at for broker, at in json.loads(self._path.read_bytes()).items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as error:
            raise PortAssignmentError(f"cannot read the ports of brokers in {self._path}: {error}") from error
        taken = list(positions.values())
        if len(set(taken)) < len(taken) or not all(isinstance(at, int) and at > 0 for at in taken):
            raise PortAssignmentError(
                f"{self._path} assigns a port twice or an invalid one: correct it, or remove it to assign"
                " ports again"
            )
        return positions

    def _write(self, positions: dict[int, int]) -> None:
        text = json.dumps({str(broker): at for broker, at in positions.items()}, indent=1)
        try:
            replace_file(self._path, text + "\n")
        except OSError as error:
            raise PortAssignmentError(f"cannot keep the ports of brokers in {self._path}: {error}") from error
