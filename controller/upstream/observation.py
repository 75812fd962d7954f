"""What one poll of the upstream says about a step: pure functions from the poll to an `Observation`.

The list of reassignments comes from the upstream's controller and is up to date. Metadata comes from a
broker, which applies the controller's records later. So a partition that the list does not name may still be
shown as it was before the step ended, or in its middle. `OUTDATED` observations are those that such a lag can
explain.
"""

from common.error_codes import ErrorCode
from controller.messages.upstream_events import UpstreamMove, UpstreamPartition
from controller.model.cluster import Partition, Reassignment, Replicas, UpstreamStep
from controller.model.errors import Outcome
from controller.model.upstream_step import Stage
from controller.model.upstream_table import Observation

_UNDO = {Stage.UNDOING, Stage.UNDONE}
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
    step: UpstreamStep, partition: Partition, polled: UpstreamPartition, move: UpstreamMove | None
) -> Observation:
    """Return what the poll shows of a step in flight.

    `partition` is the partition as the step changes it, `move` its row in the list of reassignments.
    """
    if move is not None:
        return _observe_move(step, move)
    if step.stage is Stage.ENDED:
        return Observation.AT_NEXT
    if step.stage in _UNDO:
        return _observe_undo(step, polled)
    if polled.replicas == step.following:
        in_sync = set(partition.adding) <= set(polled.isr)
        return Observation.AT_NEXT if in_sync else Observation.AT_NEXT_LAGGING
    if step.stage is Stage.SUBMITTING and polled.replicas == step.base:
        return Observation.AT_BASE
    outdated = may_be_outdated(step, polled)
    if polled.replicas == step.replaced:
        return Observation.AT_REPLACED_OUTDATED if outdated else Observation.AT_REPLACED
    return Observation.OUTDATED if outdated else Observation.ELSEWHERE


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


def may_be_outdated(step: UpstreamStep, polled: UpstreamPartition) -> bool:
    """Whether Metadata may show the partition before the step ended.

    For a confirmed undo, the leader epoch and the ISR prove nothing: leader changes during the step may be
    unknown to us, and the cancelled replicas may have been in sync.
    """
    if step.stage is Stage.UNDONE:
        return set(polled.replicas) in (set(step.base), {*step.base, *step.following})
    return step.is_before(polled.replicas, polled.leader_epoch) or step.is_middle(polled.replicas, polled.isr)


def reverts_to_base_only(step: UpstreamStep) -> bool:
    """Whether the undo is confirmed and can have led to nothing but the list from which the step started."""
    return step.stage is Stage.UNDONE and step.ways_back == {step.base}


def _observe_move(step: UpstreamStep, move: UpstreamMove) -> Observation:
    if step.stage is Stage.ENDED:
        return Observation.MOVES_ELSEWHERE
    target = sorted(move.target)
    if target == sorted(step.following):
        return Observation.MOVES_TO_NEXT
    if step.replaced and target == sorted(step.replaced):
        return Observation.MOVES_TO_REPLACED
    return Observation.MOVES_ELSEWHERE


def _observe_undo(step: UpstreamStep, polled: UpstreamPartition) -> Observation:
    if _is_reverted(step, polled):
        return Observation.REVERTED
    if step.stage is Stage.UNDONE and polled.replicas == step.base and polled.leader_epoch > step.epoch:
        # Most likely reverted. But a change of leader that no poll has shown gives the list from before the step a later epoch.
        return Observation.AT_BASE
    return Observation.OUTDATED if may_be_outdated(step, polled) else Observation.ELSEWHERE


def _is_reverted(step: UpstreamStep, polled: UpstreamPartition) -> bool:
    """Whether the replicas prove that the step is not in flight any more."""
    if step.stage is Stage.UNDOING:
        # The base list proves nothing here. The step may have completed before the cancel arrived. Lagging
        # Metadata shows the base list with a later leader epoch after any change of leader.
        return polled.replicas != step.base and not may_be_outdated(step, polled)
    if reverts_to_base_only(step):
        return True  # Metadata need not show it
    drops_replicas = bool(set(step.following) - set(step.base))
    # Kafka starts a leader epoch when it drops replicas. A cancel that drops none can only change the order.
    is_later = polled.leader_epoch > step.epoch or not drops_replicas
    return is_later and polled.replicas != step.base and polled.replicas in step.ways_back


def _observe_target(expected: Replicas, partition: Partition) -> Observation:
    """Return how reliable the target is: another client may have moved the partition, or Metadata lags."""
    added = set(partition.replicas) - set(expected)
    if partition.replicas == expected or (added and added <= set(partition.isr)):
        return Observation.AT_TARGET
    return Observation.AT_TARGET_LAGGING if added else Observation.AT_TARGET_REDUCED
