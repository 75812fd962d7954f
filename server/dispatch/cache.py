"""Encoded responses that are kept: whole bodies, and the topics of the list of all ongoing reassignments."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from operator import itemgetter
from typing import NamedTuple

from common.off_loop import WorkerThread
from controller.state.state import State
from controller.views.reassignments import Lists, listed, listed_topics
from protocol.codec.wire import codec
from protocol.listing import EncodedTopic, encode_listing, encode_topic


class Encoded(NamedTuple):
    """The encoded body of a response."""

    body: bytes


class _Cached(NamedTuple):
    revision: int
    answer: Encoded


class _Build(NamedTuple):
    revision: int
    task: asyncio.Task[Encoded]


class BodyCache:
    """Caches one encoded body per key: the body of the newest requested revision."""

    def __init__(self, off_loop: WorkerThread) -> None:
        self._off_loop = off_loop
        self._cached: dict[Hashable, _Cached] = {}
        self._builds: dict[Hashable, _Build] = {}

    def get(
        self, key: Hashable, revision: int, version: int, build: Callable[[], NamedTuple], *, large: bool
    ) -> Encoded | Awaitable[Encoded]:
        """Return the cached body for `key` and `version` if it has this `revision`, else build a new one.

        `build` returns the response, or its encoded body.

        If `large`, `build` runs in the worker thread. Requests that arrive meanwhile share its result.
        """
        key = (key, version)
        cached = self._cached.get(key)
        if cached is not None and cached.revision == revision:
            return cached.answer
        if not large:
            answer = _encoded(build, version)
            self._cached[key] = _Cached(revision, answer)
            return answer
        running = self._builds.get(key)
        if running is None or running.revision != revision:
            task = asyncio.create_task(self._build(key, revision, version, build))
            running = self._builds[key] = _Build(revision, task)
        return asyncio.shield(running.task)

    async def _build(
        self, key: Hashable, revision: int, version: int, build: Callable[[], NamedTuple]
    ) -> Encoded:
        try:
            answer = await self._off_loop.run(_encoded, build, version)
            self._cached[key] = _Cached(revision, answer)
            return answer
        finally:
            running = self._builds.get(key)
            if running is not None and running.revision == revision:
                del self._builds[key]


def _encoded(build: Callable[[], NamedTuple], version: int) -> Encoded:
    response = build()
    if type(response) is Encoded:
        return response
    return Encoded(codec(type(response), version).encode(response))


Rows = list[tuple[int, Lists]]


_number = itemgetter(0)


class _Kept(NamedTuple):
    revision: int
    encoded: EncodedTopic


class KeptListing:
    """The encoded topics of the last list."""

    def __init__(self) -> None:
        self._topics: dict[str, _Kept] = {}

    def build(self, state: State) -> Encoded:
        """Return the list of all: topics in order of acceptance, each in order of partitions.

        May be called in the worker thread while the state changes.
        """
        before = self._topics
        # Revisions are read before the rows: what changes in between is encoded again for the next list.
        revisions = {topic: state.listing.by_topic.get(topic, 0) for topic in listed_topics(state)}
        same = {
            topic: kept
            for topic, kept in before.items()
            if topic in revisions and kept.revision == revisions[topic]
        }
        rows = _rows(state, revisions.keys() - same.keys())
        kept = {
            topic: same.get(topic) or _Kept(revision, encode_topic(topic, rows[topic]))
            for topic, revision in revisions.items()
            if topic in same or topic in rows
        }
        self._topics = kept
        return Encoded(encode_listing([each.encoded for each in kept.values()]))


def _rows(state: State, topics: Collection[str]) -> Mapping[str, Rows]:
    """Return the rows of these topics. If they are most of all, a single pass over all rows is faster."""
    most = (
        sum(state.orders.reassigning.get(topic, 0) for topic in topics) > len(state.orders.reassignments) / 2
    )
    found: defaultdict[str, Rows] = defaultdict(list)
    for topic, rows in listed(state, None if most else dict.fromkeys(topics)):
        if topic in topics:
            found[topic] += rows
    for rows in found.values():
        rows.sort(key=_number)
    return found
