"""Warnings about connections, limited in number so that clients cannot fill the disk.

The first warning of an address and a reason is logged at once; further ones are counted, and logged once per
interval.
"""

import logging
import re
from dataclasses import dataclass

from common.clock import Clock
from common.wording import counted

REPORT_SECONDS = 60.0
"""The interval."""

MAX_KINDS = 100
"""Addresses and reasons that are counted separately. Clients can have many addresses."""

OTHERS = ("other addresses", "")

_NUMBER = re.compile(r"\d+")


@dataclass(slots=True)
class _Repeated:
    since: float
    reason: str
    count: int = 0
    """Warnings since the last log line."""


class RepeatedWarnings:
    """Logs why connections were closed. `report` must be called periodically."""

    def __init__(self, log: logging.Logger, clock: Clock) -> None:
        self._log, self._clock = log, clock
        self._repeated: dict[tuple[str, str], _Repeated] = {}
        """By address, and reason without its numbers: clients choose some of them."""

    def closed(self, peer: str, reason: str) -> None:
        """Log that the connection of `peer`, an address with its port, was closed, or count it."""
        kind = peer.rpartition(":")[0] or peer, _NUMBER.sub("#", reason)
        if kind not in self._repeated and len(self._repeated) >= MAX_KINDS:
            kind = OTHERS
        repeated = self._repeated.get(kind)
        if repeated is None:
            self._repeated[kind] = _Repeated(self._clock.now(), reason)
            self._log.warning("closed the connection of %s: %s", peer, reason)
        else:
            repeated.reason = reason
            repeated.count += 1

    def report(self) -> None:
        """Log the warnings that were counted, if their interval has ended."""
        now = self._clock.now()
        for kind, repeated in list(self._repeated.items()):
            if now - repeated.since < REPORT_SECONDS:
                continue
            if repeated.count:
                self._log.warning(
                    "closed %s of %s in the last %.0f s; the last one: %s",
                    counted(repeated.count, "more connection"),
                    kind[0],
                    now - repeated.since,
                    repeated.reason,
                )
                repeated.since, repeated.count = now, 0
            else:
                del self._repeated[kind]
