"""A plan as the stock tool's JSON (Kafka: ReassignPartitionsCommand), read and checked before anything is done with it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from controller.alter import check_row
from controller.job_events import AlterRow, AlterTopic
from controller.model import Replicas, TopicPartition
from controller.state import State
from server.api.call import shown
from server.api.errors import ApiError

INT_MAX = 2**31 - 1
BROKER_IDS = f"a broker id from 0 to {INT_MAX}"
ANY = "any"


class Entry(NamedTuple):
    """One partition of a plan, and where it belongs."""

    topic: str
    partition: int
    replicas: Replicas


def read_plan(value: object) -> list[Entry]:
    """The entries of a parsed plan, in order. Raises ApiError naming the first one that is wrong."""
    if not isinstance(value, dict) or not isinstance(value.get("partitions"), list):
        raise ApiError(400, 'not a plan: expected {"version":1,"partitions":[...]}')
    if value.get("version", 1) != 1:
        raise ApiError(400, f"'version' is {shown(value['version'])}, expected 1")
    if not value["partitions"]:
        raise ApiError(400, "the plan has no partitions")
    seen: dict[tuple[str, int], int] = {}
    entries = []
    for number, row in enumerate(value["partitions"]):
        topic, partition, name = read_key(row, f"partitions[{number}]")
        if seen.setdefault((topic, partition), number) != number:
            raise ApiError(400, f"{name} is there twice, first in partitions[{seen[topic, partition]}]")
        entries.append(Entry(topic, partition, _replicas(row, name)))
    return entries


def read_key(row: Any, where: str) -> tuple[str, int, str]:
    """Topic and partition of an entry, and the entry's name in error lines. Raises ApiError."""
    if not isinstance(row, dict):
        raise ApiError(400, f"{where} is {shown(row)}, expected an object")
    topic, partition = row.get("topic"), row.get("partition")
    if not isinstance(topic, str) or not topic:
        raise ApiError(400, f"{where}: 'topic' is {shown(topic)}, expected a topic's name")
    if type(partition) is not int or not 0 <= partition <= INT_MAX:
        raise ApiError(
            400,
            f"{where} ({topic}): 'partition' is {shown(partition)}, expected a number from 0 to {INT_MAX}",
        )
    return topic, partition, f"{where} ({topic}-{partition})"


def check_plan(state: State, entries: Sequence[Entry]) -> None:
    """Raises ApiError naming the first entry that the controller would refuse."""
    for number, (topic, partition, replicas) in enumerate(entries):
        outcome, _ = check_row(state, topic, AlterRow(partition, replicas), True)
        if not outcome.ok:
            raise ApiError(422, f"partitions[{number}] ({topic}-{partition}): {outcome.message}")


def topics_of(entries: Sequence[Entry]) -> list[AlterTopic]:
    """The plan as the controller takes it: in order, neighbours of one topic together."""
    return [
        AlterTopic(topic, [AlterRow(entry.partition, entry.replicas) for entry in rows])
        for topic, rows in groupby(entries, key=lambda entry: entry.topic)
    ]


Assignment = Sequence[tuple[TopicPartition, Replicas]]


def originals(state: State, entries: Sequence[Entry]) -> Assignment:
    """Where each partition is now, sorted as the stock tool sorts; one that moves belongs where it began."""
    found = []
    for topic, number, _ in entries:
        key = TopicPartition(topic, number)
        wanted, partition = state.reassignments.get(key), state.partition(topic, number)
        if wanted is not None:
            found.append((key, wanted.original))
        elif partition is not None:
            found.append((key, partition.replicas))
    return sorted(found)


def plan_rows(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """The entries of a plan that leads there."""
    for (topic, partition), replicas in assignment:
        yield {
            "topic": topic,
            "partition": partition,
            "replicas": replicas,
            "log_dirs": [ANY] * len(replicas),
        }


def _replicas(row: dict[str, Any], name: str) -> Replicas:
    replicas = row.get("replicas")
    if not isinstance(replicas, list) or not replicas:
        raise ApiError(400, f"{name}: 'replicas' is {shown(replicas)}, expected a list of broker ids")
    seen: set[int] = set()
    for place, broker in enumerate(replicas):
        if type(broker) is not int or not 0 <= broker <= INT_MAX:
            raise ApiError(400, f"{name}: replicas[{place}] is {shown(broker)}, expected {BROKER_IDS}")
        if broker in seen:
            raise ApiError(400, f"{name}: broker {broker} is in 'replicas' more than once")
        seen.add(broker)
    log_dirs = row.get("log_dirs")
    if log_dirs is not None and log_dirs != [ANY] * len(replicas):
        raise ApiError(
            400,
            f"{name}: 'log_dirs' is {shown(log_dirs)}, expected \"any\" for each replica;"
            " kafka-reassign-partitions moves replicas between directories",
        )
    return tuple(replicas)
