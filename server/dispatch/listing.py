"""The list of all ongoing reassignments from kept encodings: only topics that have changed are encoded again."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from operator import itemgetter
from typing import NamedTuple

from controller.state.state import State
from controller.views.reassignments import Lists, listed, listed_topics
from protocol.listing import EncodedTopic, encode_listing, encode_topic
from server.dispatch.cache import Encoded

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
        revisions = {topic: state.listed_at.get(topic, 0) for topic in listed_topics(state)}
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
    most = sum(state.reassigning.get(topic, 0) for topic in topics) > len(state.reassignments) / 2
    found: defaultdict[str, Rows] = defaultdict(list)
    for topic, rows in listed(state, None if most else dict.fromkeys(topics)):
        if topic in topics:
            found[topic] += rows
    for rows in found.values():
        rows.sort(key=_number)
    return found
