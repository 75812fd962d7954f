"""The directories that brokers report, and those that a plan names.

kafka-reassign-partitions prints them, since Kafka 4.2, for a rollback. A plan moves replicas between brokers
only: a broker chooses the directory of a new replica. So a named directory is accepted where the replica is
in it, or cannot be anywhere else.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from common.error_codes import ErrorCode
from common.json.text import abbreviated
from common.plan_errors import Faults
from controller.model.cluster import TopicPartition
from controller.model.disks import BrokerReplica
from controller.model.plan import ANY, Entries, Entry, place
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from server.progress.rates import Sizes


class Named(NamedTuple):
    """A directory that a plan names: that of the entry's replica at this place."""

    number: int
    entry: Entry
    replica: int

    @property
    def broker(self) -> int:
        """The broker of the replica."""
        return self.entry.replicas[self.replica]

    @property
    def path(self) -> str:
        """The directory."""
        return self.entry.log_dirs[self.replica]


async def check_directories(sizes: Sizes, entries: Entries, faults: Faults) -> None:
    """Add the entries with a directory in which the replica would not be."""
    named = list(_named(entries))
    if not named:
        return
    requests = requests_about(
        BrokerReplica(each.entry.topic, each.entry.partition, each.broker) for each in named
    )
    answers = await asyncio.gather(*(sizes.describe(broker, request) for broker, request in requests.items()))
    known = dict(zip(requests, map(read_directories, answers), strict=True))
    for each in named:
        if fault := _fault(each, known[each.broker]):
            where = f"{place(each.entry, each.number)}: log_dirs[{each.replica}]"
            faults.add(each.number, "{} is {}, {}".format, where, abbreviated(each.path), fault)


def _named(entries: Entries) -> Iterator[Named]:
    for number, entry in enumerate(entries):
        for replica, path in enumerate(() if entry is None else entry.log_dirs):
            if entry is not None and path != ANY:
                yield Named(number, entry, replica)


def requests_about(replicas: Iterable[BrokerReplica]) -> dict[int, DescribeLogDirsRequest]:
    """Return by broker what it is to be asked about these replicas."""
    asked: dict[int, dict[str, list[int]]] = {}
    for topic, partition, broker in replicas:
        asked.setdefault(broker, {}).setdefault(topic, []).append(partition)
    return {
        broker: DescribeLogDirsRequest([DescribableLogDirTopic(t, tuple(n)) for t, n in topics.items()])
        for broker, topics in asked.items()
    }


class Place(NamedTuple):
    """The directory of a replica, and its bytes."""

    path: str
    size: int


class Directories(NamedTuple):
    """The directories of a broker, and in which one each replica is."""

    paths: Sequence[str]
    """Those that may get replicas: that neither failed nor are cordoned (KIP-1066)."""
    places: Mapping[TopicPartition, Place]


def read_directories(answer: DescribeLogDirsResponse | None) -> Directories | None:
    """Return what a broker has answered; None if it reports nothing."""
    rows = [] if answer is None else [row for row in answer.results if row.log_dir]
    if answer is None or answer.error_code != ErrorCode.NONE or not rows:
        return None
    places = {
        TopicPartition(topic.name, part.partition_index): Place(row.log_dir, part.partition_size)
        for row in rows
        for topic in row.topics
        for part in topic.partitions
        if not part.is_future_key
    }
    usable = (row for row in rows if row.error_code == ErrorCode.NONE and not row.is_cordoned)
    return Directories([row.log_dir for row in usable], places)


def _fault(named: Named, known: Directories | None) -> str:
    broker, entry = named.broker, named.entry
    if known is None:
        return f'and broker {broker} does not report its directories: expected "any"'
    held = known.places.get(TopicPartition(entry.topic, entry.partition))
    there = None if held is None else held.path
    if there is None and [*known.paths] != [named.path]:
        own = ", ".join(map(abbreviated, known.paths))
        return f'but broker {broker} chooses the directory of a new replica, one of {own}: expected "any"'
    if there not in (None, named.path):
        return (
            f"but the replica on broker {broker} is in {abbreviated(there)}:"
            ' expected "any"; kafka-reassign-partitions moves replicas between directories'
        )
    return ""
