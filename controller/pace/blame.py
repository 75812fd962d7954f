"""Which broker makes a probe slow.

A produce with acks=all waits for the leader and for the followers. A broker is slow if all probes are slow in which it
takes part. A slow probe whose brokers all have a fast one is the leader's.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controller.pace.window import SHORT_SECONDS

Taking = tuple[int, Sequence[int]]
"""The leader of a probe, and its followers."""


class Ratio(NamedTuple):
    """A latency as a multiple of its target, and that of the idle latency. The highest is the slowest."""

    now: float
    idle: float = 0.5
    seconds: float = SHORT_SECONDS
    """For how long the latency was measured."""


def broker_ratios(ratios: Mapping[Taking, Ratio]) -> dict[int, Ratio]:
    """Return the latency of each broker as a multiple of its target, from those of the probes."""
    found: dict[int, Ratio] = {}
    for (leader, followers), ratio in ratios.items():
        for broker in (leader, *followers):
            found[broker] = min(found.get(broker, ratio), ratio)
    for (leader, followers), ratio in ratios.items():
        if ratio.now > 1 and all(found[broker].now <= 1 for broker in (leader, *followers)):
            found[leader] = ratio
    return found
