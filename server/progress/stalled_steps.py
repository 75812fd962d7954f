"""Finds steps in flight that make no progress, and the reason as far as sizes and live brokers show it."""

from typing import NamedTuple

from common.rates import in_rate
from controller.execution.throttle import rate_of_others, throttle_rate
from controller.model.cluster import Partition, Replicas, TopicPartition, row_maker
from controller.reassignment.planning import step_waits
from controller.state.state import State
from server.progress.rates import Sizes

STALLED_SECONDS = 60.0
"""Time without progress after which a step is reported."""

PROGRESS_FRACTION = 0.99
"""A step progresses when its missing bytes fall below this fraction of the last mark.

It is below 1 because leaders and followers are not measured at the same moment.
"""

SLOW_PROGRESS_FRACTION = 0.1
"""After `STALLED_SECONDS`, a step also progresses if its missing bytes fell by this fraction of the
received bytes."""


class _Mark(NamedTuple):
    """The measurement at which a step last made progress. Bytes are of all adding replicas together."""

    since: float
    """Time of that measurement, in seconds."""
    adding: Replicas
    missing: float
    received: float
    measured: float
    """Time of the last measurement."""
    received_since: float = 0
    """Bytes received from `since` to `measured`."""


_new_mark = row_maker(_Mark)


class StalledSteps:
    """Checks all steps in rounds: `begin_round`, `check` for each step, `end_round`.

    Durations run from one measurement to the next, so a step that is not measured for a while does not count
    as stalled.
    """

    def __init__(self, state: State, sizes: Sizes) -> None:
        self._state, self._sizes = state, sizes
        self._marks: dict[TopicPartition, _Mark] = {}
        self._new_marks: dict[TopicPartition, _Mark] = {}
        self.reasons: dict[TopicPartition, str] = {}
        """The stalled steps of the last round."""
        self._new_reasons: dict[TopicPartition, str] = {}

    def begin_round(self) -> None:
        """Begin a round of checks."""
        self._new_marks, self._new_reasons = {}, {}

    def check(self, partition: Partition) -> None:
        """Check a partition with a step in flight.

        What brokers and the ISR show is reported without delay.
        """
        key, adding = partition.key, partition.adding
        waits = step_waits(self._state, partition)
        if waits:
            self._new_reasons[key] = waits
            return
        mark = self._measure(key, adding) if adding else None
        if mark is not None:
            self._new_marks[key] = mark
            if mark.measured - mark.since >= STALLED_SECONDS:
                self._new_reasons[key] = self._reason(mark, partition)

    def end_round(self) -> None:
        """Publish the round's results. Steps that were not checked in it are forgotten."""
        self._marks, self.reasons = self._new_marks, self._new_reasons

    def _measure(self, key: TopicPartition, adding: Replicas) -> _Mark | None:
        """Return the step's mark after this measurement; None when its sizes are not known."""
        size, measured = self._sizes.size(key), self._sizes.received(key)
        if size is None or measured is None:
            return None
        received, now = measured
        missing, mark = max(0.0, len(adding) * size - received), self._marks.get(key)
        if mark is None or mark.adding != adding or _has_progressed(mark, missing, received, now):
            mark = _Mark(now, adding, missing, received, now)
        since, _, left, had, _, _ = mark
        return _new_mark((since, adding, left, had, now, received - had))

    def _reason(self, mark: _Mark, partition: Partition) -> str:
        if not mark.missing:
            late = [str(broker) for broker in mark.adding if broker not in partition.isr]
            if not late:
                return "all replicas are in sync, but the step has not ended"
            return f"all data is copied, but not in the ISR: broker{'s' * (len(late) > 1)} {', '.join(late)}"
        throttle = self._throttle((partition.leader, *mark.adding))
        if mark.received_since <= 0:
            return f"the adding replicas receive no data{throttle}"
        return f"data is produced as fast as it is copied{throttle}"

    def _throttle(self, brokers: Replicas) -> str:
        """Return the lowest throttle at these brokers, and whether others have set it; empty without one."""
        own = throttle_rate(self._state)
        found = [] if own is None else [(own, "")]
        for broker in brokers:
            rate = rate_of_others(self._state, broker)
            if rate is not None:
                found.append((rate, f" at broker {broker}, which others have set"))
        if not found:
            return ""
        rate, where = min(found)
        return f", with a throttle of {in_rate(rate)}{where}"


def _has_progressed(mark: _Mark, missing: float, received: float, now: float) -> bool:
    if missing < mark.missing * PROGRESS_FRACTION:
        return True
    # One hundredth of a large partition may take many minutes.
    overdue = now - mark.since >= STALLED_SECONDS
    return overdue and 0 < SLOW_PROGRESS_FRACTION * (received - mark.received) < mark.missing - missing
