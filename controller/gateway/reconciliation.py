"""Reconcile the steps of an upstream Kafka with its polls and answers.

The rules are in `controller.gateway.table`. A row is sent again only after a poll that started when
the previous request had ended and that shows no effect of it. So no row is sent twice blindly. Most
discrepancies must last before they are acted on (`controller.model.thresholds`), because the broker that
answers Metadata lags behind the controller. What such a broker may show proves nothing
(`controller.state.gateway`).
"""

from collections.abc import Callable
from typing import NamedTuple

from controller.gateway.events import Submitted, UpstreamMove, UpstreamPartition
from controller.gateway.observation import answer_to, observe, observe_settled
from controller.gateway.steps import (
    cancels_move,
    expected_replicas,
    is_held,
    leave_step,
    place,
    repeats_own_row,
    restore,
    row_of,
    send,
    undo,
)
from controller.gateway.table import TABLE, Action
from controller.model.cluster import Partition, Reassignment, Replicas, TopicPartition, UpstreamStep
from controller.model.errors import Outcome
from controller.model.thresholds import CONFIRMED_AFTER, Discrepancy
from controller.model.upstream_step import Stage
from controller.reassignment.phases import Trigger, fire
from controller.reassignment.planning import charge_external, release
from controller.reassignment.reassignments import after_step, start_queued
from controller.state.state import Decision

LAG_MS = 2_000
"""How long Metadata must show the replicas of before a step: a broker that lags shows them for a moment."""

_REQUESTED = {Stage.SUBMITTING, Stage.UNDOING}


class _Polled(NamedTuple):
    """A step in flight and what a poll shows of it."""

    partition: Partition
    step: UpstreamStep
    replicas: Replicas
    move: UpstreamMove | None


def submitted(d: Decision, event: Submitted) -> None:
    """Apply the upstream's answers to rows; an answer to a row that was superseded since is ignored."""
    for key, replicas, outcome in event.rows:
        d.state.gateway.request_answered(key)
        step = d.state.gateway.steps.get(key)
        if step is not None and step.in_flight:
            leave_step(d, step)
        observation = None if step is None else answer_to(step, replicas, outcome)
        if step is not None and observation is not None:
            _ON_ANSWER[TABLE[step.stage, observation].action](d, step, outcome)


def follow(
    d: Decision,
    partition: Partition,
    step: UpstreamStep,
    seen: UpstreamPartition,
    move: UpstreamMove | None,
) -> None:
    """Apply a poll to a step in flight of which no request is outstanding.

    `partition` is the partition as the step changes it, `seen` and `move` are what the poll shows.
    """
    if step.stage in _REQUESTED and is_held(d.state, step.key, row_of(step), d.now_ms):
        return  # nothing follows from a row that was not sent
    outdated = d.state.gateway.past.may_show(step.key, seen.replicas, d.now_ms)
    rule = TABLE[step.stage, observe(step, partition, seen, move, outdated)]
    if move is not None and not d.state.gateway.past.moves(step.key):
        leave_step(d, step, moving=True)
    if rule.action is Action.GIVE_UP:
        target = None if move is None else move.target
        if repeats_own_row(d.state, step, target, seen.replicas):
            _repeat(d, step.key, row_of(step), after_ms=0 if move is not None else LAG_MS)
            return
    if _is_due(d, partition.key, rule.discrepancy):
        replicas = seen.replicas if move is None else move.replicas
        _ON_POLL[rule.action](d, _Polled(partition, step, replicas, move))


def follow_settled(
    d: Decision, partition: Partition, reassignment: Reassignment | None, move: UpstreamMove | None
) -> None:
    """Apply a poll to a partition with a reassignment or a queued plan, but without a step in flight."""
    if reassignment is not None and reassignment.blocked:
        return  # an operator decides what is next, whatever the upstream does meanwhile
    key = partition.key
    if cancel_late(d, key, move):
        return
    expected = partition.replicas if reassignment is None else expected_replicas(d.state, key)
    rule = TABLE[Stage.SETTLED, observe_settled(reassignment, expected, partition, move)]
    if _is_due(d, key, rule.discrepancy):
        _ON_SETTLED[rule.action](d, partition)


