"""Up to a million queued partitions: `python -m bench.queued_partitions [--sizes 100000,1000000]`.

Two requests reassign all partitions, while a limit allows ten steps. Measured are the memory per queued
partition, the time until a new limit takes effect, and the restart after kill -9. For the controller alone,
the CPU time to start the next step is measured; the other numbers depend on other work on the machine.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx

from bench.api_speed import SLOW_EMBEDDED
from bench.large_requests import PARTITIONS_PER_TOPIC, WITHOUT_SPARK, alter, create, wait_until_idle
from bench.step_latency import TARGET_MS, milliseconds_per_step
from common.garbage_collector import collect_young_only
from controller.scheduling.limits import LIMITS
from protocol.frames import decode_response, parse_response
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, encode

FEW, MORE = 10, 1_000
"""The limit on concurrent partition movements, before and after its change."""

BROKER_RESOURCE = 4
LIST = 46
LIMIT = next(limit.config for limit in LIMITS if limit.name == "P")
START_SECONDS = 120
BYTES_EACH, BYTES_IN_ALL = 1024, 1.5 * 2**30


class Subject:
    """A server and a connection to it."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, brokers: int = 6) -> None:
        self.server = Reassignd(folder, {**SLOW_EMBEDDED, **WITHOUT_SPARK, **(settings or {})}, brokers)
        self.connection: RawConnection

    def start(self) -> float:
        """Start the server; return the seconds until it is ready."""
        begun = perf_counter()
        self.server.start(START_SECONDS)
        self.connection = RawConnection(self.server.bootstrap)
        return perf_counter() - begun

    def limit(self, partitions: int) -> None:
        """Set the limit on concurrent partition movements."""
        config = AlterableConfig(LIMIT, 0, str(partitions))
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER_RESOURCE, "", [config])])
        (answer,) = self.connection.ask(request, 1).responses
        assert answer.error_code == 0, answer.error_message

    def moving(self) -> int:
        """Return the number of partitions that count against the limit."""
        answer: Any = httpx.get(f"http://{self.server.http}/v1/limits", timeout=60).json()
        (used,) = (row["used"] for row in answer["limits"] if row["config"] == LIMIT)
        return int(used)

    def wait_until_idle(self) -> None:
        """Wait until the process is idle."""
        wait_until_idle(self.server.pid)


def resident_bytes(pid: int, line: str = "VmRSS") -> int:
    """Return the resident memory of a process: now (VmRSS), or the maximum since `forget_peak` (VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition(f"{line}:")[2].split()[0]) * 1024


def forget_peak(pid: int) -> None:
    """Reset VmHWM to the present resident memory."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def measure(partitions: int, folder: Path) -> Iterator[bool]:
    """Print one row per number. Yield whether each target is reached."""
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
    """Measure two requests with half of the partitions each. Then all but FEW partitions are queued."""
    pid, half = subject.server.pid, topics // 2
    idle = resident_bytes(pid)
    forget_peak(pid)
    frames = [alter(topics, (1, 3), first=first) for first, topics in ((0, half), (half, topics - half))]
    seconds = sum(subject.connection.timed(frame)[0] for frame in frames)
    show("two requests accepted, seconds", partitions, seconds)
    subject.wait_until_idle()
    used, peak = resident_bytes(pid) - idle, resident_bytes(pid, "VmHWM") - idle
    yield show("bytes of memory per queued partition", partitions, used / partitions, BYTES_EACH)
    yield show("GiB of memory above idle, at most", partitions, peak / 2**30, BYTES_IN_ALL / 2**30)


def change_limit(subject: Subject, partitions: int) -> Iterator[bool]:
    """Measure the time until as many partitions move as a new limit allows."""
    assert subject.moving() == FEW
    begun = perf_counter()
    subject.limit(MORE)
    while subject.moving() < MORE:
        sleep(0.01)
    yield show(f"limit {FEW} -> {MORE}: seconds until they move", partitions, perf_counter() - begun, 1)


def restart(subject: Subject, partitions: int) -> Iterator[bool]:
    """Measure the time from a start after kill -9 to the first answer to List."""
    ready = subject.start()
    show("restart: seconds until ready", partitions, ready)
    listed, answer = subject.connection.timed(encode(ListPartitionReassignmentsRequest(), 0))
    topics = decode_response(parse_response(answer, LIST, 0), ListPartitionReassignmentsResponse).topics
    assert sum(len(topic.partitions) for topic in topics) == partitions
    wanted = 5 if partitions <= 100_000 else 30
    yield show("restart: seconds until all are listed", partitions, ready + listed, wanted)


def show(what: str, partitions: int, value: float, most: float | None = None) -> bool:
    """Print a row. Return whether the target is reached."""
    passed = most is None or value <= most
    wanted = "" if most is None else f"≤ {most:g}{'' if passed else ' **missed**'}"
    print(f"| {what} | {partitions:,} | {value:,.3g} | {wanted} |", flush=True)
    return passed


def measure_controller(sizes: list[int]) -> Iterator[bool]:
    """Measure the start of the next step in the controller, with few and with many queued partitions."""
    for waiting in (1_000, *sizes):
        typical, longest = milliseconds_per_step(waiting)
        yield show("start the next step, controller, median ms", waiting, typical, TARGET_MS)
        show("start the next step, controller, longest ms", waiting, longest)


def main() -> int:
    """Print the table. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.queued_partitions", description=__doc__)
    parser.add_argument("--sizes", default="100000,1000000", help="partitions, a multiple of 2,000")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    collect_young_only()
    print("| what | partitions | measured | wanted |\n|---|---|---|---|")
    passed = list(measure_controller(sizes))
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            passed += measure(size, Path(folder))
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
