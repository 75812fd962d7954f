"""The map of a large cluster in a browser: `python -m bench.map_speed [--brokers 500] [--seconds 30]`.

Chromium opens the map. What the server says about brokers and flows is replaced by numbers of a cluster of
this size, all of which change with each answer. The filter of jobs asks for updates. Measured is the
processor time of the main thread for an update, drawing included; the median.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import sleep

from bench.page_speed import table, task_seconds
from bench.queued_partitions import show
from tools.chromium import Browser, Page
from tools.ports import free_port, free_ports
from tools.processes import ServerProcess

UPDATE_MS = 100.0
UPDATES = 15
RACKS = 5

ANSWERS = """
const [BROKERS, RACKS] = [%d, %d];
const ask = window.fetch;
const some = (most) => Math.floor(most * Math.random());
const broker = (id) => ({
  id, host: `host-${id}`, port: 9092, rack: `rack-${id %% RACKS}`, live: id %% 97 > 0,
  state: id %% 97 ? "live" : "offline", replicas: 1000 + some(9), leaders: 300 + some(9), preferred: 300,
  bytes: 4e11 + some(1e9), unsized: 0, lagging: 0, moving_in: some(3), moving_out: some(3), coming: some(9),
  going: some(9), rate_in: some(5e7), rate_out: some(5e7), disk_total: 1e12, disk_used: 3e11 + some(6e11),
  cordoned: id %% 41 === 0, excluded: false, hidden: false, empty: false, log_dirs: [],
});
const ids = Array.from({ length: BROKERS }, (_, id) => id);
const racks = Array.from({ length: RACKS }, (_, rack) => `rack-${rack}`);
const flows = () => racks
  .flatMap((source) => racks.map((target) => ({ source, target, bytes: some(1e12) })))
  .sort((a, b) => b.bytes - a.bytes);
const instead = {
  "v1/brokers": () => ({
    total: BROKERS, brokers: ids.map(broker), next: null, basis: { sizes_ms: Date.now() },
  }),
  "v1/flows": () => ({
    by: "rack", bytes: 1e13, flows: flows(), other_flows: 0, other_bytes: 0, measured_ms: Date.now(),
  }),
};
const headers = { "content-type": "application/json" };
window.fetch = async (path, ...given) => {
  const make = instead[String(path).split("?")[0]];
  if (!make) return ask(path, ...given);
  return new Response(JSON.stringify(make()), { headers });
};
"""
"""Answers for the page instead of the server's."""


def update_ms(page: Page, seconds: float) -> float:
    """Ask for an update; return its cost, with that of what the page does else in this time."""
    before = task_seconds(page)
    page.run("document.querySelector('.page-head select').dispatchEvent(new Event('input'))")
    sleep(seconds)
    return 1000 * (task_seconds(page) - before)


def measure(brokers: int, seconds: float, folder: Path, program: str) -> Iterator[bool]:
    """Print one row per number. Yield whether the target is reached."""
    http = f"127.0.0.1:{free_port()}"
    listeners = ["--listener", f"127.0.0.1:{free_ports(6)}", "--http", http]
    data = ["--data-dir", str(folder / "data")]
    arguments = ["--backend", "embedded", "--brokers", "6", *listeners, *data]
    server = ServerProcess(arguments, {"log.level": "ERROR"})
    server.start()
    browser = Browser(program)
    try:
        page = browser.open("about:blank")
        page.resize(1440)
        page.call("Performance.enable", timeDomain="threadTicks")
        page.before(ANSWERS % (brokers, RACKS))
        page.go(f"http://{http}/#/map")
        page.wait("document.querySelectorAll('.map [data-broker]').length")
        show("ms of processor time until the map is drawn", brokers, 1000 * task_seconds(page))
        each = median(update_ms(page, seconds / UPDATES) for _ in range(UPDATES))
        yield show(f"ms of the main thread for an update, median of {UPDATES}", brokers, each, UPDATE_MS)
        show("elements in the page", brokers, page.run("document.getElementsByTagName('*').length"))
    finally:
        browser.close()
        server.kill()


def main() -> int:
    """Print the table. Return 1 if the target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.map_speed", description=__doc__)
    parser.add_argument("--brokers", type=int, default=500)
    return table(parser, "brokers", measure)


if __name__ == "__main__":
    sys.exit(main())
