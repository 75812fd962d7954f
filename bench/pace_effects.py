"""What pace costs and how it treats others, before a real Kafka.

`python -m bench.pace_effects --only cost` (or `idle`, `neighbour`).

With the cluster of `bench.pace`. `cost`: the CPU time of the gateway and the produces of its canary, with
pace and without. `idle`: the time of moves without producers. `neighbour`: the effort of a broker, second by
second, while others begin to write to it in mid-plan, and after they have ended. Times depend on other work
on the machine.
"""

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from os import getloadavg
from statistics import median
from threading import Event, Thread
from typing import NamedTuple
from urllib.request import urlopen

from bench.gateway_cluster import Site, configure, load, site
from bench.pace import (
    BIG,
    BROKERS,
    LOADED,
    LOADED_PARTITIONS,
    RECORD_BYTES,
    create,
    loaded_replicas,
    move,
    probing,
    replicas,
)
from protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tools.raw_connection import RawConnection
from tools.waiting import wait_until

CANARY, NEIGHBOUR = "__reassignd_canary", "neighbour"
PACE = "reassignment.pace"
COST_SECONDS = 25.0
"""Shorter than the time in which the canary probes often at first."""
CALM_SECONDS = 10.0
QUIET_SECONDS = 100.0
"""After more than 90 s in which nothing grows, pace assumes that there are no producers."""
LEARNED_SECONDS = 5.0
LOADED_BROKER = 2
NEIGHBOUR_SECONDS = 20.0
MOVING_SECONDS = 40.0
"""Of the moves, before the neighbour begins."""
BACK_SECONDS = 45.0
LEVEL_SECONDS = 20
"""The effort before the neighbour is the median of so many seconds."""
YIELDED, BACK = 0.7, 0.5
"""Shares of that effort."""


class Second(NamedTuple):
    """The state of a broker at a time."""

    at: float
    effort: float
    latency: float | None
    target: float | None


def pace(at: Site, mode: str) -> None:
    """Switch pace to `auto` or `off`."""
    configure(at.gateway.bootstrap, 4, "", {PACE: mode})


def end_offset(at: Site, topic: str, leader: int = 1) -> int:
    """Return the number of records of partition 0 of the topic; -1 without the topic."""
    connection = RawConnection(at.kafka.address(leader))
    asked = ListOffsetsTopic(topic, (ListOffsetsPartition(0, timestamp=-1),))
    (answer,) = connection.ask(ListOffsetsRequest(-1, topics=(asked,)), 7).topics
    connection.close()
    return answer.partitions[0].offset


def spent(at: Site) -> tuple[float, float]:
    """Return the share of a core that the gateway used, and the canary's produces per second to broker 1."""
    before, offset = at.cpu_seconds(), end_offset(at, CANARY)
    time.sleep(COST_SECONDS)
    return (at.cpu_seconds() - before) / COST_SECONDS, (end_offset(at, CANARY) - offset) / COST_SECONDS


def measure_cost(at: Site, _: argparse.Namespace) -> None:
    """Print the CPU time of the gateway and the produces of the canary.

    It measures without pace, while the canary probes often, and when it is calm.
    """
    without = spent(at)[0]
    pace(at, "auto")
    wait_until(lambda: end_offset(at, CANARY) >= 0, lambda: "the canary", 0.2)
    often = spent(at)
    time.sleep(CALM_SECONDS)
    calm = spent(at)
    pace(at, "off")
    print(
        "| pace | CPU of the gateway, of a core | more than without | canary's produces per second"
        " and broker |"
    )
    print("|---|---|---|---|")
    print(f"| off | {without:.2%} | | |")
    for name, (share, produced) in (("on, as during a move", often), ("on, calm", calm)):
        print(f"| {name} | {share:.2%} | {share - without:.2%} | {produced:.1f} |", flush=True)


def measure_idle(at: Site, options: argparse.Namespace) -> None:
    """Print the time of moves without producers.

    Pace has just been switched on for the first; then moves at once and with pace alternate.
    """
    turns = count()

    def seconds() -> float:
        began = time.monotonic()
        move(at.gateway.bootstrap, options.partitions, next(turns) % 2 == 0)
        return time.monotonic() - began

    pace(at, "auto")
    time.sleep(LEARNED_SECONDS)
    at_first = seconds()
    time.sleep(QUIET_SECONDS)
    times: dict[str, list[float]] = {"off": [], "auto": []}
    for _ in range(options.runs):
        for mode, found in times.items():
            pace(at, mode)
            time.sleep(LEARNED_SECONDS)
            found.append(seconds())
    once, paced = (median(found) for found in times.values())
    print(f"moves: {times}")
    print(f"| without producers: at once | {once:.1f} s |")
    print(f"| with pace | {paced:.1f} s, {paced / once:.2f} times |")
    print(f"| with pace that was switched on 5 s before | {at_first:.1f} s |", flush=True)