def cancel_late(d: Decision, key: TopicPartition, move: UpstreamMove | None) -> bool:
    """Cancel the move of a partition without a step in flight if a late row has started it; True if so."""
    if move is None or not cancels_move(d.state, key, move.target, d.now_ms):
        return False
    if not d.state.gateway.awaits_answer(key):
        _repeat(d, key, None)
    return True


def _repeat(d: Decision, key: TopicPartition, row: Replicas | None, after_ms: int = 0) -> None:
    """Send the row, when it is due and what a late row has done was seen for `after_ms`."""
    is_due = d.state.gateway.resend_is_due(key, Discrepancy.NOT_REPLACED, d.now_ms)
    sighting = d.state.gateway.tracking[key].sighting
    if is_due and sighting is not None and sighting.waited_ms >= after_ms:
        d.state.gateway.count_repeat(key)
        send(d, key, row)


def _is_due(d: Decision, key: TopicPartition, discrepancy: Discrepancy | None) -> bool:
    """Count the sighting of the discrepancy, if there is one; True when it is time to act."""
    if discrepancy is None:
        return True
    if discrepancy in CONFIRMED_AFTER:
        return d.state.gateway.sighted(key, discrepancy, d.now_ms).is_confirmed
    return d.state.gateway.resend_is_due(key, discrepancy, d.now_ms)


def _continue(d: Decision, polled: _Polled) -> None:
    d.state.gateway.forget_sighting(polled.step.key)


def _activate(d: Decision, polled: _Polled) -> None:
    d.state.gateway.forget_sighting(polled.step.key)
    d.put(polled.step._replace(stage=Stage.ACTIVE))


def _resend(d: Decision, polled: _Polled) -> None:
    step = polled.step
    send(d, step.key, None if step.stage is Stage.UNDOING else step.following)


def _ignore(d: Decision, polled: _Polled) -> None:
    """Do nothing. A sighting goes on: brokers that lag may answer every other poll."""


def _undo(d: Decision, polled: _Polled) -> None:
    undo(d, polled.partition)


def _end(d: Decision, polled: _Polled) -> None:
    """End the step at the replicas shown, be it by completion or by an undo."""
    partition, step, replicas, _ = polled
    key = partition.key
    if step.moves_nothing and step.stage is Stage.ACTIVE:
        replicas = step.following  # the upstream has accepted it, whatever Metadata shows
    d.state.gateway.forget_sighting(key)
    leave_step(d, step, step.following)
    # Metadata of a broker that lags may still show the cancelled list, also after a restart.
    cancelled = step.replaced if replicas == step.following else step.following
    d.put(step._replace(following=replicas, stage=Stage.ENDED, replaced=cancelled))
    if key in d.state.orders.reassignments:
        fire(d, partition, Trigger.PROGRESS)
    else:
        place(d, partition._replace(replicas=replicas, adding=(), removing=()))
        d.delete(UpstreamStep, key)
        release(d.state, key)


def _advance(d: Decision, polled: _Polled) -> None:
    fire(d, polled.partition, Trigger.PROGRESS)


def _give_up(d: Decision, polled: _Polled) -> None:
    """Forget a step that another client has changed; its reassignment waits for an operator."""
    partition, step, replicas, move = polled
    key = partition.key
    adding, removing = (move.adding, move.removing) if move is not None else ((), ())
    now = partition._replace(replicas=replicas, adding=adding, removing=removing)
    leave_step(d, step, step.following)
    place(d, now)
    d.put(UpstreamStep(*key, now.current, now.next, Stage.SETTLED))
    release(d.state, key)
    if move is not None:
        # The brokers copy that data too, so it counts against the limits.
        charge_external(d.state, now)
    if key not in d.state.orders.reassignments:
        d.delete(UpstreamStep, key)
    elif move is not None:
        _block(d, now, f"another client moves it to {list(move.target)}")
    elif set(replicas) == set(step.base):
        _block(d, now, "cancelled by another client")
    else:
        _block(d, now, _changed(replicas))


