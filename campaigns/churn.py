"""Fuzz and churn: `python -m campaigns.churn`, or `--minutes 10`.

Valid and invalid frames, connections, TLS, SASL and HTTP requests are sent in random order to an embedded
cluster and to its gateway. At the end, the memory of each server must be within 10 % of that after the
warm-up, its open files at most five more, and its log without a traceback. Servers are measured after a pause
that includes a garbage collection.
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

from campaigns.churn_actions import ACTIONS, METADATA, TOPIC, Action, Sample, connected
from campaigns.churn_servers import Server, running_servers
from common.garbage_collector import SWEEP_SECONDS
from protocol.messages.delete_topics_request import DeleteTopicsRequest

WORKERS = 24
RATE = 40
"""Approximate number of actions per second, of all workers."""

WARM_UP = 0.2
"""Share of the duration before the first measurement, at most LONGEST_WARM_UP seconds."""
LONGEST_WARM_UP = 300.0
TIDY_SECONDS = 20.0
REST_SECONDS = SWEEP_SECONDS + 15
GROWTH = 1.1


class Measured(NamedTuple):
    """Resident memory in bytes, and open files, of an idle server."""

    memory: int
    files: int


class Run:
    """The workers, and counts of their actions."""

    def __init__(self, servers: list[Server], seed: int) -> None:
        self.servers = servers
        self.done: Counter[str] = Counter()
        """Number of actions by name."""
        self.cut: Counter[str] = Counter()
        """Number of actions by name that the server ended, or that timed out."""
        self._rng = Random(seed)

    async def churn(self, seconds: float) -> None:
        """Run the workers for that time."""
        until = time.monotonic() + seconds
        workers = [self._work(Random(self._rng.random()), until) for _ in range(WORKERS)]
        await asyncio.gather(*workers, *(self._tidy(server, until) for server in self.servers))

    async def rest(self) -> dict[str, Measured]:
        """Send nothing for REST_SECONDS, then measure the servers."""
        for server in self.servers:
            await self._clear(server)
        await asyncio.sleep(REST_SECONDS)
        return {server.name: Measured(server.memory(), server.files()) for server in self.servers}

    async def _work(self, rng: Random, until: float) -> None:
        while time.monotonic() < until:
            (action,) = rng.choices(list(ACTIONS), list(ACTIONS.values()))
            await self._do(action, rng.choice(self.servers), rng)
            await asyncio.sleep(2 * rng.random() * WORKERS / RATE)

    async def _do(self, action: Action, server: Server, rng: Random) -> None:
        name = getattr(action, "__name__", "")
        self.done[name] += 1
        try:
            await action(server, rng)
        except (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError) as error:
            self.cut[name] += 1
            if not server.process.runs:
                raise RuntimeError(f"{server.name} has ended: {server.process.log[-2000:]}") from error

    async def _tidy(self, server: Server, until: float) -> None:
        """Delete extra topics periodically: mutated requests may create topics."""
        while time.monotonic() < until:
            await asyncio.sleep(min(TIDY_SECONDS, max(0.0, until - time.monotonic())))
            await self._clear(server)

    async def _clear(self, server: Server) -> None:
        """Delete all topics but TOPIC."""
        for attempt in range(10):
            try:
                async with connected(server, self._rng) as connection:
                    topics = [
                        row.name
                        for row in (await connection.ask(METADATA)).topics
                        if row.name and row.name != TOPIC
                    ]
                    await connection.ask(
                        Sample(DeleteTopicsRequest(topic_names=topics, timeout_ms=10_000), 4)
                    )
                return
            except (OSError, EOFError, TimeoutError):
                await asyncio.sleep(attempt)
        raise RuntimeError(f"{server.name} does not answer")


async def run(minutes: float, seed: int) -> bool:
    """Run the test and print the tables. Return whether it has passed."""
    warm_up = min(60 * minutes * WARM_UP, LONGEST_WARM_UP)
    with tempfile.TemporaryDirectory() as folder:
        async with running_servers(Path(folder)) as servers:
            work = Run(servers, seed)
            await work.churn(warm_up)
            before = await work.rest()
            work.done.clear()
            work.cut.clear()
            await work.churn(60 * minutes - warm_up)
            after = await work.rest()
            logs = {server.name: server.process.log for server in servers}
    return report(work, before, after, logs)


def report(work: Run, before: dict[str, Measured], after: dict[str, Measured], logs: dict[str, str]) -> bool:
    """Print the actions and the measurements of the servers. Return whether all are within the limits."""
    print("| action | times | ended by the server |\n|---|---|---|")
    for name, times in sorted(work.done.items()):
        print(f"| {name} | {times:,} | {work.cut[name]:,} |")
    print(f"| all | {work.done.total():,} | {work.cut.total():,} |\n")
    print("| server | MB after the warm-up | MB at the end | growth | files | tracebacks | log lines |")
    print("|---|---|---|---|---|---|---|")
    passed = True
    for name, start in before.items():
        end = after[name]
        growth = end.memory / start.memory
        tracebacks = logs[name].count("Traceback (most recent call last)")
        passed &= growth <= GROWTH and not tracebacks and end.files <= start.files + 5
        sizes = f"{start.memory / 1e6:.1f} | {end.memory / 1e6:.1f} | {growth - 1:+.1%}"
        lines = logs[name].count("\n")
        print(f"| {name} | {sizes} | {start.files} → {end.files} | {tracebacks} | {lines:,} |")
        if tracebacks:
            at = logs[name].index("Traceback (most recent call last)")
            print(logs[name][max(0, at - 500) : at + 3000], file=sys.stderr)
    return passed


def main() -> int:
    """Return 1 if a server has grown, kept files open, or logged a traceback."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return 0 if asyncio.run(run(arguments.minutes, arguments.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
