"""The latency of produces in the embedded cluster: brokers are queues, and a busier one answers later.

The utilization of a broker is the part of its network that replicas that catch up and producers use, averaged
over a second or so. The mean latency is that of a queue with one server, BASE_MS / (1 - utilization).
"""

from collections.abc import Callable, Mapping
from math import exp
from random import Random

from backends.measuring.pace import Taken
from common.clock import Clock
from controller.pace.readings import Probe, Source

BASE_MS = 2.0
MOST_USED = 0.98
AVERAGED_SECONDS = 1.0
NOISE = 0.15
PROBE_SECONDS = 0.2


class LatencyModel:
    """The utilization of each broker."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._used: dict[int, float] = {}
        self._moved: dict[int, float] = {}

    def tick(self, seconds: float, moved: Mapping[int, float], produced: Mapping[int, float]) -> None:
        """Note the bytes that each broker has moved in all, and the bytes per second of its producers."""
        if seconds <= 0:
            return
        weight = 1 - exp(-seconds / AVERAGED_SECONDS)
        for broker, total in moved.items():
            rate = (total - self._moved.get(broker, total)) / seconds + produced.get(broker, 0.0)
            self._moved[broker] = total
            before = self._used.get(broker, 0.0)
            self._used[broker] = before + weight * (min(1.0, rate / self._rate) - before)

    def mean_ms(self, *brokers: int) -> float:
        """Return the mean latency of a produce that the busiest of these brokers takes part in."""
        used = max((self._used.get(broker, 0.0) for broker in brokers), default=0.0)
        return BASE_MS / (1 - min(MOST_USED, used))


class EmbeddedProbes:
    """Implements `Probes` for the running brokers. `random` is the noise of the latencies."""

    def __init__(
        self, model: LatencyModel, running: Callable[[], list[int]], clock: Clock, random: Random
    ) -> None:
        self._model, self._running, self._clock, self._random = model, running, clock, random
        self._latencies: dict[int, list[float]] = {}

    async def run(self) -> None:
        """See `Probes.run`."""
        while True:
            await self._clock.sleep(PROBE_SECONDS)
            for broker, follower in self._ring().items():
                mean = self._model.mean_ms(broker, follower)
                latency = mean * self._random.lognormvariate(0, NOISE)
                self._latencies.setdefault(broker, []).append(latency)

    def take(self) -> Taken:
        """See `Probes.take`."""
        taken, self._latencies = self._latencies, {}
        ring = self._ring()
        probes = [Probe(broker, (follower,), taken.get(broker, [])) for broker, follower in ring.items()]
        return Taken(Source.CANARY, probes)

    async def close(self) -> None:
        """See `Probes.close`: there are no connections."""

    def _ring(self) -> dict[int, int]:
        """Return the follower of each broker's probe."""
        brokers = self._running()
        return {broker: brokers[(index + 1) % len(brokers)] for index, broker in enumerate(brokers)}
