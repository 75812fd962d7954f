"""Very many partitions that wait for their turn: `python -m bench.queued_partitions [--sizes 100000,1000000]`.

All partitions are ordered to move, in two requests, while a limit lets hardly any do so. Measured are the memory that those
who wait take, how soon a change of the limit acts, and how soon a server that was killed serves again; and in the core
alone, how long it takes to start the next step. Other work on the machine counts, but for that last number.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx

from bench.api_speed import SLOW_EMBEDDED
from bench.large_requests import PARTITIONS_PER_TOPIC, alter, create
from bench.step_latency import TARGET_MS, milliseconds_per_step
from common.garbage_collector import collect_young_only
from controller.scheduling.limits import CONFIGS
from protocol.frames import decode_response, parse_response
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, encode

FEW, MORE = 10, 1_000
"""The limit on partitions that move, before and after it is changed."""

BROKER_RESOURCE = 4
LIST = 46
LIMIT = next(name for name, field in CONFIGS.items() if field == "partitions")
START_SECONDS = 120
SAMPLE_SECONDS = 0.5
BYTES_EACH, BYTES_IN_ALL = 1024, 1.5 * 2**30


class Subject:
    """A server, and a client of it."""

    def __init__(self, folder: Path) -> None:
        self.server = Reassignd(folder, {**SLOW_EMBEDDED, "log.level": "WARN"})
        self.connection: RawConnection

    def start(self) -> float:
        """Seconds until it was ready."""
        begun = perf_counter()
        self.server.start(START_SECONDS)
        self.connection = RawConnection(self.server.bootstrap)
        return perf_counter() - begun

    def limit(self, partitions: int) -> None:
        """Sets the limit on partitions that move."""
        config = AlterableConfig(LIMIT, 0, str(partitions))
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER_RESOURCE, "", [config])])
        (answer,) = self.connection.ask(request, 1).responses
        assert answer.error_code == 0, answer.error_message

    def moving(self) -> int:
        """How many partitions count against the limit."""
        answer: Any = httpx.get(f"http://{self.server.http}/v1/limits", timeout=60).json()
        (used,) = (row["used"] for row in answer["limits"] if row["config"] == LIMIT)
        return int(used)

    def wait_until_idle(self) -> None:
        """Returns when the process has nothing left to do."""
        while busy_share(self.server.pid) > 0.1:
            pass


def busy_share(pid: int) -> float:
    """Of one core, over a short time."""
    before = processor_seconds(pid)
    sleep(SAMPLE_SECONDS)
    return (processor_seconds(pid) - before) / SAMPLE_SECONDS


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def resident_bytes(pid: int, line: str = "VmRSS") -> int:
    """Memory of a process: what is resident now, or in VmHWM the most since `forget_peak`."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition(f"{line}:")[2].split()[0]) * 1024


def forget_peak(pid: int) -> None:
    """Have VmHWM begin anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def measure(partitions: int, folder: Path) -> Iterator[bool]:
    """Prints one row per number; whether each target is kept."""
    topics = partitions // PARTITIONS_PER_TOPIC
    subject = Subject(folder)
    subject.start()
    try:
        create(subject.connection, topics)
        subject.limit(FEW)
        subject.wait_until_idle()
        yield from accept(subject, partitions, topics)
        yield from change_limit(subject, partitions)
        subject.server.kill()
        yield from restart(subject, partitions)
    finally:
        subject.server.kill()


def accept(subject: Subject, partitions: int, topics: int) -> Iterator[bool]:
    """Two requests with half of the partitions each; then all but FEW wait."""
    pid, half = subject.server.pid, topics // 2
    idle = resident_bytes(pid)
    forget_peak(pid)
    frames = [alter(topics, (1, 3), first=first) for first, topics in ((0, half), (half, topics - half))]
    seconds = sum(subject.connection.timed(frame)[0] for frame in frames)
    show("two requests accepted, seconds", partitions, seconds)
    subject.wait_until_idle()
    held, most = resident_bytes(pid) - idle, resident_bytes(pid, "VmHWM") - idle
    yield show("bytes of memory for each that waits", partitions, held / partitions, BYTES_EACH)
    yield show("GiB of memory above idle, at most", partitions, most / 2**30, BYTES_IN_ALL / 2**30)


def change_limit(subject: Subject, partitions: int) -> Iterator[bool]:
    """Until as many move as the new limit allows."""
    assert subject.moving() == FEW
    begun = perf_counter()
    subject.limit(MORE)
    while subject.moving() < MORE:
        sleep(0.01)
    yield show(f"limit {FEW} -> {MORE}: seconds until they move", partitions, perf_counter() - begun, 1)


def restart(subject: Subject, partitions: int) -> Iterator[bool]:
    """After kill -9, until the first List is answered."""
    ready = subject.start()
    show("restart: seconds until ready", partitions, ready)
    listed, answer = subject.connection.timed(encode(ListPartitionReassignmentsRequest(), 0))
    topics = decode_response(parse_response(answer, LIST, 0)).topics
    assert sum(len(topic.partitions) for topic in topics) == partitions
    wanted = 5 if partitions <= 100_000 else 30
    yield show("restart: seconds until all are listed", partitions, ready + listed, wanted)


def show(what: str, partitions: int, value: float, most: float | None = None) -> bool:
    """Prints a row; whether the target is kept."""
    kept = most is None or value <= most
    wanted = "" if most is None else f"≤ {most:g}{'' if kept else ' **missed**'}"
    print(f"| {what} | {partitions:,} | {value:,.3g} | {wanted} |", flush=True)
    return kept


def turns(sizes: list[int]) -> Iterator[bool]:
    """The next step in the core, with few and with many that wait."""
    for waiting in (1_000, *sizes):
        usual, longest = milliseconds_per_step(waiting)
        yield show("start the next step, core, median ms", waiting, usual, TARGET_MS)
        show("start the next step, core, longest ms", waiting, longest)


def main() -> int:
    """Prints the table; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.queued_partitions", description=__doc__)
    parser.add_argument("--sizes", default="100000,1000000", help="partitions, a multiple of 2,000")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    collect_young_only()
    print("| what | partitions | measured | wanted |\n|---|---|---|---|")
    kept = list(turns(sizes))
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            kept += measure(size, Path(folder))
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