def _resume(d: Decision, partition: Partition) -> None:
    if d.state.gateway.forget_sighting(partition.key):
        fire(d, partition, Trigger.PROGRESS)


def _settle(d: Decision, partition: Partition) -> None:
    d.state.orders.wait_no_more(partition.key)
    after_step(d, partition)


def _block_changed(d: Decision, partition: Partition) -> None:
    _block(d, partition, _changed(partition.replicas))


def _start_queued(d: Decision, partition: Partition) -> None:
    d.state.gateway.forget_sighting(partition.key)
    start_queued(d, partition.key)


def _changed(replicas: Replicas) -> str:
    return f"another client changed its replicas to {list(replicas)}"


def _block(d: Decision, partition: Partition, why: str) -> None:
    """Record where the partition is, so that a new order starts from there."""
    key = partition.key
    d.state.gateway.forget_sighting(key)
    d.put(UpstreamStep(*key, partition.current, partition.next, Stage.SETTLED))
    d.put(d.state.orders.reassignments[key]._replace(blocked=why))


def _accept(d: Decision, step: UpstreamStep, _: Outcome) -> None:
    # The sighting stays: until a poll shows the step, the pause between two rows keeps growing.
    d.put(step._replace(stage=Stage.ACTIVE))


def _wait(d: Decision, step: UpstreamStep, outcome: Outcome) -> None:
    """Do nothing: the next poll decides."""


def _withdraw(d: Decision, step: UpstreamStep, outcome: Outcome) -> None:
    """Take back a step that the upstream refused for good; the reassignment waits with that reason."""
    state, key = d.state, step.key
    partition = state.cluster.partition(*key)
    if partition is None:
        return
    place(d, partition._replace(replicas=step.base, adding=(), removing=()))
    d.put(step._replace(following=step.base, stage=Stage.SETTLED))
    release(state, key)
    if key in state.orders.reassignments:
        state.orders.wait(key, f"the upstream refused it: {outcome.message or outcome.error.name}")
    else:
        d.delete(UpstreamStep, key)


def _restore(d: Decision, step: UpstreamStep, _: Outcome) -> None:
    """Continue after a cancel: request the list from before the step, or end without a reassignment."""
    partition = d.state.cluster.partition(*step.key)
    if partition is None:
        return
    leave_step(d, step, step.following)
    if step.key in d.state.orders.reassignments:
        restore(d, partition, step)
        return
    place(d, partition._replace(replicas=step.base, adding=(), removing=()))
    d.delete(UpstreamStep, step.key)
    release(d.state, step.key)


def _keep(d: Decision, step: UpstreamStep, _: Outcome) -> None:
    """Follow a step that the upstream refuses to cancel to its end; the next step starts from there."""
    d.put(step._replace(stage=Stage.ACTIVE, replaced=()))


_ON_POLL: dict[Action, Callable[[Decision, _Polled], None]] = {
    Action.CONTINUE: _continue,
    Action.ACTIVATE: _activate,
    Action.RESEND: _resend,
    Action.IGNORE: _ignore,
    Action.UNDO: _undo,
    Action.END: _end,
    Action.ADVANCE: _advance,
    Action.GIVE_UP: _give_up,
}
_ON_ANSWER: dict[Action, Callable[[Decision, UpstreamStep, Outcome], None]] = {
    Action.ACTIVATE: _accept,
    Action.CONTINUE: _wait,
    Action.WITHDRAW: _withdraw,
    Action.RESTORE: _restore,
    Action.KEEP: _keep,
}
_ON_SETTLED: dict[Action, Callable[[Decision, Partition], None]] = {
    Action.RESUME: _resume,
    Action.SETTLE: _settle,
    Action.BLOCK: _block_changed,
    Action.START_QUEUED: _start_queued,
}
