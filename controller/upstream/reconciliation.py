"""What became of a step that an upstream Kafka carries out: what was asked for, compared with what is seen.

Nothing is asked for twice blindly: a row is sent again only when a look that began after its request had ended, one way or
the other, shows the partition where it was. The list of moves comes from the upstream's controller, Metadata from a broker, which
publishes what the controller has committed a little later; seconds later, when it has many replicas to make or to drop. So what
does not fit is believed only when it is seen for a while, and for long where Metadata may be of before the step.
"""

from common.error_codes import ErrorCode
from controller.execution.delegated_steps import expected_replicas, send, undo
from controller.messages.upstream_events import Submitted, UpstreamMove, UpstreamPartition
from controller.model.cluster import Partition, Reassignment, Replicas, UpstreamStep
from controller.model.errors import Outcome
from controller.model.names import TopicPartition
from controller.model.upstream_step import Stage
from controller.reassignment.next_step import charge_external, release
from controller.reassignment.phases import Trigger, fire
from controller.reassignment.reassignments import after_step, start_queued
from controller.state.decision import Decision
from controller.state.upstream import Discrepancy, Sighting

SURE, SURE_MS = 10, 2_000
"""Looks in a row that must show the same, and for how long, before it is believed."""
BLAME_MS = 10_000
"""For how long, before someone else is held to have done it: people have to sort that out."""
LAG, LAG_MS = 20, 60_000
"""How often and how long Metadata may still show what was before a step that is over, or its middle."""

_GOING_BACK = {Stage.UNDOING, Stage.UNDONE}
_TRY_AGAIN = {
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.REASSIGNMENT_IN_PROGRESS,
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
}
"""Answers after which the next look decides."""


def submitted(d: Decision, event: Submitted) -> None:
    """The upstream has answered, or will not; an answer to anything but the present row is stale."""
    for key, replicas, outcome in event.rows:
        _heard(d, key)
        submission = d.state.upstream_steps.get(key)
        if submission is None:
            continue
        if submission.stage is Stage.SUBMITTING and replicas == submission.following:
            if outcome.ok:
                _taken(d, submission)
            elif outcome.error not in _TRY_AGAIN:
                _refused(d, submission, f"the upstream refused it: {outcome.message or outcome.error.name}")
        elif submission.stage is Stage.UNDOING and replicas is None:
            _undone(d, submission, outcome)


def _undone(d: Decision, submission: UpstreamStep, outcome: Outcome) -> None:
    """The answer to the row that takes a step back."""
    if outcome.ok and submission.ways_back:
        d.put(submission._replace(stage=Stage.UNDONE))
    elif not outcome.ok and outcome.error not in _TRY_AGAIN:
        # It goes on, then, one way or the other; what comes after it leads back.
        d.put(submission._replace(stage=Stage.SUBMITTING if submission.replaced else Stage.ACTIVE))


def follow(
    d: Decision,
    partition: Partition,
    submission: UpstreamStep,
    seen: UpstreamPartition,
    move: UpstreamMove | None,
) -> None:
    """Compare a step in flight, of which no row is on its way, with what is seen. `partition` is as it was asked for."""
    if submission.stage is Stage.ENDED:
        fire(d, partition, Trigger.PROGRESS)
    elif move is not None:
        _goes_on(d, partition, submission, move)
    elif seen.replicas == submission.following and submission.stage not in _GOING_BACK:
        # Of a step that only adds, brokers that lag show this when someone else has just cancelled it, too.
        if set(partition.adding) <= set(seen.isr) or _outlasts_lag(d, partition, Discrepancy.NOT_IN_SYNC):
            _over(d, partition, submission, seen.replicas)
    elif submission.stage is Stage.SUBMITTING and seen.replicas == submission.base:
        _send_again(d, partition, Discrepancy.NOT_TAKEN, submission.following)
    elif _is_back(submission, seen):
        _over(d, partition, submission, submission.base if _is_back_unseen(submission) else seen.replicas)
    elif _may_be_old(submission, seen):
        if _outlasts_lag(d, partition):
            _elsewhere(d, partition, submission, seen)
    elif _sure(d, partition, Discrepancy.ELSEWHERE, BLAME_MS):
        _elsewhere(d, partition, submission, seen)


