"""Plans between the API and the controller: their checks, and what was refused.

`controller.model.plan` reads them.

kafka-reassign-partitions prints the directories of replicas, since Kafka 4.2, for a rollback. reassignd moves
replicas between brokers only: a broker chooses the directory of a new replica. So a named directory is
accepted where the replica is in it, or cannot be anywhere else.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, partial
from itertools import groupby, islice
from typing import NamedTuple

from common.error_codes import ErrorCode
from common.json.text import abbreviated
from common.lists import clear_lists, drained
from common.plan_errors import Faults, PlanError
from controller.messages.job_events import AlterRow, AlterTopic, TopicOutcomes
from controller.model.cluster import Replicas, TopicPartition
from controller.model.plan import ANY, Entry, PlanRow, place
from controller.model.replicas import display_name
from controller.reassignment.orders import check_row
from controller.state.state import State
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from server.api.shared.call import Call
from server.api.shared.errors import HttpError
from server.api.shared.models import Refused
from server.progress.rates import Sizes

NAMED = 1_000
"""Unknown topics up to which only these are looked for, not everything."""


async def checked(call: Call, entries: Sequence[Entry]) -> None:
    """Raise HttpError that names the entries that the controller would refuse. Topics may be a moment old."""
    unknown = await call.compute(len(entries), _unknown_topics, call.state, entries)
    if unknown:
        await call.services.look(unknown if len(unknown) <= NAMED else None)
    await call.compute(len(entries), check_plan, call.state, entries)


def _unknown_topics(state: State, entries: Sequence[Entry]) -> set[str]:
    return {topic for topic, number, *_ in entries if state.partition(topic, number) is None}


def check_plan(state: State, entries: Sequence[Entry]) -> None:
    """Raise HttpError that names the entries that the controller would refuse."""
    faults, hint = Faults(), cache(partial(topic_hint, state))
    for number, entry in enumerate(entries):
        topic, partition, replicas, _ = entry
        outcome, _ = check_row(state, topic, AlterRow(partition, replicas), True)
        if not outcome.ok:
            faults.add(_refused, entry, number, outcome.message, hint)
    refuse(faults)


def _refused(entry: Entry, number: int, message: str | None, hint: Callable[[str], str]) -> str:
    return f"{place(entry, number)}: {message}{hint(entry.topic)}"


def refuse(faults: Faults) -> None:
    """Raise HttpError if there are faults."""
    try:
        faults.check()
    except PlanError as error:
        raise HttpError(422, str(error), error.faults) from None


def topics_of(entries: Sequence[Entry]) -> list[AlterTopic]:
    """Return the plan as the controller takes it: in order, with adjacent entries of a topic in one group."""
    return [
        AlterTopic(topic, [AlterRow(entry.partition, entry.replicas) for entry in rows])
        for topic, rows in groupby(entries, key=lambda entry: entry.topic)
    ]


def clear_topics(topics: list[AlterTopic]) -> None:
    """Empty the rows of a request that has been answered, see `common.lists`."""
    for topic in drained(topics):
        clear_lists(topic.rows)


Assignment = Sequence[tuple[TopicPartition, Replicas]]


def originals(state: State, entries: Sequence[Entry]) -> Assignment:
    """Return the present replicas of each partition, or the original ones if it is being reassigned.

    They are sorted like the output of kafka-reassign-partitions.
    """
    assignment = []
    for topic, number, *_ in entries:
        key = TopicPartition(topic, number)
        wanted, partition = state.reassignments.get(key), state.partition(topic, number)
        if wanted is not None:
            assignment.append((key, wanted.original))
        elif partition is not None:
            assignment.append((key, partition.replicas))
    return sorted(assignment)


def plan_rows(assignment: Assignment) -> Iterator[PlanRow]:
    """Return the entries of a plan with these target replicas."""
    for (topic, partition), replicas in assignment:
        yield PlanRow(topic, partition, replicas, ["any"] * len(replicas))


def count_accepted(topics: Sequence[TopicOutcomes]) -> int:
    """Return the number of partitions that the controller accepted."""
    return sum(outcome.ok for _, rows in topics for _, outcome in rows)


def refused_rows(
    topics: Sequence[TopicOutcomes], harmless: ErrorCode = ErrorCode.NONE
) -> Iterator[Refused | None]:
    """Yield the partitions that the controller refused, and None for the others.

    Empties the lists that it reads.

    Those refused with the `harmless` error count as others.
    """
    for topic, rows in drained(topics):
        for partition, (error, message) in drained(rows):
            refused = error and error is not harmless
            yield Refused(topic, partition, error.name, message or error.name) if refused else None


MOST = 1_000
"""Names that are compared, which takes a few milliseconds."""
LENGTHS = 3
"""Names whose lengths differ by more are not similar."""


def topic_hint(state: State, name: str) -> str:
    """Return ` Did you mean orders?` if an unknown topic has a name similar to another one's, else ''."""
    if name in state.topics:
        return ""
    ends = {name[:1].lower(), name[-1:].lower()}
    candidates = (
        each
        for each in state.topics
        if abs(len(each) - len(name)) <= LENGTHS and not ends.isdisjoint({each[0].lower(), each[-1].lower()})
    )
    similar = get_close_matches(name, islice(candidates, MOST), 1)
    return f" Did you mean {display_name(similar[0])}?" if similar else ""


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


