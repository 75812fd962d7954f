"""Fuzz and churn: `python -m campaigns.churn`, or `--minutes 10`.

Frames, connections, TLS, SASL and HTTP, whole and broken, in random order, against an embedded cluster and a gateway before it.
In the end both hold as much memory as after the warm-up, within 10 %, have no more files open, and neither has logged a
traceback. Both are measured when nothing has come for longer than a sweep of the garbage takes to come.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

from campaigns.churn_actions import ACTS, METADATA, TOPIC, Act, Sample, talk
from campaigns.churn_servers import Place, site
from common.garbage_collector import SWEEP_SECONDS
from protocol.messages.delete_topics_request import DeleteTopicsRequest

WORKERS = 24
RATE = 40
"""Acts a second of all workers, about."""

WARM_UP = 0.2
"""The part of the time before the first measurement, at most LONGEST_WARM_UP seconds."""
LONGEST_WARM_UP = 300.0
TIDY_SECONDS = 20.0
REST_SECONDS = SWEEP_SECONDS + 15
GROWTH = 1.1


class Measured(NamedTuple):
    """A server at rest: bytes, and open files."""

    memory: int
    files: int


class Run:
    """All workers, and what they did."""

    def __init__(self, places: list[Place], seed: int) -> None:
        self.places = places
        self.done: Counter[str] = Counter()
        """Acts, by name."""
        self.cut: Counter[str] = Counter()
        """Those that the server ended, or that took too long."""
        self._rng = Random(seed)

    async def churn(self, seconds: float) -> None:
        """Work for so long."""
        until = time.monotonic() + seconds
        workers = [self._work(Random(self._rng.random()), until) for _ in range(WORKERS)]
        await asyncio.gather(*workers, *(self._tidy(place, until) for place in self.places))

    async def rest(self) -> dict[str, Measured]:
        """Nothing comes for a while; what the servers hold then."""
        for place in self.places:
            await self._clear(place)
        await asyncio.sleep(REST_SECONDS)
        return {place.name: Measured(place.memory(), place.files()) for place in self.places}

    async def _work(self, rng: Random, until: float) -> None:
        while time.monotonic() < until:
            (act,) = rng.choices(list(ACTS), list(ACTS.values()))
            await self._do(act, rng.choice(self.places), rng)
            await asyncio.sleep(2 * rng.random() * WORKERS / RATE)

    async def _do(self, act: Act, place: Place, rng: Random) -> None:
        name = getattr(act, "__name__", "")
        self.done[name] += 1
        try:
            await act(place, rng)
        except (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError) as error:
            self.cut[name] += 1
            if not place.process.runs:
                raise RuntimeError(f"{place.name} has ended: {place.process.log[-2000:]}") from error

    async def _tidy(self, place: Place, until: float) -> None:
        """Broken requests make topics too."""
        while time.monotonic() < until:
            await asyncio.sleep(min(TIDY_SECONDS, max(0.0, until - time.monotonic())))
            await self._clear(place)

    async def _clear(self, place: Place) -> None:
        """Only our topic is left."""
        for attempt in range(10):
            try:
                async with talk(place, self._rng) as made:
                    topics = [row.name for row in (await made.ask(METADATA)).topics if row.name != TOPIC]
                    await made.ask(Sample(DeleteTopicsRequest(topic_names=topics, timeout_ms=10_000), 4))
                return
            except (OSError, EOFError, TimeoutError):
                await asyncio.sleep(attempt)
        raise RuntimeError(f"{place.name} does not answer")


async def run(minutes: float, seed: int) -> bool:
    """Prints the table; whether all is well."""
    warm_up = min(60 * minutes * WARM_UP, LONGEST_WARM_UP)
    with tempfile.TemporaryDirectory() as folder:
        async with site(Path(folder)) as places:
            work = Run(places, seed)
            await work.churn(warm_up)
            before = await work.rest()
            work.done.clear()
            work.cut.clear()
            await work.churn(60 * minutes - warm_up)
            after = await work.rest()
            logs = {place.name: place.process.log for place in places}
    return report(work, before, after, logs)


def report(work: Run, before: dict[str, Measured], after: dict[str, Measured], logs: dict[str, str]) -> bool:
    """What was done, and what became of the servers."""
    print("| act | times | ended by the server |\n|---|---|---|")
    for name, times in sorted(work.done.items()):
        print(f"| {name} | {times:,} | {work.cut[name]:,} |")
    print(f"| all | {work.done.total():,} | {work.cut.total():,} |\n")
    print("| server | MB after the warm-up | MB at the end | growth | files | tracebacks | log lines |")
    print("|---|---|---|---|---|---|---|")
    fine = True
    for name, start in before.items():
        end = after[name]
        growth = end.memory / start.memory
        tracebacks = logs[name].count("Traceback (most recent call last)")
        fine &= growth <= GROWTH and not tracebacks and end.files <= start.files + 5
        sizes = f"{start.memory / 1e6:.1f} | {end.memory / 1e6:.1f} | {growth - 1:+.1%}"
        lines = logs[name].count("\n")
        print(f"| {name} | {sizes} | {start.files} → {end.files} | {tracebacks} | {lines:,} |")
        if tracebacks:
            at = logs[name].index("Traceback (most recent call last)")
            print(logs[name][max(0, at - 500) : at + 3000], file=sys.stderr)
    return fine


def main() -> int:
    """1 where a server grew, kept files open, or logged a traceback."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return 0 if asyncio.run(run(arguments.minutes, arguments.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
