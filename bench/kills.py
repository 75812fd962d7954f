"""kill -9 at random instants of a run of everything; nothing acknowledged may be lost: `python -m bench.kills --kills 200`.

A run is a chain of lives of one data directory. In each, a client sends random requests and keeps books, until the
server is killed; the next life is held against the books. In the last one everything must come to its end.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from bench.asking import Asking, GoneError, RefusedError
from bench.books import LIMITS, Books
from bench.chaos import Chaos
from bench.ledger import Key, LostError
from tools.processes import Reassignd

BROKERS = 6
OVERRIDES = {
    "embedded.network.bytes.per.second": "2000000",
    "embedded.produce.bytes.per.second": "0",
    "embedded.tick.ms": "10",
    "jobs.retention.count": "1000000",
    "log.level": "WARN",
}
LIFE_SECONDS = 0.8
START_SECONDS = 0.5
STILLBORN = 0.15
"""So often the server is killed once more while it starts."""

END_SECONDS = 60
POLL_SECONDS = 0.1
KILLED = -9


class Run:
    """A server that is killed again and again, and its one client. The seed gives the same requests, not the same instants."""

    def __init__(self, folder: Path, seed: int, say: Callable[[str], None] = lambda _: None) -> None:
        self.books = Books()
        self.counts: Counter[str] = Counter()
        self._server = Reassignd(folder, OVERRIDES, BROKERS)
        self._rng = random.Random(seed)
        self._chaos = Chaos(self.books, self._rng)
        self._say = say

    def kills(self, count: int) -> None:
        """So many lives end by SIGKILL, then comes a last one. Raises LostError."""
        for life in range(1, count + 1):
            self._die_young()
            if self._rng.random() < STILLBORN:
                self._die_starting()
            if life % 20 == 0:
                self._say(
                    f"{life} kills, {self.counts['acknowledged']} requests, {len(self.books.jobs)} jobs"
                )
        with self._serving() as asking:
            self._end(asking)

    # ---- lives and deaths -----------------------------------------------------------------------------------

    @contextmanager
    def _serving(self) -> Iterator[Asking]:
        self._server.start()
        asking = Asking(self._server.bootstrap, self._server.http, BROKERS, self._rng)
        try:
            self.books.audit(asking)
            yield asking
        finally:
            asking.close()
            self._server.kill()

    def _die_young(self) -> None:
        codes: list[int] = []
        with self._serving() as asking:
            timer = Timer(self._rng.uniform(0, LIFE_SECONDS), lambda: codes.append(self._server.kill()))
            timer.start()
            try:
                self._chaos.asking = asking
                self._live()
            finally:
                timer.join()
        if codes != [KILLED]:
            raise LostError(f"the server ended by itself, exit code {codes}")

    def _die_starting(self) -> None:
        earlier = self._server.pid
        timer = Timer(self._rng.uniform(0, START_SECONDS), lambda: self._kill_other_than(earlier))
        timer.start()
        try:
            self._server.start()
        except RuntimeError:
            self.counts["killed while starting"] += 1
        finally:
            timer.join()
            self._server.kill()

    def _kill_other_than(self, earlier: int) -> None:
        pid = self._server.pid
        if pid != earlier:
            os.kill(pid, signal.SIGKILL)

    def _live(self) -> None:
        chaos = self._chaos
        often = [chaos.alter, chaos.execute, chaos.execute_queued, chaos.roll_back, chaos.limits]
        rare = [chaos.create, chaos.delete, chaos.cancel, chaos.pause, chaos.pause_job, chaos.prioritize]
        choices = [*often * 3, *rare, *[chaos.break_broker] * 2]
        while True:
            request = self._rng.choice(choices) if self.books.places else chaos.create
            try:
                request()
                self.counts["acknowledged"] += 1
            except RefusedError:
                self.counts["refused"] += 1
            except GoneError:
                self.counts["cut off"] += 1
                return

    # ---- the end --------------------------------------------------------------------------------------------

    def _end(self, asking: Asking) -> None:
        asking.http("PUT", "/v1/limits", dict.fromkeys(LIMITS))
        asking.http("POST", "/v1/resume")
        for row in asking.http("GET", "/v1/jobs", limit=10_000)["jobs"]:
            if row["state"] == "paused":
                asking.http("POST", f"/v1/jobs/{row['id']}/resume")
        self._wait("jobs that do not end", lambda: self._running(asking))
        self._wait("ongoing for ever", asking.ongoing)
        self._wait("still there", lambda: self.books.deleted & {key[0] for key in asking.replicas()})
        self._wait("not as Metadata says", lambda: misplaced(asking))
        self._wait("configs left", lambda: asking.set_configs({key[0] for key in asking.replicas()}))
        self.books.close({key: row[0] for key, row in asking.replicas().items()})

    def _running(self, asking: Asking) -> list[int]:
        rows = asking.http("GET", "/v1/jobs", limit=10_000)["jobs"]
        strange = {row["id"] for row in rows} ^ self.books.jobs.keys()
        if strange:
            raise LostError(f"jobs that only one side knows: {sorted(strange)}")
        return [row["id"] for row in rows if row["state"] != "ended"]

    def _wait(self, what: str, leftover: Callable[[], object]) -> None:
        deadline = time.monotonic() + END_SECONDS
        while left := leftover():
            if time.monotonic() > deadline:
                raise LostError(f"{what}: {left}")
            time.sleep(POLL_SECONDS)


def misplaced(asking: Asking) -> set[tuple[int, Key]]:
    """Replicas on a disk where Metadata knows of none, or the reverse, or out of sync."""
    told = asking.replicas()
    wanted = {(broker, key) for key, (replicas, _) in told.items() for broker in replicas}
    in_sync = {(broker, key) for key, (_, isr) in told.items() for broker in isr}
    return (wanted ^ asking.hosted()) | (wanted ^ in_sync)


def main() -> int:
    """Run the command; the exit code: 1 when something was lost."""
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), options.seed, lambda line: print(line, flush=True))
        try:
            run.kills(options.kills)
        except LostError as error:
            print(f"seed {options.seed}: {error}", file=sys.stderr)
            return 1
    print(f"{options.kills} kills in {time.monotonic() - begun:.0f} s, seed {options.seed}: nothing lost")
    print(", ".join(f"{count:,} {what}" for what, count in sorted(run.counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