def check_place(d: Decision, partition: Partition, wanted: Reassignment, move: UpstreamMove | None) -> None:
    """Where no step of ours is in flight: the partition should be where it was left."""
    key = partition.key
    if wanted.blocked:
        return
    expected = expected_replicas(d.state, key)
    if move is None and partition.replicas == wanted.target:
        if partition.replicas == expected or _is_believable(d, partition, expected):
            d.state.waiting.pop(key, None)
            after_step(d, partition)
    elif move is not None or partition.replicas == expected:
        if d.state.doubts.pop(key, None):
            fire(d, partition, Trigger.PROGRESS)
    elif _sure(d, partition, Discrepancy.ELSEWHERE, BLAME_MS):
        _block(d, partition, f"someone else changed its replicas to {list(partition.replicas)}")


def follow_others(d: Decision, partition: Partition, move: UpstreamMove | None) -> None:
    """Where nothing is wanted but what is queued: it starts when nobody has moved the partition for a while."""
    if move is not None:
        d.state.doubts.pop(partition.key, None)
    elif _sure(d, partition, Discrepancy.AT_REST, BLAME_MS):
        d.state.doubts.pop(partition.key, None)
        start_queued(d, partition.key)


def _elsewhere(d: Decision, partition: Partition, submission: UpstreamStep, seen: UpstreamPartition) -> None:
    """Nothing moves, and the partition is not where the step leads."""
    if submission.stage in _GOING_BACK or seen.replicas == submission.replaced:
        _over(d, partition, submission, seen.replicas)
    elif set(seen.replicas) == set(submission.base):
        _lost(d, partition, seen, None, "cancelled by someone else")
    else:
        why = f"someone else changed its replicas to {list(seen.replicas)}"
        _lost(d, partition, seen, None, why)


def _goes_on(d: Decision, partition: Partition, submission: UpstreamStep, move: UpstreamMove) -> None:
    """The upstream moves the partition: where we want it, or elsewhere."""
    target = sorted(move.target)
    ours = target in (sorted(submission.following), sorted(submission.replaced))
    if submission.stage in _GOING_BACK and ours:
        if submission.stage is Stage.UNDONE:
            d.put(submission._replace(stage=Stage.UNDOING))
        _send_again(d, partition, Discrepancy.NOT_UNDONE, None)
    elif submission.stage not in _GOING_BACK and target == sorted(submission.following):
        d.state.doubts.pop(partition.key, None)
        if submission.stage is Stage.SUBMITTING:
            _taken(d, submission)
    elif ours:
        _send_again(d, partition, Discrepancy.NOT_TURNED, submission.following)
    elif _sure(d, partition, Discrepancy.TURNED):
        seen = UpstreamPartition(move.replicas, partition.isr, partition.leader, partition.leader_epoch)
        _lost(d, partition, seen, move, f"someone else moves it to {list(move.target)}")


def _send_again(d: Decision, partition: Partition, doubt: Discrepancy, replicas: Replicas | None) -> None:
    """Each time after twice as long: what the upstream refuses for now is not helped by haste."""
    if d.state.again(partition.key, doubt, d.now_ms):
        send(d, partition.key, replicas)


def _heard(d: Decision, key: TopicPartition) -> None:
    unanswered = d.state.unanswered
    left = unanswered.pop(key, 0) - 1
    if left > 0:
        unanswered[key] = left


def _taken(d: Decision, submission: UpstreamStep) -> None:
    d.put(submission._replace(stage=Stage.ACTIVE))


def _over(d: Decision, partition: Partition, submission: UpstreamStep, replicas: Replicas) -> None:
    """The step has ended here, whether that is where it was to lead or where it was undone to."""
    key = partition.key
    d.state.doubts.pop(key, None)
    undone = submission.following if submission.stage is Stage.UNDONE else ()
    d.put(submission._replace(following=replicas, stage=Stage.ENDED, replaced=undone))
    if key in d.state.reassignments:
        fire(d, partition, Trigger.PROGRESS)
    else:
        d.put(partition._replace(replicas=replicas, adding=(), removing=()))
        d.delete(UpstreamStep, key)


def _lost(
    d: Decision, partition: Partition, seen: UpstreamPartition, move: UpstreamMove | None, why: str
) -> None:
    """The step is not ours any more: its place is free, and people are asked what to do."""
    key = partition.key
    adding, removing = (move.adding, move.removing) if move is not None else ((), ())
    now = partition._replace(replicas=seen.replicas, adding=adding, removing=removing)
    d.put(now)
    d.put(UpstreamStep(*key, now.current, now.next, Stage.SETTLED))
    release(d.state, key)
    if move is not None:
        charge_external(d.state, now)
    if key in d.state.reassignments:
        _block(d, now, why)
    else:
        d.delete(UpstreamStep, key)


