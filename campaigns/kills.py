"""Crash test: the server is killed at random instants and must not lose an acknowledged request.

Run it with `python -m campaigns.kills --kills 200`.

The server runs many times on one data directory. In each run a client sends random requests and updates its
model until the server is killed. After the next start the model is compared with the server. In the last run
all reassignments must end.
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

from campaigns.client import CampaignClient, NoAnswerError, RefusedError
from campaigns.cluster_model import LIMITS, ClusterModel
from campaigns.partition_model import Key, LostError
from campaigns.random_requests import RandomRequests
from tools.processes import Reassignd

BROKERS = 6
OVERRIDES = {
    "embedded.network.bytes.per.second": "2000000",
    "embedded.produce.bytes.per.second": "0",
    "embedded.tick.ms": "10",
    "jobs.retention.count": "1000000",
    "log.level": "WARN",
}
LONGEST_RUN_SECONDS = 0.8
START_SECONDS = 0.5
KILL_DURING_START_PROBABILITY = 0.15
"""Probability of a second kill during the next start."""

END_SECONDS = 60
POLL_SECONDS = 0.1
KILLED_EXIT_CODE = -9


class Run:
    """A server that is killed repeatedly, and its only client.

    A seed repeats the requests, not the instants of the kills.
    """

    def __init__(self, folder: Path, seed: int, say: Callable[[str], None] = lambda _: None) -> None:
        self.model = ClusterModel()
        self.counts: Counter[str] = Counter()
        self._server = Reassignd(folder, OVERRIDES, BROKERS)
        self._rng = random.Random(seed)
        self._chaos = RandomRequests(self.model, self._rng)
        self._report = say

    def kills(self, count: int) -> None:
        """Kill the server `count` times, then start it once more and let everything finish.

        Raises LostError.
        """
        for life in range(1, count + 1):
            self._run_until_killed()
            if self._rng.random() < KILL_DURING_START_PROBABILITY:
                self._kill_during_start()
            if life % 20 == 0:
                self._report(
                    f"{life} kills, {self.counts['acknowledged']} requests, {len(self.model.jobs)} jobs"
                )
        with self._serving() as client:
            self._finish(client)

    # ---- runs and kills -------------------------------------------------------------------------------

    @contextmanager
    def _serving(self) -> Iterator[CampaignClient]:
        self._server.start()
        client = CampaignClient(self._server.bootstrap, self._server.http, BROKERS, self._rng)
        try:
            self.model.check_against(client)
            yield client
        finally:
            client.close()
            self._server.kill()

    def _run_until_killed(self) -> None:
        codes: list[int] = []
        with self._serving() as client:
            timer = Timer(
                self._rng.uniform(0, LONGEST_RUN_SECONDS), lambda: codes.append(self._server.kill())
            )
            timer.start()
            try:
                self._chaos.client = client
                self._send_requests()
            finally:
                timer.join()
        if codes != [KILLED_EXIT_CODE]:
            raise LostError(f"the server ended by itself, exit code {codes}")

    def _kill_during_start(self) -> None:
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

    def _send_requests(self) -> None:
        chaos = self._chaos
        often = [chaos.alter, chaos.execute, chaos.execute_queued, chaos.roll_back, chaos.limits]
        rare = [chaos.create, chaos.delete, chaos.cancel, chaos.pause, chaos.pause_job, chaos.prioritize]
        choices = [*often * 3, *rare, *[chaos.break_broker] * 2]
        while True:
            request = self._rng.choice(choices) if self.model.partitions else chaos.create
            try:
                request()
                self.counts["acknowledged"] += 1
            except RefusedError:
                self.counts["refused"] += 1
            except NoAnswerError:
                self.counts["cut off"] += 1
                return

    # ---- final run ------------------------------------------------------------------------------------

    def _finish(self, client: CampaignClient) -> None:
        client.http("PUT", "/v1/limits", dict.fromkeys(LIMITS))
        client.http("POST", "/v1/resume")
        for row in client.http("GET", "/v1/jobs", limit=10_000)["jobs"]:
            if row["state"] == "paused":
                client.http("POST", f"/v1/jobs/{row['id']}/resume")
        self._wait("jobs did not end", lambda: self._running(client))
        self._wait("reassignments did not end", client.ongoing)
        self._wait(
            "deleted topics still exist", lambda: self.model.deleted & {key[0] for key in client.replicas()}
        )
        self._wait("log directories differ from Metadata", lambda: misplaced(client))
        self._wait(
            "configs were left behind", lambda: client.set_configs({key[0] for key in client.replicas()})
        )
        self.model.close({key: row[0] for key, row in client.replicas().items()})

    def _running(self, client: CampaignClient) -> list[int]:
        rows = client.http("GET", "/v1/jobs", limit=10_000)["jobs"]
        strange = {row["id"] for row in rows} ^ self.model.jobs.keys()
        if strange:
            raise LostError(f"jobs known to the client or the server only: {sorted(strange)}")
        return [row["id"] for row in rows if row["state"] != "ended"]

    def _wait(self, what: str, leftover: Callable[[], object]) -> None:
        deadline = time.monotonic() + END_SECONDS
        while left := leftover():
            if time.monotonic() > deadline:
                raise LostError(f"{what}: {left}")
            time.sleep(POLL_SECONDS)


def misplaced(client: CampaignClient) -> set[tuple[int, Key]]:
    """Return the replicas on which Metadata and the log directories differ, or that are out of sync."""
    describe = client.replicas()
    wanted = {(broker, key) for key, (replicas, _) in describe.items() for broker in replicas}
    in_sync = {(broker, key) for key, (_, isr) in describe.items() for broker in isr}
    return (wanted ^ client.hosted()) | (wanted ^ in_sync)


def main() -> int:
    """Run the command. Return 1 when something was lost."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.kills", description=__doc__)
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
