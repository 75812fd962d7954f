"""Takeovers by Kafka's controller and by reassignd, in turn, in one cluster.

They are timed by `bench.zookeeper`.

All partitions are on fake brokers (`bench.fake_brokers`), so that the measured time is the controller's. Two
real 3.9 brokers are candidates. reassignd becomes the controller when it starts; a broker does when reassignd
stops.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from kazoo.client import KazooClient

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import (
    Assignment,
    TopicZnode,
    encode_config,
    encode_state,
    encode_topic,
)
from bench.fake_brokers import ControllerRequest, FakeBrokers
from controller.model.cluster import NO_ID, Partition
from tools.waiting import wait_until
from tools.zookeeper_cluster import ZookeeperCluster
from tools.zookeeper_controller import ControllerProcess

FAKE_BROKERS = (11, 12, 13)
PER_TOPIC = 100
SESSION_MS = "4000"


class Takeover(NamedTuple):
    """Durations of a controller change, in seconds."""

    first: float | None
    """From the deletion of `/controller` to the new controller's first request. None if it was not
    deleted."""
    complete: float
    """From the election to the UpdateMetadata after which a broker knows all partitions."""


class TakeoverRun:
    """A cluster with two real brokers, and two reassignd processes, which are started and ended."""

    def __init__(self, cluster: ZookeeperCluster, brokers: FakeBrokers, partitions: int) -> None:
        self.cluster = cluster
        self.controllers = [
            ControllerProcess(cluster, number, **{"zookeeper.session.timeout.ms": SESSION_MS})
            for number in (1000, 1001)
        ]
        self._fake_brokers, self._partitions = brokers, partitions

    @property
    def controller(self) -> int:
        """Id of the present or last controller."""
        return self._fake_brokers.terms[-1].controller

    def stop_reassignd(self) -> None:
        """Stop the running reassignd processes by SIGTERM."""
        for process in self.controllers:
            if process.runs:
                process.stop()

    def registered(self, broker: int) -> bool:
        """Return whether the broker is registered in ZooKeeper."""
        return self._fake_brokers.registered(broker)

    def takeover(self, act: Callable[[], object], *candidates: int) -> Takeover:
        """Call `act`, wait until one of `candidates` is the controller and has sent all partitions.

        Return the times.
        """
        terms, lost = len(self._fake_brokers.terms), len(self._fake_brokers.lost)
        before = max((each.epoch for each in self._fake_brokers.requests), default=0)
        act()

        def requests() -> list[ControllerRequest]:
            # A broker may still send requests of an earlier term.
            return [
                each
                for each in self._fake_brokers.requests
                if each.controller in candidates and each.epoch > before
            ]

        def known() -> int:
            return sum(each.partitions for each in requests())

        wait_until(
            lambda: known() >= self._partitions,
            lambda: (
                f"{candidates} to send all partitions; elected were {self._fake_brokers.terms[terms:]},"
                f" and {known()} partitions were sent"
            ),
        )
        time.sleep(1)  # The rest of this takeover's work must not slow down the next measurement.
        won = next(each.at for each in self._fake_brokers.terms[terms:] if each.controller in candidates)
        received, count = requests(), 0
        for each in received:
            count += each.partitions
            if count >= self._partitions:
                lost_at = self._fake_brokers.lost[lost] if len(self._fake_brokers.lost) > lost else None
                return Takeover(None if lost_at is None else received[0].at - lost_at, each.at - won)
        raise AssertionError("the requests have fewer partitions than before")


@contextmanager
def started_run(partitions: int) -> Iterator[TakeoverRun]:
    """Start a cluster whose ZooKeeper has the partitions, in topics of 100, before the first election."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True)))
        cluster = ZookeeperCluster(
            folder, 2, measured=True, settings={"zookeeper.session.timeout.ms": SESSION_MS}
        )
        stack.callback(cluster.stop)
        cluster.start_zookeeper()
        create_topics(cluster.zookeeper, partitions)
        brokers = stack.enter_context(FakeBrokers(cluster.zookeeper, FAKE_BROKERS))
        run = TakeoverRun(cluster, brokers, partitions)
        stack.callback(run.stop_reassignd)
        run.takeover(lambda: start(cluster, *cluster.brokers), *cluster.brokers)
        yield run


def start(cluster: ZookeeperCluster, *brokers: int) -> None:
    """Start real brokers and wait until they accept connections."""
    for broker in brokers:
        cluster.start_broker(broker)
    for broker in brokers:
        cluster.wait_for_broker(broker)


def create_topics(zookeeper: str, partitions: int) -> None:
    """Write the znodes of topics, as a controller does."""
    host, _, chroot = zookeeper.partition("/")
    with_root = KazooClient(host)
    with_root.start()
    with_root.create(f"/{chroot}")
    with_root.stop()
    client = KazooClient(zookeeper)
    client.start()
    client.create(paths.TOPICS, makepath=True)
    client.create("/config/topics", makepath=True)
    places = [FAKE_BROKERS[turn:] + FAKE_BROKERS[:turn] for turn in range(len(FAKE_BROKERS))]
    for first in range(0, partitions, PER_TOPIC):
        name = f"topic-{first // PER_TOPIC}"
        rows = {n: places[n % len(places)] for n in range(min(PER_TOPIC, partitions - first))}
        topic = TopicZnode(NO_ID, {n: Assignment(replicas) for n, replicas in rows.items()})
        transaction = client.transaction()
        transaction.create(paths.topic(name), encode_topic(topic))
        transaction.create(paths.partitions(name), b"")
        transaction.create(paths.config(f"topics/{name}"), encode_config({}))
        for number, replicas in rows.items():
            state = Partition(name, number, replicas, replicas, replicas[0], 0, 0)
            path = paths.state(name, number)
            transaction.create(path.removesuffix("/state"), b"")
            transaction.create(path, encode_state(state, 1))
        assert not any(isinstance(each, Exception) for each in transaction.commit())
    client.stop()


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in MB (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found.group(1)) * 1024 / 1_000_000