def paced(at: Site) -> Mapping[int, Second]:
    """Return the present state of each broker."""
    with urlopen(f"http://{at.gateway.http}/v1/status") as answer:
        rows = json.load(answer)["pace"]["brokers"]
    now = time.monotonic()
    return {row["id"]: Second(now, row["effort"] or 0.0, row["latency_ms"], row["target_ms"]) for row in rows}


def follow(at: Site, seconds: float) -> list[Second]:
    """Return the states of the loaded broker, once a second."""
    rows: list[Second] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(1)
        rows.append(paced(at)[LOADED_BROKER])
    return rows


@contextmanager
def moving(at: Site, partitions: int) -> Iterator[None]:
    """Move there and back again and again during the `with` block; the last move ends without pace."""
    stop = Event()

    def work() -> None:
        for turn in count():
            if stop.is_set():
                break
            move(at.gateway.bootstrap, partitions, turn % 2 == 0)

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        pace(at, "off")
        thread.join()


def measure_neighbour(at: Site, options: argparse.Namespace) -> None:
    """Print the effort of a broker over time, while others write to it and after they have ended."""
    create(at, NEIGHBOUR, [(LOADED_BROKER, LOADED_BROKER % BROKERS + 1)] * 4)
    pace(at, "auto")
    per_second = int(options.neighbour * 1e6 / RECORD_BYTES)
    with probing(at, options.rate / BROKERS) as collect:
        time.sleep(10)
        with moving(at, options.partitions):
            before = follow(at, MOVING_SECONDS)
            records = int(per_second * NEIGHBOUR_SECONDS)
            neighbour = load(at.kafka.bootstrap, NEIGHBOUR, records, RECORD_BYTES, per_second)
            # Its JVM starts first.
            wait_until(lambda: end_offset(at, NEIGHBOUR, LOADED_BROKER) > 0, lambda: "the neighbour", 0.1)
            began = time.monotonic()
            loaded = follow(at, NEIGHBOUR_SECONDS)
            neighbour.communicate()
            ended = time.monotonic()
            after = follow(at, BACK_SECONDS)
        collect()
    level = median(row.effort for row in before[-LEVEL_SECONDS:])
    yielded = next((row.at - began for row in loaded if row.effort <= YIELDED * level), None)
    back = next((row.at - ended for row in after if row.effort >= BACK * level), None)
    for name, rows in (("before", before), ("neighbour", loaded), ("after", after)):
        print(f"{name}: " + " ".join(f"{row.effort:.2g}@{row.latency or 0:.3g}" for row in rows))
    print(f"target: {before[-1].target} ms; each value is an effort at a latency in ms, once a second")
    print(f"| effort before a neighbour of {options.neighbour:g} MB/s | {level:.2g} |")
    for name, found in (("yields after", yielded), ("is back after", back)):
        print(f"| {name} | {'not at all' if found is None else f'{found:.1f} s'} |", flush=True)


EFFECTS = {"cost": measure_cost, "idle": measure_idle, "neighbour": measure_neighbour}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.pace_effects", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="moves without producers in each mode")
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=25, help="size of a partition")
    parser.add_argument("--rate", type=float, default=200, help="records of 1 KB per second, all brokers")
    parser.add_argument("--neighbour", type=float, default=40, help="MB per second that the neighbour writes")
    parser.add_argument(
        "--only", choices=list(EFFECTS), action="append", help="default: all, one after the other"
    )
    options = parser.parse_args()
    with site() as at:
        create(at, LOADED, [loaded_replicas(i) for i in range(LOADED_PARTITIONS)])
        create(at, BIG, [replicas(i, False) for i in range(options.partitions)])
        chosen = options.only or list(EFFECTS)
        if set(chosen) != {"cost"}:
            records = options.partitions * options.megabytes * 10**6 // RECORD_BYTES
            load(at.kafka.bootstrap, BIG, records, RECORD_BYTES).communicate()
        for effect in chosen:
            EFFECTS[effect](at, options)
    print(f"\nLoad of the machine at the end: {getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
