"""The page with a large job in a browser: `python -m bench.page_speed [--partitions 100000] [--seconds 30]`.

Chromium opens the partitions of a job, ten of which move. Measured are the time from the start of the
navigation until the rows are drawn, and the processor time of the main thread for that and for each refresh
(drawing included).
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep

from bench.large_requests import PARTITIONS_PER_TOPIC, alter, create
from bench.queued_partitions import FEW, Subject, show
from tools.chromium import MISSING, Browser, Page, chromium

FIRST_PAINT_MS, UPDATE_MS = 1_000.0, 50.0

OBSERVE = """
window.refreshes = 0;
window.longest = 0;
const ask = window.fetch;
window.fetch = (...given) => {
  if (String(given[0]).includes("v1/status")) window.refreshes += 1;
  return ask(...given);
};
const look = () => {
  if (!document.querySelector("#parts tbody tr")) return requestAnimationFrame(look);
  requestAnimationFrame(() => { window.painted = performance.now(); });
};
requestAnimationFrame(look);
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) {
    if (window.painted) window.longest = Math.max(window.longest, duration);
  }
}).observe({ type: "longtask" });
"""

Measure = Callable[[int, float, Path, str], Iterator[bool]]
"""Prints one row per number. Its arguments: how many, seconds, a folder for data, and the browser."""


def task_seconds(page: Page) -> float:
    """Return the processor time of the tab's tasks."""
    metrics = {each["name"]: each["value"] for each in page.call("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def milliseconds_each(page: Page, counter: str, seconds: float) -> tuple[int, float]:
    """Return by how much a variable of the page grows in this time, or until it does, and the cost each."""
    before, counted = task_seconds(page), page.run(counter)
    sleep(seconds)
    page.wait(f"{counter} > {counted}")
    grown = page.run(counter) - counted
    return grown, 1000 * (task_seconds(page) - before) / grown


def visited(browser: Browser, url: str) -> Page:
    """Open the page in a new tab, and wait until the rows are drawn."""
    page = browser.open("about:blank")
    page.call("Performance.enable", timeDomain="threadTicks")
    page.before(OBSERVE)
    page.go(url)
    page.wait("window.painted")
    return page


def measure(partitions: int, seconds: float, folder: Path, program: str) -> Iterator[bool]:
    """Print one row per number. Yield whether each target is reached."""
    topics = partitions // PARTITIONS_PER_TOPIC
    subject = Subject(folder / "data", {"planner.spark.min.partitions": "0"})
    subject.start()
    browser = Browser(program)
    try:
        create(subject.connection, topics)
        subject.limit(FEW)
        subject.connection.timed(alter(topics, (1, 3)))
        subject.wait_until_idle()
        page = visited(browser, f"http://{subject.server.http}/#job-1")
        yield show("ms until the rows are drawn", partitions, page.run("painted"), FIRST_PAINT_MS)
        show("ms of processor time until then", partitions, 1000 * task_seconds(page))
        page.wait("window.refreshes >= 2")
        refreshed, each = milliseconds_each(page, "refreshes", seconds)
        yield show(f"ms of the main thread for a refresh, mean of {refreshed}", partitions, each, UPDATE_MS)
        show(
            "longest task after the rows were drawn, ms (0: all below 50)",
            partitions,
            page.run("longest"),
            UPDATE_MS,
        )
        show("elements in the page", partitions, page.run("document.getElementsByTagName('*').length"))
    finally:
        browser.close()
        subject.server.kill()


def table(parser: argparse.ArgumentParser, what: str, measured: Measure) -> int:
    """Print the table of a page with so many of `what`, an option. Return 1 if a target is missed."""
    parser.add_argument("--seconds", type=float, default=30, help="time in which the page is measured")
    options = parser.parse_args()
    program = chromium()
    if program is None:
        print(MISSING, file=sys.stderr)
        return 1
    print(f"| what | {what} | measured | wanted |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        passed = list(measured(getattr(options, what), options.seconds, Path(folder), program))
    return int(not all(passed))


def main() -> int:
    """Print the table. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.page_speed", description=__doc__)
    parser.add_argument("--partitions", type=int, default=100_000, help="a multiple of 1,000")
    return table(parser, "partitions", measure)


if __name__ == "__main__":
    sys.exit(main())
