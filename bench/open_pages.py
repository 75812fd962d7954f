"""CPU time of the server for open pages: `python -m bench.open_pages [--partitions 100000] [--seconds 30]`.

A server has one job with all partitions, ten of which move. Its CPU time is measured with one page and with
50, and before each of these without a page. A page is a connection that sends the requests of `server/page/`
at its pace; in some rows it shows the job's partitions as well. The difference is the cost of the pages. If
the machine was too busy for the pace, it is multiplied by the refreshes that are missing.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep

import httpx

from bench.large_requests import PARTITIONS_PER_TOPIC, alter, create
from bench.queued_partitions import FEW, Subject, show
from tools.raw_connection import processor_seconds

EVERY_SECONDS = 2.0
"""Time between two refreshes of the page. On a busy machine the page takes longer (`live.js`); the bench does
not."""

OVERVIEW = ("/v1/status", "/v1/jobs?limit=25")
DETAIL = ("/v1/status", "/v1/jobs/1?sort=progress&limit=25")
ACCEPTED = {"cache-control": "max-age=2"}
"""Header of a refresh: an answer may be as old as the time between two refreshes."""

SETTLE_SECONDS = 90.0
"""Time in which the server arranges the steps of the job."""

ONE_PAGE, FIFTY_PAGES = 1.0, 10.0
"""Highest cost in percent of a core."""


async def _page(client: httpx.AsyncClient, paths: tuple[str, ...], until: float) -> int:
    """Refresh until the time; return how often."""
    tags: dict[str, str] = {}
    refreshes = 0
    await asyncio.sleep(random.random() * EVERY_SECONDS)
    while perf_counter() < until:
        due = perf_counter() + EVERY_SECONDS
        for path in paths:
            headers = ACCEPTED | ({"if-none-match": tags[path]} if path in tags else {})
            answer = await client.get(path, headers=headers)
            assert answer.status_code in (200, 304), answer.text
            tags[path] = answer.headers.get("etag", tags.get(path, ""))
        refreshes += 1
        await asyncio.sleep(max(0, due - perf_counter()))
    return refreshes


async def _pages(http: str, count: int, paths: tuple[str, ...], seconds: float) -> int:
    until = perf_counter() + seconds
    async with httpx.AsyncClient(base_url=f"http://{http}", timeout=60) as client:
        return sum(await asyncio.gather(*(_page(client, paths, until) for _ in range(count))))


def busy_percent(subject: Subject, pages: int, paths: tuple[str, ...], seconds: float) -> tuple[float, int]:
    """Return the server's CPU time in percent of a core while the pages are open, and their refreshes."""
    before, began = processor_seconds(subject.server.pid), perf_counter()
    refreshes = asyncio.run(_pages(subject.server.http, pages, paths, seconds))
    if not pages:
        asyncio.run(asyncio.sleep(seconds))
    took = perf_counter() - began
    return 100 * (processor_seconds(subject.server.pid) - before) / took, refreshes


def measure(partitions: int, seconds: float, folder: Path) -> Iterator[bool]:
    """Print one row per number of pages. Yield whether each target is reached."""
    topics = partitions // PARTITIONS_PER_TOPIC
    subject = Subject(folder, {"planner.spark.min.partitions": "0"})
    subject.start()
    try:
        create(subject.connection, topics)
        subject.limit(FEW)
        subject.connection.timed(alter(topics, (1, 3)))
        sleep(SETTLE_SECONDS)
        for pages, most in ((1, ONE_PAGE), (50, FIFTY_PAGES)):
            for what, paths in (("overview", OVERVIEW), ("a job's partitions", DETAIL)):
                idle, _ = busy_percent(subject, 0, (), seconds)
                show("no page, % of a core", partitions, idle)
                busy, refreshes = busy_percent(subject, pages, paths, seconds)
                name = f"{pages} x {what}, % of a core above no page ({refreshes:,} refreshes measured)"
                wanted = pages * seconds / EVERY_SECONDS
                yield show(name, partitions, (busy - idle) * max(1.0, wanted / refreshes), most)
    finally:
        subject.server.kill()


def main() -> int:
    """Print the table. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_pages", description=__doc__)
    parser.add_argument("--partitions", type=int, default=100_000, help="a multiple of 1,000")
    parser.add_argument("--seconds", type=float, default=30, help="time of each measurement")
    options = parser.parse_args()
    print("| what | partitions | measured | wanted |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        passed = list(measure(options.partitions, options.seconds, Path(folder)))
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
