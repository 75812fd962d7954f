"""The audit log with a million entries: `python -m bench.audit_log [--entries 1000000]`.

The entries are written by the store, then a server is started on them. Measured are the times of `/v1/audit`
with filters, the export, and the memory of the server before and after.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter

import httpx

from backends.sqlite.audit import index_topics
from backends.sqlite.datadir import open_database
from backends.sqlite.store import SqliteStore
from bench.oversized_requests import resident_mb
from controller.model.audit import AuditAction, AuditEntry
from tools.processes import Reassignd

BATCH = 20_000
ROUNDS = 20
COMMITS = 1_000
WANTED_MS = 100
SHARES = {"order": 900, "cancel": 40, "pause": 20, "resume": 20, "limits": 10, "rollback": 10}
PEOPLE = ("User:ANONYMOUS", "User:ann", "User:bob")
TOPICS = {"User:bob": "payments"}
"""By principal. All others order `orders`, so bob and `orders` are frequent and never occur together."""
DETAIL = '{"requested":3,"partitions":3,"throttle":100000,"topics":["%s"],"topic_count":1}'

QUERIES: Mapping[str, Mapping[str, str | int]] = {
    "the newest 100": {},
    "100 from the middle": {"before": 500_000},
    "a frequent principal": {"principal": "User:ann"},
    "a principal with one entry": {"principal": "User:eve"},
    "a principal and a client that never meet": {"principal": "User:eve", "client": "tool"},
    "1,000 of a rare action": {"action": "limits", "limit": 1_000},
    "three actions of a client": {"action": "pause,resume,cancel", "client": "tool"},
    "a frequent topic": {"topic": "orders"},
    "a topic and a principal that never meet": {"topic": "orders", "principal": "User:bob"},
    "a topic, a principal and a client": {"topic": "orders", "principal": "User:ann", "client": "tool"},
    "a topic and two actions": {"topic": "orders", "action": "cancel,queue"},
    "one job": {"job": 4_711},
    "an hour in the middle": {"since": 50_000_000, "until": 53_600_000, "limit": 1_000},
}


def entry(number: int, chance: random.Random) -> AuditEntry:
    """Return an entry; the times of two entries are 100 ms apart."""
    [action] = chance.choices(list(SHARES), list(SHARES.values()))
    principal = "User:eve" if number == 7 else chance.choice(PEOPLE)
    client = "browser" if number == 7 else chance.choice(("tool", "browser"))
    detail = DETAIL % TOPICS.get(principal, "orders")
    return AuditEntry(number, number * 100, AuditAction(action), principal, client, number, detail)


async def fill(folder: Path, entries: int) -> None:
    """Store the entries in a new data directory."""
    store, chance = SqliteStore(folder), random.Random(1)
    for first in range(1, entries + 1, BATCH):
        await store.commit([entry(number, chance) for number in range(first, first + BATCH)])
    store.close()


def index(folder: Path) -> None:
    """Index the topics, as a server does in the background."""
    with closing(open_database(folder)) as database:
        while index_topics(database):
            pass


async def commit_alone(folder: Path, topics: int) -> float:
    """Return the median microseconds of the commit of one entry that names so many topics."""
    taken = []
    with closing(SqliteStore(folder)) as store, closing(store.audit_reader()) as reader:
        names = ",".join(f'"topic-{number}"' for number in range(topics))
        newest = reader.span().newest
        for number in range(newest + 1, newest + COMMITS):
            each = AuditEntry(
                number, number * 100, AuditAction.ORDER, "User:ann", "tool", number, f'{{"topics":[{names}]}}'
            )
            began = perf_counter()
            await store.commit([each])
            taken.append((perf_counter() - began) * 1e6)
    return median(taken)


def times(client: httpx.Client, query: Mapping[str, str | int]) -> Sequence[float]:
    """Return the milliseconds of each request."""
    taken = []
    for _ in range(ROUNDS):
        began = perf_counter()
        client.get("/v1/audit", params=dict(query)).raise_for_status()
        taken.append((perf_counter() - began) * 1000)
    return taken


def export(client: httpx.Client) -> tuple[int, float]:
    """Return the number of exported entries, and the seconds."""
    began, lines = perf_counter(), 0
    with client.stream("GET", "/v1/audit/export") as answer:
        for chunk in answer.iter_bytes():
            lines += chunk.count(b"\n")
    return lines, perf_counter() - began


def measure(folder: Path) -> None:
    """Start a server on the directory, and print the tables."""
    # The entries date from 1970: without this, the retention would delete them.
    server = Reassignd(folder, {"log.level": "WARN", "audit.retention.ms": str(2**53)})
    server.start()
    try:
        with httpx.Client(base_url=f"http://{server.http}", timeout=600) as client:
            client.get("/v1/status").raise_for_status()
            before = resident_mb(server.pid)
            print("| request | first, ms | median, ms | wanted |\n|---|---|---|---|")
            for name, query in QUERIES.items():
                taken = times(client, query)
                print(f"| {name} | {taken[0]:.1f} | {median(taken):.1f} | ≤ {WANTED_MS} |")
            lists = resident_mb(server.pid)
            lines, seconds = export(client)
            print(f"\nexport: {lines:,} entries in {seconds:.1f} s")
            print(f"memory, MB: {before:.0f} before, {lists:.0f} after the lists, ", end="")
            print(f"{resident_mb(server.pid):.0f} after the export")
    finally:
        server.stop()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.audit_log", description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(fill(Path(folder), options.entries))
        alone = [asyncio.run(commit_alone(Path(folder), topics)) for topics in (1, 10)]
        print(f"a commit of one takes {alone[0]:.0f} µs with one topic, {alone[1]:.0f} µs with ten")
        began = perf_counter()
        index(Path(folder))
        each = (perf_counter() - began) / options.entries
        print(f"the topics of an entry are indexed in {each * 1e6:.0f} µs")
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        print(f"on disk: {size / options.entries:.0f} bytes per entry\n")
        measure(Path(folder))


if __name__ == "__main__":
    main()
