"""Rows of an earlier active instance that arrive late.

Kafka does not know which instance has sent a row of AlterPartitionReassignments. An instance checks its lease right
before it writes a row to the socket. Yet a row can wait in a socket or in a broker while the next instance takes over.
So the partitions whose rows were not answered are suspects of the new term. Such a row need not be the newest: a cancel
can wait behind the row that it cancels.

* For HELD_MS no other row of the partition is sent than the newest late one. Afterwards the broker has executed or dropped it,
  unless it was suspended.
* Later, a move to the target of the late row is taken as its effect, not as that of another client: the own row is sent
  again, MOST_REPEATS times. Without an own row the move is cancelled, within LATEST_MS.
"""

from collections.abc import Iterable

from controller.model.cluster import Replicas, TopicPartition, UpstreamStep
from controller.model.suspect import Suspect
from controller.model.upstream_step import Stage
from controller.state.state import State

HELD_MS = 30_000
"""Longer than the timeout of the request (`backends.upstream.submitter`)."""

LATEST_MS = 600_000
"""After this time a move without a step of ours is another client's."""

MOST_REPEATS = 3

_UNANSWERED = {Stage.SUBMITTING, Stage.UNDOING}


def name_suspects(state: State, claimed_ms: int) -> None:
    """Take the steps without an answer as suspects. Called once, with the state that a new term has loaded."""
    for key, step in state.upstream_steps.items():
        if step.stage in _UNANSWERED:
            state.suspects[key] = Suspect(_rows_of(step), claimed_ms)


def row_of(step: UpstreamStep) -> Replicas | None:
    """Return the row that requests the step, or its cancel."""
    return None if step.stage is Stage.UNDOING else step.following


def _rows_of(step: UpstreamStep) -> tuple[Replicas | None, ...]:
    """Return the rows that may be on their way: rows follow each other before the first is answered."""
    earlier = (step.following,) if step.stage is Stage.UNDOING else ()
    return (row_of(step), *earlier, *([step.replaced] if step.replaced else []))


def is_held(state: State, key: TopicPartition, row: Replicas | None, now_ms: int) -> bool:
    """Whether the row must not be sent yet: the upstream is out of reach, or a late row may arrive."""
    if state.unreachable and row is not None:
        return True
    suspect = state.suspects.get(key)
    return suspect is not None and suspect.rows[0] != row and now_ms < suspect.claimed_ms + HELD_MS


def repeats_own_row(state: State, step: UpstreamStep, target: Replicas | None, replicas: Replicas) -> bool:
    """Whether what the upstream shows is the effect of a late row; if so, count it.

    `target` is that of the move in the upstream, None without one; `replicas` are what Metadata shows then.
    """
    suspect = state.suspects.get(step.key)
    if suspect is None or suspect.repeats >= MOST_REPEATS:
        return False
    late = [row for row in suspect.rows if row != row_of(step)]
    if target is None:
        # A late cancel, or a late row to the replicas that the partition had, which ends a move at once.
        return any(set(replicas) == set(step.base if row is None else row) for row in late)
    return _leads_to(target, late)


def cancels_move(state: State, key: TopicPartition, target: Replicas, now_ms: int) -> bool:
    """Whether a move of a partition without a step in flight is the effect of a late row."""
    suspect = state.suspects.get(key)
    if suspect is None or suspect.repeats >= MOST_REPEATS:
        return False
    return _leads_to(target, suspect.rows) and now_ms < suspect.claimed_ms + LATEST_MS


def _leads_to(target: Replicas, rows: Iterable[Replicas | None]) -> bool:
    return any(row is not None and sorted(target) == sorted(row) for row in rows)


def count_repeat(state: State, key: TopicPartition) -> None:
    """Count a row that was sent because of a late one."""
    suspect = state.suspects[key]
    state.suspects[key] = suspect._replace(repeats=suspect.repeats + 1)
    state.late_rows += 1
