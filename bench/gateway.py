"""Cost and effect of the gateway, with a real Kafka 4.1 on this machine: `python -m bench.gateway`.

Measured are a plan sent to Kafka directly and through the gateway, the use of the window, CPU time while
10,000 partitions are queued, the cost of relayed requests, and the latency of producers during a move with
and without a window. Times depend on other work on the machine; the CPU time of the gateway's process hardly
does.
"""

import argparse
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import getloadavg
from statistics import mean, median
from threading import Event, Thread

from bench.gateway_cluster import Site, Topic, cancel_all, listed, load, move, site, submit
from bench.relay import LARGE, SMALL, large, small
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tools.raw_connection import RawConnection, encode
from tools.waiting import wait_until

RATE = 15_000_000
"""Throttle of each broker in bytes per second, so that replication does not use the CPU that is measured."""
SLOW = 200_000
NO_RATE = 2**40
BIG = Topic("big", 24, 10_000, 24 * 800)
MANY = Topic("many", 1_000, 50_000, 3_600)
WIDE = Topic("wide", 9_050)
LOADED = Topic("loaded", 8)
WINDOW = 4
MOVING = 50
CPU_SECONDS = 15.0
LOAD_RATE = 300
LOAD_RECORDS = 3_600


def row(what: str, gateway: str, beside: str = "", wanted: str = "") -> None:
    """Print a row of the table."""
    print(f"| {what} | {gateway} | {beside} | {wanted} |", flush=True)


def measure_relay(at: Site) -> None:
    """Measure small requests and large answers of a leader, directly and through the gateway."""
    places = {"direct": at.kafka.bootstrap, "gateway": at.relayed(1)}
    for kind in SMALL:
        times = small(places, kind, 1_000)
        direct, relayed = times["direct"], times["gateway"]
        more = f"direct: {direct.p50:.2f}, p99 {direct.p99:.2f}; {relayed.p50 - direct.p50:.2f} more"
        row(f"{kind.name}, ms", f"{relayed.p50:.2f}, p99 {relayed.p99:.2f}", more, "≤ 1 ms more")
    for size in LARGE:
        flow, straight = (
            large(place, BIG.name, size, at.gateway.pid) for place in (at.relayed(1), at.kafka.bootstrap)
        )
        what = f"Fetch of {size / 1e6:.0f} MB, MB for a second of CPU"
        beside = f"{flow.rate / 1e6:,.0f} MB/s; direct: {straight.rate / 1e6:,.0f} MB/s"
        row(what, f"{flow.per_core / 1e6:,.0f}", beside)


def measure_plan(at: Site) -> None:
    """Move the partitions and back, alternately through Kafka and through the gateway."""
    for topic in (BIG, MANY):
        seconds: dict[str, list[float]] = {}
        cpu = at.cpu_seconds()
        for turn, place in enumerate((at.kafka.bootstrap, at.gateway.bootstrap) * 2):
            seconds.setdefault(place, []).append(move(place, topic, there=turn % 2 == 0))
        direct, gateway = (median(each) for each in seconds.values())
        what = f"plan of {topic.partitions:,} partitions, {topic.megabytes:.0f} MB, no limits, s"
        used = (at.cpu_seconds() - cpu) / 2
        wanted = "≤ 1.1 from 10 s on"
        row(
            what,
            f"{gateway:.1f}, CPU {used:.1f}",
            f"direct: {direct:.1f}, ratio {gateway / direct:.2f}",
            wanted,
        )


@contextmanager
def slots_taken(at: Site) -> Iterator[list[int]]:
    """Sample how many reassignments Kafka lists while the gateway has more than fit in the window."""
    taken: list[int] = []
    over = Event()
    direct, gateway = RawConnection(at.kafka.bootstrap), RawConnection(at.gateway.bootstrap)

    def watch() -> None:
        while not over.wait(0.03):
            moves = listed(direct)
            if listed(gateway) > WINDOW and (taken or moves):
                taken.append(moves)

    watching = Thread(target=watch)
    watching.start()
    try:
        yield taken
    finally:
        over.set()
        watching.join()
        direct.close()
        gateway.close()


def measure_window(at: Site) -> None:
    """Measure how much of the window is in use, as Kafka lists it, while partitions are queued."""
    at.limit(WINDOW)
    with slots_taken(at) as taken:
        seconds = move(at.gateway.bootstrap, BIG, there=True)
    at.limit(None)
    at.throttle(NO_RATE)
    move(at.gateway.bootstrap, BIG, there=False)
    at.throttle(RATE)
    share = mean(taken) / WINDOW
    lasted = seconds * WINDOW / BIG.partitions
    gap = f"{lasted * (1 - share):.2f} s from one move to the next"
    beside = f"{gap}; an alter, direct: {alter_seconds(at):.2f} s"
    row(f"window of {WINDOW} taken, moves of {lasted:.1f} s", f"{share:.1%}", beside, "≥ 95 %")


