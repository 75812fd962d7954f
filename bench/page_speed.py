"""The page with a large job in a browser: `python -m bench.page_speed [--partitions 100000] [--seconds 30]`.

Chromium opens the partitions of a job, ten of which move, several times with an empty cache. Measured are
the time from the start of the navigation until the rows are drawn, the processor time of the main thread and
of the server until then, and that of the main thread for each refresh (drawing included); medians. Times by
the clock include the waiting for processors, processor times do not. Then each page is left open in eight
tabs, and no page, in turn: the server's processor time with them is compared with that without, by means, and
divided by eight. What the server measures for itself comes in bursts some seconds apart, which are larger
than what one tab costs.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median, stdev
from time import sleep

from bench.large_requests import PARTITIONS_PER_TOPIC, alter, create
from bench.queued_partitions import FEW, Subject, show
from tools.chromium import MISSING, Browser, Page, chromium
from tools.raw_connection import processor_seconds

FIRST_PAINT_MS, UPDATE_MS, OPEN_PERCENT = 1_000.0, 50.0, 1.0
VISITS = WINDOWS = 7
"""Measurements of which the median is taken."""

WINDOW_SECONDS = 20.0
"""A page that is visible refreshes at least twice in this time."""

OBSERVE = """
window.refreshes = 0;
window.tasks = [];
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
  for (const { startTime, duration } of list.getEntries()) window.tasks.push([startTime, duration]);
}).observe({ type: "longtask" });
"""

LONGEST = "Math.max(0, ...tasks.filter(([start]) => start %s painted).map(([, duration]) => duration))"
"""Of the tasks of more than 50 ms. They are reported after their end: the first view is not a refresh."""

LOOK_SECONDS = 0.25
SETTLE_SECONDS = 5.0
"""After which a page that was opened only refreshes."""

ADDRESSES = ("#/", "#/map", "#/jobs/1", "#/topics")
TURNS = 4
"""Times that each page is left open."""
TABS = 8
"""In which each page is open at once."""

VISIBLE = """
Object.defineProperty(document, "hidden", { get: () => false });
Object.defineProperty(document, "visibilityState", { get: () => "visible" });
"""
"""A browser shows one tab at a time, and a page that is hidden does not refresh."""

Measure = Callable[[int, float, Path, str], Iterator[bool]]
"""Prints one row per number. Its arguments: how many, seconds, a folder for data, and the browser."""


def task_seconds(page: Page) -> float:
    """Return the processor time of the tab's tasks."""
    metrics = {each["name"]: each["value"] for each in page.call("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def refreshes_in(page: Page, seconds: float) -> tuple[int, float]:
    """Return how often the page refreshes in this time, and the milliseconds of its main thread for each.

    Nothing looks at the page meanwhile: a look in each frame would cost more than a refresh.
    """
    before, counted = task_seconds(page), page.run("refreshes")
    sleep(seconds)
    refreshes = page.run("refreshes") - counted
    return refreshes, 1000 * (task_seconds(page) - before) / refreshes


class Visit:
    """The page in a new tab with an empty cache, from the navigation until the rows are drawn."""

    def __init__(self, browser: Browser, subject: Subject) -> None:
        self.page = browser.open("about:blank")
        self.page.call("Network.clearBrowserCache")
        self.page.call("Performance.enable", timeDomain="threadTicks")
        self.page.before(OBSERVE)
        before = processor_seconds(subject.server.pid)
        self.page.go(f"http://{subject.server.http}/#/jobs/1")
        while not self.page.run("window.painted"):
            sleep(LOOK_SECONDS)  # Each look takes processor time of the page.
        self.painted_ms = float(self.page.run("painted"))
        self.main_thread_ms = 1000 * task_seconds(self.page)
        self.server_ms = 1000 * (processor_seconds(subject.server.pid) - before)


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
        yield from measure_visits(subject, browser, partitions)
        yield from measure_refreshes(Visit(browser, subject).page, partitions)
        browser.close_tabs()
        yield from measure_open_pages(subject, browser, partitions, seconds)
    finally:
        browser.close()
        subject.server.kill()


def measure_visits(subject: Subject, browser: Browser, partitions: int) -> Iterator[bool]:
    """Measure the first view."""
    visits = []
    for _ in range(VISITS):
        visits.append(Visit(browser, subject))
        browser.close_tabs()
    main_thread = [each.main_thread_ms for each in visits]
    both = median(each.main_thread_ms + each.server_ms for each in visits)
    show("ms by the clock until the rows are drawn", partitions, median(each.painted_ms for each in visits))
    show("ms of the main thread until then", partitions, median(main_thread))
    yield show("ms of the main thread and of the server until then", partitions, both, FIRST_PAINT_MS)


def measure_refreshes(page: Page, partitions: int) -> Iterator[bool]:
    """Measure refreshes in windows of time."""
    page.wait("window.refreshes >= 2")
    windows = [refreshes_in(page, WINDOW_SECONDS) for _ in range(WINDOWS)]
    refreshes = sum(count for count, _ in windows)
    each = median(cost for _, cost in windows)
    yield show(f"ms of the main thread for a refresh, median of {refreshes}", partitions, each, UPDATE_MS)
    for when, tasks in (("that draws the rows", "<"), ("after that", ">=")):
        show(f"longest task {when}, ms by the clock", partitions, page.run(LONGEST % tasks))
    show("elements in the page", partitions, page.run("document.getElementsByTagName('*').length"))


def measure_open_pages(subject: Subject, browser: Browser, partitions: int, seconds: float) -> Iterator[bool]:
    """Measure the server in turn without a page and with each page left open in several tabs."""
    idle, busy = list[float](), {address: list[float]() for address in ADDRESSES}
    for _ in range(TURNS):
        idle.append(busy_percent(subject, seconds))
        for address in ADDRESSES:
            for _ in range(TABS):
                open_visible(browser, f"http://{subject.server.http}/{address}")
            sleep(SETTLE_SECONDS)
            busy[address].append(busy_percent(subject, seconds))
            browser.close_tabs()
    for address, found in busy.items():
        above = [(each - without) / TABS for each, without in zip(found, idle, strict=True)]
        error = stdev(above) / len(above) ** 0.5
        name = f"% of a core (± {error:.2f}) for {address} left open, above {mean(idle):.1f} without a page"
        yield show(name, partitions, mean(above), OPEN_PERCENT)


def open_visible(browser: Browser, url: str) -> None:
    """Open a page that refreshes whether or not its tab is in front."""
    page = browser.open("about:blank")
    page.before(VISIBLE)
    page.go(url)
    page.wait("document.getElementById('content')?.hidden === false")


def busy_percent(subject: Subject, seconds: float) -> float:
    """Return the server's processor time in percent of a core."""
    before = processor_seconds(subject.server.pid)
    sleep(seconds)
    return 100 * (processor_seconds(subject.server.pid) - before) / seconds


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
