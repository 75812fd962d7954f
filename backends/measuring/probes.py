"""The port of what measures latencies for pace."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from controller.pace.readings import Probe, Source


class Taken(NamedTuple):
    """What was measured since the last time."""

    source: Source
    probes: Sequence[Probe]
    problem: str = ""
    """Why the canary is not used, in one line; empty if it is."""


class Probes(Protocol):
    """Measures latencies again and again while `run` runs."""

    async def run(self) -> None:
        """Measure until cancelled."""
        ...

    def take(self) -> Taken:
        """Return the measurements since the last call."""
        ...

    async def close(self) -> None:
        """Close the connections, after `run` was cancelled."""
        ...