def _block(d: Decision, partition: Partition, why: str) -> None:
    """Remember where the partition is, so that an order given now starts from there."""
    key = partition.key
    d.state.doubts.pop(key, None)
    d.put(UpstreamStep(*key, partition.current, partition.next, Stage.SETTLED))
    d.put(d.state.reassignments[key]._replace(blocked=why))


def _refused(d: Decision, submission: UpstreamStep, why: str) -> None:
    state, key = d.state, submission.key
    partition = state.partition(*key)
    if partition is None:
        return
    if submission.replaced:
        # The step that the row was to turn goes on.
        d.put(submission._replace(following=submission.replaced, replaced=(), stage=Stage.ACTIVE))
        undo(d, partition)
        return
    d.put(partition._replace(replicas=submission.base, adding=(), removing=()))
    d.put(submission._replace(following=submission.base, stage=Stage.SETTLED))
    release(state, key)
    if key in state.reassignments:
        state.waiting[key] = why
    else:
        d.delete(UpstreamStep, key)


def caught_up(d: Decision, partition: Partition, step: UpstreamStep, seen: UpstreamPartition) -> bool:
    """Whether Metadata is not of before the end of a step that was taken back; count the look if it may be."""
    return not step.replaced or seen.leader_epoch > step.epoch or _outlasts_lag(d, partition)


def is_behind(d: Decision, partition: Partition, step: UpstreamStep, seen: UpstreamPartition) -> bool:
    """Whether Metadata that shows this, while nothing moves, is older than the end of a step that is over; count the look if so.

    What is shown for longer than any broker lags is believed.
    """
    if not _may_be_old(step, seen):
        return False
    return not _outlasts_lag(d, partition)


def _may_be_old(step: UpstreamStep, seen: UpstreamPartition) -> bool:
    """Metadata shows the replicas of before the step, or of its middle.

    Of a step that the upstream has confirmed to have taken back it does so at any leader epoch, and even where all are
    in sync: not every change of leader was seen.
    """
    if step.stage is Stage.UNDONE:
        lists = (set(step.base), {*step.base, *step.following})
        return set(seen.replicas) in lists
    return step.is_before(seen.replicas, seen.leader_epoch) or step.is_middle(seen.replicas, seen.isr)


def _is_back_unseen(submission: UpstreamStep) -> bool:
    """The upstream has said that the step was taken back, and that can have led to the very list from which it began only."""
    return submission.stage is Stage.UNDONE and submission.ways_back == {submission.base}


def _is_back(submission: UpstreamStep, seen: UpstreamPartition) -> bool:
    """What was to be taken back is over, surely: elsewhere, or back, as the upstream has said.

    Metadata need not show it where the way back can only lead to the very list from which the step began.
    Without the upstream's word, a step that was over before looks so too, where Metadata shows a later change of leader, not
    its end.
    """
    if submission.stage is Stage.UNDONE:
        drops = set(submission.following) - set(submission.base)
        later = seen.leader_epoch > submission.epoch or (not drops and seen.replicas != submission.base)
        return _is_back_unseen(submission) or (later and seen.replicas in submission.ways_back)
    known = seen.replicas != submission.base
    return submission.stage is Stage.UNDOING and known and not _may_be_old(submission, seen)


def _is_believable(d: Decision, partition: Partition, expected: Replicas) -> bool:
    """Whether someone else has brought the partition to its target: what they added is in sync, or it is shown for long."""
    added = set(partition.replicas) - set(expected)
    if added and added <= set(partition.isr):
        return True
    if added:
        return _outlasts_lag(d, partition, Discrepancy.NOT_IN_SYNC)
    return _sure(d, partition, Discrepancy.ELSEWHERE, BLAME_MS)


def _outlasts_lag(d: Decision, partition: Partition, doubt: Discrepancy = Discrepancy.OLD) -> bool:
    """Count a look that shows this; True when Metadata has shown it for longer than any broker lags."""
    return _doubt(d, partition, doubt).confirmed(LAG, LAG_MS)


def _sure(d: Decision, partition: Partition, doubt: Discrepancy, ms: int = SURE_MS) -> bool:
    """Count a look that shows this; True when it is to be believed."""
    return _doubt(d, partition, doubt).confirmed(SURE, ms)


def _doubt(d: Decision, partition: Partition, doubt: Discrepancy) -> Sighting:
    return d.state.doubt(partition.key, doubt, d.now_ms)
