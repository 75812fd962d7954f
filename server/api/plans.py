"""Plans between the API and the controller; how they are read is in `controller.model.plan`."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Replicas, TopicPartition
from controller.model.plan import ANY, Entry
from controller.reassignment.alter import check_row
from controller.state.state import State
from server.api.errors import HttpError


def check_plan(state: State, entries: Sequence[Entry]) -> None:
    """Raises ApiError naming the first entry that the controller would refuse."""
    for number, (topic, partition, replicas) in enumerate(entries):
        outcome, _ = check_row(state, topic, AlterRow(partition, replicas), True)
        if not outcome.ok:
            raise HttpError(422, f"partitions[{number}] ({topic}-{partition}): {outcome.message}")


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
