"""What an operator sees of pace: `python -m campaigns.pace_trial`.

Before a real cluster of four brokers, with a producer and a consumer: the operator switches pace on and
executes a plan that copies 5 GB, with no other setting, and looks at the page. It ends when the plan has
ended, no throttle is left, and the consumer has read all records once and in order. Printed are the times,
and the latencies of produces before the plan and during it. With Chromium, the section *Pace* of the page is
saved as a picture in mid-plan. Kafka's log directories are in the folder for temporary files (TMPDIR); they
need 11 GB.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench.gateway_cluster import FULL_SPEED, Site, Topic, load
from bench.pace import BROKERS, LOADED, LOADED_PARTITIONS, create, loaded_replicas, percentile, probing
from tests.upstream.traffic import Reader, Traffic
from tools.chromium import MISSING, Browser, chromium
from tools.kafka_cluster import running_kafka
from tools.kafka_settings import Spec
from tools.processes import Reassignd
from tools.waiting import wait_until

RECORD_BYTES = 10_000
ORDERS, ORDERS_PARTITIONS = "orders", 4
"""The topic of the producer and the consumer."""
IDLE_SECONDS = 20.0
WINDOW = (1280, 900)


class Trial:
    """The operator, in front of a gateway."""

    def __init__(self, at: Site, folder: Path) -> None:
        self.at, self._folder = at, folder
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print with the time since the last line."""
        now = time.monotonic()
        print(f"{now - self._began:7.1f} s  {text}", flush=True)
        self._began = now

    def run(self, *arguments: str) -> str:
        """Run a command of reassignd, print its output, and return it. Raises `CalledProcessError`."""
        command = [sys.executable, "-m", "reassignd", *arguments, "--url", f"http://{self.at.gateway.http}"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"$ reassignd {' '.join(arguments)}\n{output}", end="", flush=True)
        return output

    def api(self, path: str) -> Any:
        """Return an answer of the API."""
        with urlopen(f"http://{self.at.gateway.http}/v1/{path}") as answer:
            return json.load(answer)

    def plan(self, topic: Topic) -> Path:
        """Write a plan that moves both replicas of each partition."""
        rows = [
            {"topic": topic.name, "partition": number, "replicas": replicas}
            for number, replicas in enumerate(topic.replicas(there=True))
        ]
        file = self._folder / "plan.json"
        file.write_text(json.dumps({"version": 1, "partitions": rows}))
        return file

    def done(self) -> float:
        """Return the share of the partitions that have arrived."""
        job = self.api("jobs/1?limit=0")["job"]
        return float(job["done"] / job["total"])

    def wait_until_done(self, share: float, seconds: float) -> None:
        """Wait. Raises RuntimeError with the status after the seconds."""
        wait_until(lambda: self.done() >= share, lambda: f"the plan\n{self.run('status')}", 0.5, seconds)

    def picture(self, file: Path) -> None:
        """Save the section of pace, if there is a browser."""
        program = chromium()
        if program is None:
            print(MISSING)
            return
        browser = Browser(program)
        try:
            page = browser.open()
            page.resize(*WINDOW)
            page.go(f"http://{self.at.gateway.http}/")
            page.wait("document.querySelectorAll('#pace figure').length > 0")
            page.wait("document.querySelector('#pace path').getAttribute('d')")
            area = (
                "(({x, y, width, height}) => ({x, y: y + scrollY, width, height}))"
                "(document.getElementById('pace').closest('section').getBoundingClientRect())"
            )
            page.screenshot(file, page.run(area))
        finally:
            browser.close()

    def kept(self) -> str:
        """Return how often latencies were below their targets, of all samples of pace with both."""
        rows = [
            (latency, target)
            for sample in self.api("pace")["samples"]
            for latency, target in zip(sample["latencies_ms"], sample["targets_ms"], strict=True)
            if latency is not None and target is not None
        ]
        below = sum(latency <= target for latency, target in rows)
        return f"{below} of {len(rows)} samples of a broker were below its target"


def latencies(samples: Mapping[str, Any], begin: float, end: float) -> str:
    """Return the median and the p99 of produces between these times."""
    found = [value for at, _, value in samples["producer"] if begin <= at < end]
    return f"p50 {percentile(found, 50):.1f} ms, p99 {percentile(found, 99):.1f} ms"


def try_it(trial: Trial, options: argparse.Namespace) -> None:
    """Run the trial. Raises AssertionError or RuntimeError if something is not as it should be."""
    at, records = trial.at, options.megabytes * 10**6 // RECORD_BYTES
    big = Topic("big", options.partitions, RECORD_BYTES, records)
    create(at, big.name, big.replicas(there=False))
    create(at, LOADED, [loaded_replicas(number) for number in range(LOADED_PARTITIONS)])
    create(
        at,
        ORDERS,
        [(number % BROKERS + 1, (number + 1) % BROKERS + 1) for number in range(ORDERS_PARTITIONS)],
    )
    load(at.kafka.bootstrap, big.name, big.records, RECORD_BYTES).communicate()
    trial.say(f"a topic of {big.partitions} partitions and {2 * big.megabytes / 1000:.1f} GB is written")
    orders = at.gateway.bootstrap, ORDERS, ORDERS_PARTITIONS
    with probing(at, options.rate / BROKERS) as collect, Reader(*orders) as reader:
        with Traffic(*orders) as traffic:
            traffic.wait_for(100)
            began = time.monotonic()
            time.sleep(IDLE_SECONDS)
            trial.run("limits", "pace=auto")
            executed = time.monotonic()
            trial.run(
                "execute", str(trial.plan(big)), "--rollback-file", str(trial.plan(big).with_suffix(".back"))
            )
            trial.wait_until_done(0.5, options.patience)
            trial.say("half of the plan is done")
            trial.run("status")
            trial.picture(options.picture)
            trial.wait_until_done(1.0, options.patience)
            ended = time.monotonic()
        reader.wait_for(traffic.acknowledged)
        samples = collect()
    traffic.check()
    trial.say("the plan is done; all records were read once and in order")
    print(f"plan: {ended - executed:.0f} s; {trial.kept()}")
    print(f"produces without the plan: {latencies(samples, began, executed)}")
    print(f"produces during the plan: {latencies(samples, executed, ended)}")
    assert trial.api("status")["throttle"]["leases"] == 0, "a throttle is left"


def main() -> int:
    """Run the trial; return 0."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.pace_trial", description=__doc__)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=2500, help="size of one replica of all partitions")
    parser.add_argument("--rate", type=float, default=200, help="records of 1 KB per second, all brokers")
    parser.add_argument("--patience", type=float, default=600, help="seconds that half of the plan may take")
    parser.add_argument("--picture", type=Path, default=Path("pace.png"))
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kafka = stack.enter_context(running_kafka(Spec(BROKERS, measured=True, settings=FULL_SPEED)))
        gateway = Reassignd(folder / "data", {}, BROKERS, kafka.bootstrap)
        gateway.start()
        stack.callback(gateway.kill)
        try_it(Trial(Site(kafka, gateway), folder), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