async def check_directories(sizes: Sizes, entries: Sequence[Entry]) -> None:
    """Raise HttpError that names the entries with a directory in which the replica would not be."""
    named = list(_named(entries))
    if not named:
        return
    requests = _requests(named)
    answers = await asyncio.gather(*(sizes.describe(broker, request) for broker, request in requests.items()))
    known = {
        broker: None if answer is None else _read(answer)
        for broker, answer in zip(requests, answers, strict=True)
    }
    faults = Faults()
    for each in named:
        if fault := _fault(each, known[each.broker]):
            where = f"{place(each.entry, each.number)}: log_dirs[{each.replica}]"
            faults.add("{} is {}, {}".format, where, abbreviated(each.path), fault)
    refuse(faults)


def _named(entries: Sequence[Entry]) -> Iterator[Named]:
    for number, entry in enumerate(entries):
        for replica, path in enumerate(entry.log_dirs):
            if path != ANY:
                yield Named(number, entry, replica)


def _requests(named: Iterable[Named]) -> dict[int, DescribeLogDirsRequest]:
    asked: dict[int, dict[str, list[int]]] = {}
    for each in named:
        asked.setdefault(each.broker, {}).setdefault(each.entry.topic, []).append(each.entry.partition)
    return {
        broker: DescribeLogDirsRequest([DescribableLogDirTopic(t, tuple(n)) for t, n in topics.items()])
        for broker, topics in asked.items()
    }


class Directories(NamedTuple):
    """The directories of a broker, and in which one each replica is."""

    paths: Sequence[str]
    """Those that may get replicas: that neither failed nor are cordoned (KIP-1066)."""
    places: Mapping[TopicPartition, str]


def _read(answer: DescribeLogDirsResponse) -> Directories | None:
    rows = [row for row in answer.results if row.log_dir]
    if answer.error_code != ErrorCode.NONE or not rows:
        return None
    places = {
        TopicPartition(topic.name, part.partition_index): row.log_dir
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
        return f'and broker {broker} does not tell its directories: expected "any"'
    there = known.places.get(TopicPartition(entry.topic, entry.partition))
    if there is None and [*known.paths] != [named.path]:
        own = ", ".join(map(abbreviated, known.paths))
        return f'but broker {broker} chooses the directory of a new replica, one of {own}: expected "any"'
    if there not in (None, named.path):
        return (
            f"but the replica on broker {broker} is in {abbreviated(there)}:"
            ' expected "any"; kafka-reassign-partitions moves replicas between directories'
        )
    return ""
