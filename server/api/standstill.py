"""Steps in flight that come no nearer to their end, and why, as far as the replicas' bytes and the brokers tell."""

from typing import NamedTuple

from controller.model.cluster import Partition, Replicas, TopicPartition
from controller.reassignment.throttle import throttle_rate
from controller.state.state import State
from server.ports import Sizes

STILL_SECONDS = 60.0
"""Without coming nearer, before it is told."""

NEARER = 0.99
"""Of what was missing: less than so much of it is progress. Leaders and followers are not measured at the same moment."""


GAIN = 0.1
"""Of what arrived in that time: a step that came nearer by more than that gets there, however far it is."""


class _Mark(NamedTuple):
    """When a step was last nearer than ever, and how it stood then: bytes, of all adding replicas together."""

    since: float
    adding: Replicas
    missing: float
    arrived: float
    seen: float
    """When it was last measured, and the bytes that had arrived since the mark."""
    arrived_since: float = 0


class Standstill:
    """Looks at all steps in rounds: `begin`, `look` at each, `end`.

    Time counts from one measurement to another: that nothing was measured for a while says nothing of progress.
    """

    def __init__(self, state: State, sizes: Sizes) -> None:
        self._state, self._sizes = state, sizes
        self._marks: dict[TopicPartition, _Mark] = {}
        self._next: dict[TopicPartition, _Mark] = {}
        self.reasons: dict[TopicPartition, str] = {}
        """Of the last round, for those that come no nearer."""
        self._found: dict[TopicPartition, str] = {}

    def begin(self) -> None:
        """A round begins."""
        self._next, self._found = {}, {}

    def look(self, partition: Partition) -> None:
        """A step in flight that adds replicas."""
        key, adding = partition.key, partition.adding
        down = [str(broker) for broker in adding if broker not in self._state.live]
        if down:
            many = len(down) > 1
            self._found[key] = f"target broker{'s' * many} {', '.join(down)} {'are' if many else 'is'} down"
            return
        mark = self._marked(key, adding)
        if mark is not None:
            self._next[key] = mark
            if mark.seen - mark.since >= STILL_SECONDS:
                self._found[key] = self._why(mark)

    def end(self) -> None:
        """The round is over: what was looked at in it counts."""
        self._marks, self.reasons = self._next, self._found

    def _marked(self, key: TopicPartition, adding: Replicas) -> _Mark | None:
        """How it stands; None where its bytes are not known."""
        size, received = self._sizes.size(key), self._sizes.received(key)
        if size is None or received is None:
            return None
        have, at = received
        missing, mark = max(0.0, len(adding) * size - have), self._marks.get(key)
        if mark is None or mark.adding != adding or _is_nearer(mark, missing, have, at):
            mark = _Mark(at, adding, missing, have, at)
        return mark._replace(seen=at, arrived_since=have - mark.arrived)

    def _why(self, mark: _Mark) -> str:
        if not mark.missing:
            return "its data has arrived, and it does not get in sync"
        if mark.arrived_since <= 0:
            return "nothing arrives"
        rate = throttle_rate(self._state)
        slow = "" if rate is None else f", with a throttle of {rate:,} bytes/s"
        return f"as much is produced as arrives{slow}"


def _is_nearer(mark: _Mark, missing: float, have: float, at: float) -> bool:
    if missing < mark.missing * NEARER:
        return True
    # A hundredth of a large partition may take many minutes.
    slowly = at - mark.since >= STILL_SECONDS
    return slowly and 0 < GAIN * (have - mark.arrived) < mark.missing - missing
