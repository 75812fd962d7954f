"""Takeovers of the office by Kafka's controller and by ours, in turn, in one cluster: what `bench.zookeeper` times.

The partitions are on sinks (`bench.sinks`), so that commands cost nothing but their sending; two real brokers 3.9 stand for the
office. reassignd takes it from them when it starts, and they take it back when it stops.
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
from bench.sinks import Sinks, Told
from controller.model.cluster import NO_ID, Partition
from tools.commander import Commander
from tools.waiting import wait_until
from tools.zookeeper_cluster import ZookeeperCluster

SINKS = (11, 12, 13)
PER_TOPIC = 100
SESSION_MS = "4000"


class Takeover(NamedTuple):
    """Seconds."""

    first: float | None
    """From the loss of `/controller`, where it was lost, to the first request of the new controller."""
    told: float
    """From winning `/controller` to the UpdateMetadata that completed what a broker knows of all partitions."""


class Arena:
    """The cluster, and two of ours that are started and ended. `brokers` are Kafka's two candidates."""

    def __init__(self, cluster: ZookeeperCluster, sinks: Sinks, partitions: int) -> None:
        self.cluster = cluster
        self.ours = [
            Commander(cluster, number, **{"zookeeper.session.timeout.ms": SESSION_MS})
            for number in (1000, 1001)
        ]
        self._sinks, self._partitions = sinks, partitions

    @property
    def holder(self) -> int:
        """Who is in office, or was last."""
        return self._sinks.terms[-1].controller

    def stop_ours(self) -> None:
        """End those of ours that run, in order."""
        for each in self.ours:
            if each.runs:
                each.stop()

    def registered(self, broker: int) -> bool:
        """The broker is known to its controller, or will be at once."""
        return self._sinks.registered(broker)

    def takeover(self, act: Callable[[], object], *candidates: int) -> Takeover:
        """After `act`, one of these takes the office."""
        terms, lost = len(self._sinks.terms), len(self._sinks.lost)
        before = max((each.epoch for each in self._sinks.told), default=0)
        act()

        def requests() -> list[Told]:
            # What a broker still says of an earlier term of its own does not count.
            return [
                each for each in self._sinks.told if each.controller in candidates and each.epoch > before
            ]

        def known() -> int:
            return sum(each.partitions for each in requests())

        wait_until(
            lambda: known() >= self._partitions,
            lambda: (
                f"{candidates} to tell of all partitions; in office were {self._sinks.terms[terms:]},"
                f" and {known()} partitions were told of"
            ),
        )
        time.sleep(1)  # What follows shall not share the processors with what this takeover leaves to do.
        won = next(each.at for each in self._sinks.terms[terms:] if each.controller in candidates)
        said, count = requests(), 0
        for each in said:
            count += each.partitions
            if count >= self._partitions:
                lost_at = self._sinks.lost[lost] if len(self._sinks.lost) > lost else None
                return Takeover(None if lost_at is None else said[0].at - lost_at, each.at - won)
        raise AssertionError("counted otherwise before")


@contextmanager
def arena(partitions: int) -> Iterator[Arena]:
    """So many partitions, in topics of 100, were in ZooKeeper before any controller was."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True)))
        cluster = ZookeeperCluster(
            folder, 2, measured=True, settings={"zookeeper.session.timeout.ms": SESSION_MS}
        )
        stack.callback(cluster.stop)
        cluster.start_zookeeper()
        lay(cluster.zookeeper, partitions)
        sinks = stack.enter_context(Sinks(cluster.zookeeper, SINKS))
        made = Arena(cluster, sinks, partitions)
        stack.callback(made.stop_ours)
        made.takeover(lambda: start(cluster, *cluster.brokers), *cluster.brokers)
        yield made


def start(cluster: ZookeeperCluster, *brokers: int) -> None:
    """Starts real brokers, and waits until they answer."""
    for broker in brokers:
        cluster.start_broker(broker)
    for broker in brokers:
        cluster.wait_for_broker(broker)


def lay(zookeeper: str, partitions: int) -> None:
    """Write topics with all that a controller would have written."""
    host, _, chroot = zookeeper.partition("/")
    with_root = KazooClient(host)
    with_root.start()
    with_root.create(f"/{chroot}")
    with_root.stop()
    client = KazooClient(zookeeper)
    client.start()
    client.create(paths.TOPICS, makepath=True)
    client.create("/config/topics", makepath=True)
    places = [SINKS[turn:] + SINKS[:turn] for turn in range(len(SINKS))]
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
    """Memory of a process, MB."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found.group(1)) * 1024 / 1_000_000
