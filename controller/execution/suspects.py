"""Rows of an earlier active instance that arrive late.

Kafka does not know which instance has sent a row of AlterPartitionReassignments. An instance checks its lease right
before it writes a row to the socket. Yet a row can wait in a socket or in a broker while the next instance takes over.
So the partitions whose row was not answered are suspects of the new term:

* For HELD_MS no other row of the partition is sent than the late one. Afterwards the broker has executed or dropped it,
  unless it was suspended.
* Later, a move to the target of the late row is taken as its effect, not as that of another client: the own row is sent
  again, MOST_REPEATS times. Without an own row the move is cancelled, within LATEST_MS.
"""

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
            state.suspects[key] = Suspect(row_of(step), claimed_ms)


def row_of(step: UpstreamStep) -> Replicas | None:
    """Return the row that requests the step, or its cancel."""
    return None if step.stage is Stage.UNDOING else step.following


def is_held(state: State, key: TopicPartition, row: Replicas | None, now_ms: int) -> bool:
    """Whether the row must not be sent yet: the upstream is out of reach, or a late row may arrive."""
    if state.unreachable and row is not None:
        return True
    suspect = state.suspects.get(key)
    return suspect is not None and suspect.row != row and now_ms < suspect.claimed_ms + HELD_MS


def repeats_own_row(state: State, step: UpstreamStep, target: Replicas | None, replicas: Replicas) -> bool:
    """Whether what the upstream shows is the effect of a late row; if so, count it.

    `target` is that of the move in the upstream, None without one; `replicas` are what Metadata shows then.
    """
    suspect = state.suspects.get(step.key)
    if suspect is None or suspect.repeats >= MOST_REPEATS or suspect.row == row_of(step):
        return False
    if target is None:
        # A late cancel, or a late row to the replicas that the partition had, which ends a move at once.
        return set(replicas) == set(step.base if suspect.row is None else suspect.row)
    return suspect.row is not None and sorted(target) == sorted(suspect.row)


def cancels_move(state: State, key: TopicPartition, target: Replicas, now_ms: int) -> bool:
    """Whether a move of a partition without a step in flight is the effect of a late row."""
    suspect = state.suspects.get(key)
    if suspect is None or suspect.row is None or suspect.repeats >= MOST_REPEATS:
        return False
    return sorted(target) == sorted(suspect.row) and now_ms < suspect.claimed_ms + LATEST_MS


def count_repeat(state: State, key: TopicPartition) -> None:
    """Count a row that was sent because of a late one."""
    suspect = state.suspects[key]
    state.suspects[key] = suspect._replace(repeats=suspect.repeats + 1)
    state.late_rows += 1
