"""Three instances that are started at once before one cluster: exactly one becomes active.

Run it with `python -m campaigns.candidates --rounds 20`. All rounds have the same state topic. In the odd
rounds the instances are killed in the end, so the next candidates wait for a session of silence and stand at
the same moment. In the even ones they are stopped, so the term is released.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from backends.upstream.client import UpstreamClient
from campaigns.orders import SurvivalError
from campaigns.state_batches import Findings, read_findings
from campaigns.two_instances import ACTIVE, SESSION, STATE_TOPIC, address
from tools.instances import Instance
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, Spec

CANDIDATES = 3
SPEC = Spec(3, "4.1", controllers=1, settings=SOON_FENCED)
QUIET_SECONDS = 2 * SESSION
"""After the start nothing may change for this time."""


AGREED_SECONDS = 30.0
"""Limit for the time until the instances agree after they are ready."""


class Started(NamedTuple):
    """Instances that follow one of them."""

    seconds: float
    """From the start of the processes until all agree."""
    active: str
    term: int


class Candidates:
    """The instances.

    Raises SurvivalError if there is another number of active ones than one, or they change.
    """

    def __init__(self, kafka: KafkaCluster, folder: Path) -> None:
        self._kafka = kafka
        self._instances = [Instance(kafka, folder, f"instance-{n}", STATE_TOPIC) for n in range(CANDIDATES)]
        self._terms: list[int] = []
        self.seconds: list[float] = []

    def round(self, *, kill: bool) -> str:
        """Start all, check, and end all. Return what was seen."""
        with ThreadPoolExecutor(CANDIDATES) as threads:
            begun = time.monotonic()
            list(threads.map(Instance.start, self._instances))
            started = Started(time.monotonic() - begun, *self._wait_agreed())
            time.sleep(QUIET_SECONDS)
            if (later := self._agreed()) != (started.active, started.term):
                raise SurvivalError(f"after {started} the term was claimed again: {later}")
            if self._terms and started.term <= self._terms[-1]:
                raise SurvivalError(f"term {started.term} after {self._terms[-1]}")
            list(threads.map(Instance.kill if kill else Instance.stop, self._instances))
        self._terms.append(started.term)
        self.seconds.append(started.seconds)
        return f"term {started.term} after {started.seconds:.1f} s, then {'killed' if kill else 'stopped'}"

    def end(self) -> None:
        """Kill the instances that run."""
        for instance in self._instances:
            if instance.runs:
                instance.kill()

    def _wait_agreed(self) -> tuple[str, int]:
        """Wait until all name the same active instance; return its id and its term."""
        deadline = time.monotonic() + AGREED_SECONDS
        while time.monotonic() < deadline:
            try:
                return self._agreed()
            except (SurvivalError, OSError):
                time.sleep(0.05)
        return self._agreed()

    def _agreed(self) -> tuple[str, int]:
        """Return the id and the term of the active instance.

        Raises SurvivalError, or OSError for an answer of 503.
        """
        roles = [instance.text("/readyz") for instance in self._instances]
        if sum(ACTIVE in role for role in roles) != 1:
            raise SurvivalError(f"not one instance is active: {roles}")
        lists = [instance.get("/v1/instances") for instance in self._instances]
        found = {(row["id"], each["term"]) for each in lists for row in each["instances"] if row["active"]}
        if len(found) != 1:
            raise SurvivalError(f"the instances do not agree: {found}")
        return found.pop()


async def findings(servers: Sequence[str]) -> Findings:
    """Read the log of the state topic."""
    client = UpstreamClient([address(each) for each in servers])
    try:
        return await read_findings(STATE_TOPIC, client)
    finally:
        await client.close()


def main() -> int:
    """Run the command. Return 1 if a round had another number of active instances than one."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.candidates", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_kafka(SPEC) as kafka:
        candidates = Candidates(kafka, Path(folder))
        try:
            for number in range(1, options.rounds + 1):
                print(f"{number}. {candidates.round(kill=number % 2 == 1)}", flush=True)
        except SurvivalError as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            candidates.end()
        found, seconds = asyncio.run(findings(kafka.addresses().split(","))), candidates.seconds
        print(
            f"{options.rounds} starts of {CANDIDATES} instances, {found.claims} claims,"
            f" {len(found.late)} late batches;"
            f" ready after {statistics.median(seconds):.1f} s (median), {max(seconds):.1f} s at most"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
