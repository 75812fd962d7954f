"""`/v1/search`: topics, brokers and jobs by a part of their name."""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from heapq import nsmallest
from typing import Annotated, Literal

from msgspec import Meta, Struct

from common.wording import counted
from controller.state.state import State
from controller.views.jobs import job_state
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError

LONGEST = 249
"""Characters of a query; a topic has no longer name."""


class Hit(Struct):
    """Something that the query names."""

    kind: Literal["topic", "broker", "job", "partition"]
    name: Annotated[str, Meta(description="The topic, `orders-0` for a partition, or the number.")]
    match: Literal["exact", "prefix", "contains"]
    text: Annotated[str, Meta(description="What it is, in a few words.")]


class SearchResult(Struct):
    """The best hits, exact ones first, then those that begin with the query, then those that contain it."""

    hits: list[Hit]
    more: Annotated[bool, Meta(description="There are more hits than `limit`.")]


class SearchQuery(Struct, forbid_unknown_fields=True):
    """Query parameters of a search."""

    q: Annotated[
        str,
        Meta(
            max_length=LONGEST,
            description="A part of a topic's name, of a broker's id, host or rack, or of a job's number or"
            " principal, in any case; or a partition, such as orders-0.",
            extra={"expected": f"a text of 1 to {LONGEST} characters"},
        ),
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=100, description="Maximum number of hits.")] = 20


class Match(IntEnum):
    """How a name matches, the best first."""

    EXACT = 0
    PREFIX = 1
    CONTAINS = 2


class _Kind(IntEnum):
    """The order of hits that match alike."""

    BROKER = 0
    JOB = 1
    TOPIC = 2
    PARTITION = 3


_Found = tuple[Match, _Kind, str]


async def search(call: Call, query: SearchQuery) -> SearchResult:
    """Return the best hits."""
    text = query.q.strip().lower()
    if not text:
        raise HttpError(400, "parameter 'q' is empty, expected a part of the name of a topic, broker or job")
    names = list(call.state.cluster.topics)
    most = query.limit + 1
    topics = await call.compute(len(names), _topics, names, text, most)
    others = [*_brokers(call.state, text), *_jobs(call.state, text), *_partition(call.state, query.q.strip())]
    found = nsmallest(most, [*topics, *others])
    return SearchResult([_hit(call.state, each) for each in found[: query.limit]], len(found) > query.limit)


def match(text: str, name: str) -> Match | None:
    """Return how the name matches; None if it does not."""
    if text not in name:
        return None
    if name.startswith(text):
        return Match.EXACT if name == text else Match.PREFIX
    return Match.CONTAINS


def _topics(names: Iterable[str], text: str, most: int) -> list[_Found]:
    found = ((match(text, name.lower()), name) for name in names)
    return nsmallest(most, ((each, _Kind.TOPIC, name) for each, name in found if each is not None))


def _brokers(state: State, text: str) -> Iterator[_Found]:
    for number, broker in state.cluster.brokers.items():
        names = (str(number), broker.host.lower(), (broker.rack or "").lower())
        matches = [each for name in names if (each := match(text, name)) is not None]
        if matches:
            # Only the id names one broker exactly.
            best = min(matches)
            yield best if text == names[0] else max(best, Match.PREFIX), _Kind.BROKER, str(number)


def _jobs(state: State, text: str) -> Iterator[_Found]:
    for number, job in state.orders.jobs.items():
        by_number = match(text.removeprefix("job").strip(), str(number))
        by_name = match(text, job.principal.lower())
        if by_number in {Match.EXACT, Match.PREFIX}:
            yield by_number, _Kind.JOB, str(number)
        elif by_name is not None:
            yield Match.CONTAINS, _Kind.JOB, str(number)


def _partition(state: State, text: str) -> Iterator[_Found]:
    topic, _, number = text.rpartition("-")
    numeric = number.isascii() and number.isdecimal() and len(number) < 10
    if numeric and state.cluster.partition(topic, int(number)) is not None:
        yield Match.EXACT, _Kind.PARTITION, f"{topic}-{int(number)}"


def _hit(state: State, found: _Found) -> Hit:
    how, kind, name = found
    text = ""
    if kind is _Kind.TOPIC:
        text = counted(len(state.cluster.partitions.get(name, ())), "partition")
    elif kind is _Kind.BROKER:
        broker = state.cluster.brokers[int(name)]
        live = "live" if int(name) in state.cluster.live else "offline"
        text = ", ".join(filter(None, (live, broker.host, broker.rack and f"rack {broker.rack}")))
    elif kind is _Kind.JOB:
        job = state.orders.jobs[int(name)]
        text = f"{job_state(job).value}, of {job.principal}"
    return Hit(_KINDS[kind], name, _MATCHES[how], text)


_KINDS: dict[_Kind, Literal["topic", "broker", "job", "partition"]] = {
    _Kind.TOPIC: "topic",
    _Kind.BROKER: "broker",
    _Kind.JOB: "job",
    _Kind.PARTITION: "partition",
}
_MATCHES: dict[Match, Literal["exact", "prefix", "contains"]] = {
    Match.EXACT: "exact",
    Match.PREFIX: "prefix",
    Match.CONTAINS: "contains",
}

ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/search",
        "Search topics, brokers, jobs and partitions by a part of their name.",
        search,
        SearchResult,
        query=SearchQuery,
    ),
)
