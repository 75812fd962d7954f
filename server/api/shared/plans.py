"""Plans between the API and the controller: their checks, and what was refused.

`controller.model.plan` reads them.
"""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache, partial
from itertools import groupby, islice

from common.error_codes import ErrorCode
from common.lists import clear_lists, drained
from common.plan_errors import Faults, PlanError
from controller.messages.job_events import AlterRow, AlterTopic, TopicOutcomes
from controller.model.cluster import Replicas, TopicPartition
from controller.model.plan import Entries, Entry, PlanRow, place
from controller.model.replicas import display_name
from controller.reassignment.orders import check_row
from controller.state.state import State
from server.api.shared.call import Call
from server.api.shared.directories import check_directories
from server.api.shared.errors import HttpError
from server.api.shared.models import Refused

NAMED = 1_000
"""Unknown topics up to which only these are looked for, not everything."""
COMPARED = 1_000
"""Names that are compared with an unknown topic, which takes a few milliseconds."""
LENGTHS = 3
"""Names whose lengths differ by more are not similar."""


async def checked(call: Call, entries: Entries, faults: Faults) -> list[Entry]:
    """Return the entries. Topics may be a moment old.

    Raises HttpError that names all that are wrong: in form, which `faults` has, or for the cluster.
    """
    status = 400 if faults else 422
    unknown = await call.compute(len(entries), _unknown_topics, call.state, entries)
    if unknown:
        await call.services.refresh(unknown if len(unknown) <= NAMED else None)
    await call.compute(len(entries), check_plan, call.state, entries, faults)
    await check_directories(call.services.sizes, entries, faults)
    refuse(faults, status)
    return list(filter(None, entries))


def _unknown_topics(state: State, entries: Entries) -> set[str]:
    known = filter(None, entries)
    return {topic for topic, number, *_ in known if state.cluster.partition(topic, number) is None}


def check_plan(state: State, entries: Entries, faults: Faults) -> None:
    """Add the entries that the controller would refuse, and put None instead of them."""
    hint = cache(partial(topic_hint, state))
    for number, entry in enumerate(entries):
        if entry is None:
            continue
        outcome, _ = check_row(state, entry.topic, AlterRow(entry.partition, entry.replicas), True)
        if not outcome.ok:
            faults.add(number, _refused, entry, number, outcome.message, hint)
            entries[number] = None


def _refused(entry: Entry, number: int, message: str | None, hint: Callable[[str], str]) -> str:
    return f"{place(entry, number)}: {message}{hint(entry.topic)}"


def topic_hint(state: State, name: str) -> str:
    """Return ` Did you mean orders?` if an unknown topic has a name similar to another one's, else ''."""
    if name in state.cluster.topics:
        return ""
    ends = {name[:1].lower(), name[-1:].lower()}
    candidates = (
        each
        for each in state.cluster.topics
        if abs(len(each) - len(name)) <= LENGTHS and not ends.isdisjoint({each[0].lower(), each[-1].lower()})
    )
    similar = get_close_matches(name, islice(candidates, COMPARED), 1)
    return f" Did you mean {display_name(similar[0])}?" if similar else ""


def refuse(faults: Faults, status: int = 422) -> None:
    """Raise HttpError if there are faults."""
    try:
        faults.check()
    except PlanError as error:
        raise HttpError(status, str(error), error.faults) from None


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
        wanted, partition = state.orders.reassignments.get(key), state.cluster.partition(topic, number)
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

    Those refused with the `harmless` error count as others. Empties the lists that it reads.
    """
    for topic, rows in drained(topics):
        for partition, (error, message) in drained(rows):
            refused = error and error is not harmless
            yield Refused(topic, partition, error.name, message or error.name) if refused else None
