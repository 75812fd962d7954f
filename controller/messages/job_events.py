"""Events about jobs (KIP-236), and the rows and the reply of orders and queued plans (KIP-455)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from controller.messages.event import UNKNOWN_REQUESTER, Event, Requester
from controller.model.cluster import Replicas, TopicPartition
from controller.model.errors import Outcome
from controller.model.jobs import PlannedStep
from controller.model.limits import NO_LIMITS, PlanLimits


class AlterRow(NamedTuple):
    """One requested partition: `replicas` is its target, None cancels its reassignment."""

    partition: int
    replicas: Replicas | None


class AlterTopic(NamedTuple):
    """The rows of one topic in request order. None cancels every reassignment of the topic (KIP-455)."""

    topic: str
    rows: Sequence[AlterRow] | None


class TopicOutcomes(NamedTuple):
    """The outcomes of one topic's rows in request order: (partition index, outcome)."""

    topic: str
    rows: Sequence[tuple[int, Outcome]]


class AlterReply(NamedTuple):
    """The reply to an order or a queued plan.

    If `outcome`, that of the request as a whole, is an error, every row repeats it. `job` is the id of the
    job that the request created; 0 if it ordered nothing.
    """

    outcome: Outcome
    topics: Sequence[TopicOutcomes]
    job: int = 0


class RollBackReply(NamedTuple):
    """`job` is the id of the rollback, 0 if nothing moves back; `skipped` has partitions and reasons."""

    outcome: Outcome
    job: int = 0
    skipped: Sequence[tuple[TopicPartition, str]] = ()
    cancelled: int = 0
    """Moves between log directories of the job that had not arrived."""


@dataclass(frozen=True, slots=True)
class RollBackJob(Event[RollBackReply]):
    """Take a whole job back, finished partitions included."""

    job: int
    requester: Requester = UNKNOWN_REQUESTER


@dataclass(frozen=True, slots=True)
class Queue(Event[AlterReply]):
    """Run the plan behind what runs; partitions that move are rolled back first.

    Refused while entries of an earlier queued plan have not started, unless `append`.
    """

    topics: Sequence[AlterTopic]
    append: bool = False
    requester: Requester = UNKNOWN_REQUESTER
    priority: int = -1
    """By default below that of orders."""
    throttle: int = 0
    limits: PlanLimits = NO_LIMITS
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Pause(Event[Outcome]):
    """Pause or resume a job, or everything (None). Steps in flight continue."""

    job: int | None
    paused: bool
    requester: Requester = UNKNOWN_REQUESTER


@dataclass(frozen=True, slots=True)
class Prioritize(Event[Outcome]):
    """Set the job's priority. Jobs with a higher priority start first."""

    job: int
    priority: int
    requester: Requester = UNKNOWN_REQUESTER


@dataclass(frozen=True, slots=True)
class ThrottleJob(Event[Outcome]):
    """Set the job's own throttle in bytes per second; 0 for none."""

    job: int
    throttle: int
    requester: Requester = UNKNOWN_REQUESTER


@dataclass(frozen=True, slots=True)
class LimitJob(Event[Outcome]):
    """Change some of the job's own limits (KIP-435). Those of the cluster apply too."""

    job: int
    changes: Mapping[str, int | None]
    """By field of `PlanLimits`; None removes the limit."""
    requester: Requester = UNKNOWN_REQUESTER


class PlannedSteps(NamedTuple):
    """The steps of a partition that begin at `replicas`, without the step in flight.

    There is at least one.
    """

    key: TopicPartition
    replicas: Replicas
    steps: Sequence[PlannedStep]


@dataclass(frozen=True, slots=True)
class Reorder(Event[int]):
    """Start the job's steps in the order of the waves of these steps.

    The reply is the number of partitions that were reordered.

    Partitions whose replicas differ from the plan, or that another job took over, are skipped. The caller
    splits a large order into parts that fit one decision each. The order is not durable: it is lost at a
    restart.
    """

    job: int
    partitions: Sequence[PlannedSteps]


@dataclass(frozen=True, slots=True)
class Prune(Event[None]):
    """Delete jobs that ended before a time, or that exceed a number of jobs or partitions.

    The newest job is kept.
    """

    ended_before_ms: int
    keep: int
    partitions: int = 2**53
    """Finished partitions to keep; beyond it the oldest jobs are deleted, each as a whole."""
