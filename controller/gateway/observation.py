"""What one poll of the upstream says about a step: pure functions from the poll to an `Observation`.

The list of reassignments and the answers to rows come from the upstream's controller and are up to date.
Metadata comes from a broker, which applies the controller's records later. So a look at it may be `outdated`:
it shows a list that the partition has had lately (`controller.state.gateway`).
"""

from common.error_codes import ErrorCode
from controller.gateway.events import UpstreamMove, UpstreamPartition
from controller.gateway.table import Observation
from controller.model.cluster import Partition, Reassignment, Replicas, UpstreamStep
from controller.model.errors import Outcome
from controller.model.replicas import never_ends
from controller.model.upstream_step import Stage

_UNDECIDED = {
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.REASSIGNMENT_IN_PROGRESS,
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
}
"""Errors after which the row may have been carried out, or may be when it is sent again: the next poll
decides."""


def observe(
    step: UpstreamStep,
    partition: Partition,
    polled: UpstreamPartition,
    move: UpstreamMove | None,
    outdated: bool,
) -> Observation:
    """Return what the poll shows of a step in flight.

    `partition` is the partition as the step changes it, `move` its row in the list of reassignments.
    `outdated`: a broker that lags may show these replicas.
    """
    if move is not None:
        return _observe_move(step, move)
    if step.stage is Stage.ENDED or (step.stage is Stage.ACTIVE and step.moves_nothing):
        return Observation.AT_NEXT
    if polled.replicas == step.following and not set(partition.adding) <= set(polled.isr):
        # While a step only adds replicas, its next list is also its middle.
        return Observation.AT_NEXT_LAGGING
    if step.stage is Stage.UNDOING:
        return _observe_undo(step, polled, outdated)
    if polled.replicas == step.following and step.stage is Stage.ACTIVE:
        return Observation.AT_NEXT
    if step.stage is Stage.SUBMITTING and (polled.replicas == step.following or _at_base(step, polled)):
        # The next list may be from before the base list. The answer to the row is a proof.
        return Observation.OUTDATED
    if outdated:
        return _observe_outdated(step, polled)
    return Observation.AT_CANCELLED if polled.replicas == step.replaced else Observation.ELSEWHERE


def observe_settled(
    reassignment: Reassignment | None, expected: Replicas, partition: Partition, move: UpstreamMove | None
) -> Observation:
    """Return what the poll shows of a partition without a step in flight.

    `partition` is the partition as polled, `expected` the replicas that the last step led to. Without a
    reassignment, a queued plan waits until other clients do not move the partition any more.
    """
    if move is not None:
        return Observation.MOVED_EXTERNALLY
    if reassignment is None:
        return Observation.NOT_MOVED
    if partition.replicas == reassignment.target:
        return _observe_target(expected, partition)
    if partition.replicas == expected:
        return Observation.AT_EXPECTED
    return Observation.CHANGED_EXTERNALLY


def answer_to(step: UpstreamStep, replicas: Replicas | None, outcome: Outcome) -> Observation | None:
    """Return what the answer to a row with these replicas means; None if a newer row superseded that row."""
    if step.stage is Stage.SUBMITTING:
        is_current = replicas == step.following
    else:
        is_current = step.stage is Stage.UNDOING and replicas is None
    if not is_current:
        return None
    if outcome.ok:
        return Observation.ACCEPTED
    return Observation.UNDECIDED if outcome.error in _UNDECIDED else Observation.REFUSED


def _observe_move(step: UpstreamStep, move: UpstreamMove) -> Observation:
    if step.stage is Stage.ENDED:
        return Observation.MOVES_ELSEWHERE
    target = sorted(move.target)
    if target == sorted(step.following):
        stuck = step.stage is not Stage.UNDOING and never_ends(move.adding, move.removing)
        return Observation.NEVER_ENDS if stuck else Observation.MOVES_TO_NEXT
    if step.replaced and target == sorted(step.replaced):
        return Observation.MOVES_TO_CANCELLED
    return Observation.MOVES_ELSEWHERE


def _at_base(step: UpstreamStep, polled: UpstreamPartition) -> bool:
    """Whether the replicas are those from which the step starts.

    A cancel before it may have left any order.
    """
    return set(polled.replicas) == set(step.base) if step.restores else polled.replicas == step.base


def _observe_undo(step: UpstreamStep, polled: UpstreamPartition, outdated: bool) -> Observation:
    if outdated:
        return _observe_outdated(step, polled)
    return Observation.ELSEWHERE if polled.replicas == step.base else Observation.REVERTED


def _observe_outdated(step: UpstreamStep, polled: UpstreamPartition) -> Observation:
    """The base list at a later leader epoch: most likely someone has cancelled a step, which drops replicas.

    A change of leader that no poll has shown gives it a later epoch, too. So this must last.
    """
    is_later = polled.leader_epoch > step.epoch and set(polled.replicas) == set(step.base)
    undecided = step.stage is not Stage.SUBMITTING
    return Observation.ELSEWHERE if is_later and undecided else Observation.OUTDATED


def _observe_target(expected: Replicas, partition: Partition) -> Observation:
    """Return how reliable the target is: another client may have moved the partition, or Metadata lags."""
    added = set(partition.replicas) - set(expected)
    if partition.replicas == expected or (added and added <= set(partition.isr)):
        return Observation.AT_TARGET
    return Observation.AT_TARGET_LAGGING if added else Observation.AT_TARGET_REDUCED