def alter_seconds(at: Site) -> float:
    """Return Kafka's median time for another order of a partition's replicas, which copies nothing."""
    connection = RawConnection(at.kafka.bootstrap)
    times = []
    for turn in range(20):
        rows = [ReassignablePartition(0, (2, 1) if turn % 2 == 0 else (1, 2))]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(LOADED.name, rows)])
        times.append(connection.timed(encode(request, 1))[0])
    connection.close()
    return median(times)


def measure_producers(at: Site) -> None:
    """Measure a producer with acks=all during repeated moves, without a limit and with windows."""
    at.throttle(NO_RATE)
    row("producer, nothing moves", measured_load(at, lambda: False))
    connection = RawConnection(at.gateway.bootstrap)
    for window in (None, 10, 5, 2):
        at.limit(window)
        there, moved, begun = True, 0, time.perf_counter()

        def go_on() -> bool:
            nonlocal there, moved
            if not listed(connection):
                submit(connection, (BIG, there))
                there, moved = not there, moved + BIG.partitions
            return True

        said = measured_load(at, go_on)
        moved -= listed(connection)
        rate = moved * BIG.megabytes * 2 / BIG.partitions / (time.perf_counter() - begun)
        at.limit(None)
        wait_until(lambda: not listed(connection), lambda: "the last move", 0.1)
        if not there:
            move(at.gateway.bootstrap, BIG, there=False)
        name = "all at once" if window is None else f"window {window}"
        row(f"producer, {name}", said, f"{rate:.0f} MB/s moved")
    at.throttle(RATE)
    connection.close()


def measured_load(at: Site, meanwhile: Callable[[], bool]) -> str:
    """Return the latencies of a producer of LOAD_RECORDS.

    `meanwhile` is called repeatedly until it has ended.
    """
    producer = load(at.kafka.bootstrap, LOADED.name, LOAD_RECORDS, 1_000, LOAD_RATE)
    while producer.poll() is None:
        meanwhile()
        time.sleep(0.1)
    last = producer.communicate()[0].strip().splitlines()[-1]
    found = ", ".join(f"{name} {ms} ms" for ms, name in re.findall(r"(\d+) ms (50th|99th)", last))
    longest = re.search(r"([\d.]+) ms max latency", last)
    return found + (f", max {longest.group(1)} ms" if longest else "")


def measure_waiting(at: Site) -> None:
    """Measure CPU time with many queued partitions and some that move slowly."""
    at.create(WIDE)
    at.limit(MOVING)
    at.throttle(SLOW)
    connection = RawConnection(at.gateway.bootstrap)
    submit(connection, (MANY, True), (WIDE, True))
    waiting = MANY.partitions + WIDE.partitions - MOVING
    wait_until(lambda: at.gauge("reassignd_moving_partitions") == MOVING, lambda: "the window", 0.1)
    wait_until(lambda: at.gauge("reassignd_queued_partitions") <= waiting, lambda: "the rest", 0.1)
    begun, cpu = time.perf_counter(), at.cpu_seconds()
    time.sleep(CPU_SECONDS)
    share = (at.cpu_seconds() - cpu) / (time.perf_counter() - begun)
    moving, queued = at.gauge("reassignd_moving_partitions"), at.gauge("reassignd_queued_partitions")
    what = f"CPU while {queued:,.0f} wait and {moving:.0f} move"
    row(what, f"{share:.1%} of a core", "", "≤ 10 %")
    at.throttle(NO_RATE)
    cancel_all(connection)
    connection.close()
    at.limit(None)
    at.throttle(RATE)


PARTS: dict[str, tuple[Callable[[Site], None], tuple[Topic, ...]]] = {
    "relay": (measure_relay, (BIG,)),
    "plan": (measure_plan, (BIG, MANY)),
    "window": (measure_window, (BIG, LOADED)),
    "producers": (measure_producers, (BIG, LOADED)),
    "waiting": (measure_waiting, (MANY,)),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.gateway", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=PARTS, help="measure this part only; can be repeated"
    )
    chosen = parser.parse_args().only or list(PARTS)
    print(f"Load of the machine before: {getloadavg()[0]:.1f}\n")
    print("| what | gateway | beside | wanted |\n|---|---|---|---|", flush=True)
    begun = time.monotonic()
    with site() as at:
        for topic in dict.fromkeys(topic for part in chosen for topic in PARTS[part][1]):
            at.create(topic)
        at.throttle(RATE)
        for part in chosen:
            PARTS[part][0](at)
    print(f"\nTook {time.monotonic() - begun:.0f} s, load after: {getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
