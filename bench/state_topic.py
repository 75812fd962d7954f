"""The state topic beside a data directory: `python -m bench.state_topic [--keys 1000000]`.

Both stores commit the same records in turn, on the same machine: one record at a time, and a plan of 100,000
rows. Then the topic is read from its beginning, and the CPU of a standby is measured. Kafka runs with three
brokers; each commit waits for all replicas.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from math import inf
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time, sleep

import uvloop

from backends.sqlite.store import SqliteStore
from backends.state_topic.candidate import ClaimedTerm, read_during_term
from backends.state_topic.claim import Claim, Lease
from backends.state_topic.history import DecodedRows, History
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.log import Timings
from backends.state_topic.topic import open_topic
from backends.state_topic.writer import StateTopicStore, TermWriter
from backends.upstream.client import UpstreamClient
from common.address import Address
from common.clock import RealClock
from common.garbage_collector import collect_young_only
from common.tasks import cancel
from controller.model.cluster import Pending, Record
from controller.ports import Store
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec
from tools.ports import free_port, free_ports
from tools.processes import ServerProcess

TOPIC = "__reassignd_bench"
SETTINGS = {"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2"}
COMMITS, PLAN, PLANS = 300, 100_000, 3
STANDBY_SECONDS = 20
TICK_SECONDS = 0.005
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def plan(number: int, rows: int) -> list[Record]:
    """Return the records of a plan."""
    return [Pending(f"topic-{number}-{row // 100}", row % 100, (1, 2, 3), number) for row in range(rows)]


def servers(kafka: KafkaCluster) -> list[Address]:
    """Return the addresses of the brokers."""
    pairs = [server.split(":") for server in kafka.addresses().split(",")]
    return [Address(host, int(port)) for host, port in pairs]


@asynccontextmanager
async def connected(kafka: KafkaCluster, topic: str) -> AsyncIterator[KafkaStateLog]:
    """Create the topic if needed, and open its log."""
    clients = [UpstreamClient(servers(kafka)) for _ in range(2)]
    await open_topic(clients[0], topic, 3)
    yield KafkaStateLog(topic, *clients)
    for client in clients:
        await client.close()


@asynccontextmanager
async def topic_writer(log: KafkaStateLog) -> AsyncIterator[tuple[Store, TermWriter]]:
    """Claim the term of an empty topic; the context has its store and its writer.

    What is written is read, too.
    """
    clock, timings = RealClock(), Timings(30.0)
    producer = await _until_answered(log)
    claim = Claim(
        instance="bench",
        term=1,
        producer_id=producer[0],
        producer_epoch=producer[1],
        replaces=None,
        session_ms=30_000,
    )
    await log.append([claim.encode()], claim.producer, 0)
    lease = Lease(clock, timings.lease)
    lease.renew(clock.now())
    writer = TermWriter(log, ClaimedTerm(claim, 1, clock.now(), -inf), lease, timings, clock)
    running = asyncio.create_task(writer.run())
    reading = asyncio.create_task(read_during_term(log, History(), clock, lambda _: None))
    yield StateTopicStore(History(), writer), writer
    await cancel(reading)
    writer.close(release=True)
    await running


async def _until_answered(log: KafkaStateLog) -> tuple[int, int]:
    """Return a producer. The coordinator of a new cluster needs some seconds."""
    while True:
        try:
            return await log.new_epoch()
        except OSError:
            await asyncio.sleep(0.5)


async def commit_times(store: Store) -> list[float]:
    """Return the milliseconds of each of COMMITS commits of one record, after as many that warm up Kafka."""
    times = []
    for number in range(2 * COMMITS):
        started = perf_counter()
        await store.commit([Pending("single", number % 10, (1, 2), 1)])
        times.append((perf_counter() - started) * 1000)
    return times[COMMITS:]


async def plan_time(store: Store, records: Sequence[Record]) -> tuple[float, float]:
    """Return the seconds of the commit, and the longest time that the event loop was held."""
    longest, done = 0.0, asyncio.Event()

    async def tick() -> None:
        nonlocal longest
        while not done.is_set():
            began = perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            longest = max(longest, perf_counter() - began - TICK_SECONDS)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    started = perf_counter()
    await store.commit(records)
    seconds = perf_counter() - started
    done.set()
    await ticking
    return seconds, longest


async def longest_turn(store: Store, records: Sequence[Record]) -> float:
    """Return the most CPU seconds of one turn of the event loop while the records are committed.

    Other programs on the machine do not change it much, unlike the time.
    """
    longest, done = 0.0, asyncio.Event()

    async def turn() -> None:
        nonlocal longest
        while not done.is_set():
            began = process_time()
            await asyncio.sleep(0)
            longest = max(longest, process_time() - began)

    turning = asyncio.create_task(turn())
    await asyncio.sleep(0)
    await store.commit(records)
    done.set()
    await turning
    return longest


async def compare(stores: dict[str, Store]) -> None:
    """Commit to each of the stores in turn."""
    print(f"{'':12}{'1 record, median':>18}{'p95':>10}{'100,000 rows':>16}{'loop held':>12}{'CPU of it':>12}")
    for name, store in stores.items():
        times = await commit_times(store)
        plans = [await plan_time(store, plan(number, PLAN)) for number in range(PLANS)]
        seconds, held = median(each for each, _ in plans), max(each for _, each in plans)
        cpu = await longest_turn(store, plan(PLANS, PLAN))
        p95 = quantiles(times, n=20)[-1]
        print(
            f"{name:12}{median(times):>15.2f} ms{p95:>7.1f} ms{seconds:>14.2f} s{held * 1000:>9.0f}"
            f" ms{cpu * 1000:>9.0f} ms",
            flush=True,
        )


async def fill(store: Store, keys: int) -> None:
    """Write rows until the topic has about `keys` keys."""
    for number in range(PLANS + 1, keys // PLAN):
        await store.commit(plan(number, PLAN))


async def replay(log: KafkaStateLog) -> None:
    """Read the topic from its beginning, and its records."""
    history, started, cpu = History(), perf_counter(), process_time()
    while True:
        fetched = await log.fetch(history.next_offset)
        history.apply(fetched.batches)
        if history.next_offset >= fetched.end_offset:
            break
    read = perf_counter() - started
    _, records = await DecodedRows(history).take()
    count = sum(1 for _ in records)
    seconds, used = perf_counter() - started, process_time() - cpu
    print(
        f"replay of {count:,} records: {read:.1f} s to read, {seconds:.1f} s with decoding, {used:.1f} s CPU"
    )


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def instances(kafka: KafkaCluster, folder: Path) -> None:
    """Run two instances, and print the CPU that each of them uses in a quiet cluster."""
    secret = folder / "secret"
    secret.touch(0o600)
    secret.write_text("a secret that all instances know")
    settings = {"state.topic": f"{TOPIC}_quiet", "gateway.peer.secret.file": str(secret)}
    running = []
    for name in ("active", "standby"):
        listener = f"127.0.0.1:{free_ports(len(kafka.brokers) + 1)}"
        http = f"127.0.0.1:{free_port()}"
        options = ["--backend", "upstream", "--state", "topic", "--bootstrap-server", kafka.addresses()]
        options += ["--listener", listener, "--http", http]
        running.append(ServerProcess(options, settings, folder / f"{name}.log"))
        running[-1].start()
    sleep(5)
    before = [cpu_seconds(each.pid) for each in running]
    sleep(STANDBY_SECONDS)
    shares = [
        (cpu_seconds(each.pid) - was) / STANDBY_SECONDS for each, was in zip(running, before, strict=True)
    ]
    for each in running:
        each.stop()
    print(f"steady state: {shares[0]:.1%} of a core for the active instance, {shares[1]:.1%} for a standby")


async def run(kafka: KafkaCluster, folder: Path, keys: int) -> None:
    """Run all measurements."""
    async with connected(kafka, TOPIC) as log:
        async with topic_writer(log) as (on_topic, _):
            with closing(SqliteStore(folder / "data")) as in_directory:
                await compare({"directory": in_directory, "topic": on_topic})
            await fill(on_topic, keys)
        await replay(log)


def main() -> None:
    """Start the cluster and measure."""
    options = argparse.ArgumentParser(prog="python -m bench.state_topic")
    options.add_argument("--keys", type=int, default=1_000_000)
    keys = options.parse_args().keys
    collect_young_only()
    with tempfile.TemporaryDirectory(prefix="bench-state-") as name:
        folder = Path(name)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        with running_kafka(Spec(3, "4.1", apart=True, measured=True, settings=SETTINGS)) as kafka:
            uvloop.run(run(kafka, folder, keys))
            instances(kafka, folder)
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
