"""The configs of pace (`reassignment.pace*`)."""

from collections.abc import Mapping
from typing import NamedTuple

from controller.configs.names import PACE, PACE_FACTOR, PACE_MS, PACE_UNREACHABLE

AUTO, OFF = "auto", "off"
CONTINUE, HOLD = "continue", "hold"
DEFAULT_FACTOR = 1.5
FIRST_WINDOW = 1
"""Replicas that may move to and from a broker before its first measurement, as after a restart."""


class PaceSettings(NamedTuple):
    """What operators have configured. Without `latency_ms` the target is a multiple of the idle latency."""

    latency_ms: float | None = None
    factor: float = DEFAULT_FACTOR
    holds: bool = False
    """Start no steps while the target cannot be reached; otherwise go on at the floor."""

    def target(self, idle: float | None) -> float | None:
        """Return the highest latency in ms for a probe with this idle latency; None while that is not known."""
        if self.latency_ms is not None:
            return self.latency_ms
        return None if idle is None else self.factor * idle

    @property
    def text(self) -> str:
        """Return the target for people."""
        if self.latency_ms is not None:
            return f"{self.latency_ms:g} ms"
        return f"{self.factor:g} times the idle latency"


def pace_settings(configs: Mapping[str, str]) -> PaceSettings | None:
    """Return the settings in the cluster-wide configs; None if pace is off."""
    if configs.get(PACE, OFF) != AUTO:
        return None
    return PaceSettings(
        float(configs.get(PACE_MS, 0)) or None,
        float(configs.get(PACE_FACTOR, DEFAULT_FACTOR)),
        configs.get(PACE_UNREACHABLE, CONTINUE) == HOLD,
    )
