"""Durable assignment of the gateway's ports to brokers, and its file.

The first port leads to any broker. Clients keep brokers' addresses while they run, so a port must lead to the
same broker after a restart.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from common.durable_file import replace_file
from common.wording import counted

FILE = "gateway-ports.json"


class PortAssignmentError(Exception):
    """The positions cannot be read or written. The message is one line that says what to do."""


class PortPendingError(Exception):
    """The broker has no position yet; it is being assigned."""


Holders = Callable[[], Collection[int] | None]
"""Returns the brokers that hold replicas or are to get some; None while that is not known."""


class Claim(NamedTuple):
    """A broker that needs a position, up to `limit`. `present` are the brokers of the cluster."""

    broker: int
    limit: int
    present: Collection[int]


class Ports(Protocol):
    """Positions of brokers, from 1 on."""

    async def position(self, claim: Claim) -> int:
        """Return the broker's position, which is durable. Raises PortAssignmentError and PortPendingError."""
        ...


def assign(positions: Mapping[int, int], claim: Claim, holders: Holders) -> dict[int, int]:
    """Return the positions with one for the broker: a free one, else that of a broker that is gone.

    Clients may still use the former address of a broker that is gone for good; they learn there that it does
    not lead. Raises PortAssignmentError if all positions are in use, and PortPendingError while that is not
    known.
    """
    kept = {b: at for b, at in positions.items() if at <= claim.limit and b != claim.broker}
    free = set(range(1, claim.limit + 1)).difference(kept.values())
    if not free:
        gone = kept.keys() - set(claim.present)
        held = holders() if gone else ()
        if held is None:
            raise PortPendingError
        former = min(gone.difference(held), key=kept.__getitem__, default=None)
        if former is None:
            raise PortAssignmentError(
                f"brokers have {counted(claim.limit, 'port')}, and all of them are in use"
            )
        free = {kept.pop(former)}
    return kept | {claim.broker: min(free)}


class PortAssignments:
    """Implements `Ports` in a file of the data directory."""

    def __init__(self, directory: Path, holders: Holders = tuple) -> None:
        self._path, self._holders = directory / FILE, holders
        self._positions = self._read()

    @property
    def positions(self) -> Mapping[int, int]:
        """The assigned positions, by broker."""
        return self._positions

    async def position(self, claim: Claim) -> int:
        """See `Ports.position`. A new one is durable when this returns; calls must not overlap."""
        if self._positions.get(claim.broker, claim.limit + 1) > claim.limit:
            positions = assign(self._positions, claim, self._holders)
            await asyncio.to_thread(self._write, positions)
            self._positions = positions
        return self._positions[claim.broker]

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
