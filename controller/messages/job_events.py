"""What can happen to whole jobs (KIP-236), and the rows that orders and queued plans are made of (KIP-455).

They belong to `controller.messages.events.Event`; this is a file of their own for its size.
"""

from collections.abc import Sequence
from typing import NamedTuple

from controller.model.cluster import Replicas, TopicPartition
from controller.model.errors import Outcome


class AlterRow(NamedTuple):
    """One requested partition: `replicas` is its target, None takes the reassignment back."""

    partition: int
    replicas: Replicas | None


class AlterTopic(NamedTuple):
    """Rows of one topic in request order; `rows` None cancels all that move in it (KIP-455)."""

    topic: str
    rows: Sequence[AlterRow] | None


class RollBackJob(NamedTuple):
    """Take a whole job back, finished partitions included. Reply: `RollBackReply`."""

    job: int
    principal: str = "User:ANONYMOUS"
    client_id: str | None = None


class RollBackReply(NamedTuple):
    """`job` is the roll-back's own id, 0 when there was nothing to do; `skipped` says why, by partition."""

    outcome: Outcome
    job: int = 0
    skipped: Sequence[tuple[TopicPartition, str]] = ()


class Queue(NamedTuple):
    """Run this plan behind what runs; partitions that move are rolled back first. Reply: `AlterReply`.

    Refused while an earlier queued plan has entries that have not started, unless `append`.
    """

    topics: Sequence[AlterTopic]
    append: bool = False
    principal: str = "User:ANONYMOUS"
    client_id: str | None = None
    priority: int = -1
    """Behind what runs, unless told otherwise."""
    throttle: int = 0


class Pause(NamedTuple):
    """Start nothing of this job, or of any (None); steps in flight go on. Reply: `Outcome`."""

    job: int | None
    paused: bool


class Prioritize(NamedTuple):
    """Jobs with a higher priority start first. Reply: `Outcome`."""

    job: int
    priority: int


class PlannedSteps(NamedTuple):
    """The waves, from 0, of the steps from these replicas on: those after the step in flight, if one is.

    There is at least one.
    """

    key: TopicPartition
    replicas: Replicas
    waves: Sequence[int]


class Reorder(NamedTuple):
    """Let the job's steps start in the order of their waves. Not durable: a restart forgets it.

    Partitions that have other replicas by now are passed over, and so is what another job took. An order of many
    partitions comes in parts, each small enough for one decision. Reply: how many were put in order.
    """

    job: int
    partitions: Sequence[PlannedSteps]


class Prune(NamedTuple):
    """Forget jobs that ended before a time, or beyond a number of jobs or of their partitions. The newest job is kept."""

    ended_before_ms: int
    keep: int
    partitions: int = 2**53
    """That all ended jobs may have together; the oldest jobs go first, each as a whole."""
