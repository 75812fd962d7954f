"""The actions on a partition's reassignment, and the end of steps (KIP-455, KIP-236, KIP-435).

Each function down to `requeue` is an action of the table in `controller.reassignment.phases`. The table
decides when an action applies. All actions have the same parameters; in the phases without a reassignment or
for triggers without an order, that parameter is a placeholder. An action that refuses returns an error and
changes nothing.
"""

from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.execution.cordons import allow_again
from controller.model.cluster import (
    NO_LEADER,
    Ending,
    Finished,
    Partition,
    Pending,
    Reassignment,
    Replicas,
    TopicPartition,
)
from controller.model.errors import DONE, Outcome
from controller.model.jobs import TOPIC_GONE
from controller.reassignment import planning
from controller.reassignment.planning import (
    Plan,
    charge,
    following_step,
    has_capacity,
    may_start,
    next_leader,
    plan_step,
    release,
)
from controller.scheduling.buckets import Planned
from controller.scheduling.limits import Cost, capacities_of
from controller.state.state import Decision, State

NOTHING_TO_CANCEL = Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)


class Order(NamedTuple):
    """A target and the job that orders it."""

    target: Replicas
    job: int


def accept(d: Decision, partition: Partition, _: Reassignment, order: Order) -> Outcome:
    """Record the first order with its original, and enqueue the partition.

    An order without a change records nothing.
    """
    # A cancel with mode `stop` may have left a step in flight. It ends first; its start is the original.
    elected = planning.awaits_election(d.state, partition, order.target, order.job)
    if order.target != partition.replicas or partition.key in d.state.in_flight or elected:
        d.put(_first(d.state, partition, order))
        enqueue(d, partition)
    return DONE


def adopt(d: Decision, partition: Partition, _: Reassignment, order: Order) -> Outcome:
    """Take over another client's reassignment, and turn its step to the target.

    The replicas before that reassignment become the original.
    """
    original = partition.current
    reassignment = _first(d.state, partition, order)
    withdraw(d, partition.key, order.job)
    d.put(reassignment)
    _begin_step(d, partition, order.target if order.target == partition.next else original, reassignment)
    return DONE


def undo_external(d: Decision, partition: Partition, _: Reassignment, __: Order) -> Outcome:
    """Cancel another client's reassignment, as Kafka's own cancel does, and the target queued behind it."""
    step = d.state.gateway.steps.get(partition.key)
    cancelled = step is not None and step.is_cancelled and step.following == partition.next
    if cancelled and partition.key not in d.state.orders.pending:
        return NOTHING_TO_CANCEL
    withdraw(d, partition.key)
    back = partition.current
    d.state.mode.executor.begin(d, partition, back, back, NO_LEADER)
    return DONE


def retarget(d: Decision, partition: Partition, reassignment: Reassignment, order: Order) -> Outcome:
    """Replace the target between two steps. The first original is kept."""
    if (
        order.target != reassignment.target
        or reassignment.blocked
        or reassignment.key in d.state.orders.pending
    ):
        _take_over(d, reassignment, order)
        after_step(d, partition)
    return DONE


def redirect(d: Decision, partition: Partition, reassignment: Reassignment, order: Order) -> Outcome:
    """Replace the target while a step is in flight, and turn the step.

    Replicas that only the old target needed are dropped. Those that the new one needs too stay.
    """
    if order.target == reassignment.target and not reassignment.blocked:
        if reassignment.key in d.state.orders.pending:
            _take_over(d, reassignment, order)
        return DONE
    current = reassignment.current_of(partition)
    following = _continued(d, partition, current, reassignment._replace(target=order.target), order.job)
    if not planning.keeps_up(d.state, partition, following) and not planning.is_refused(
        d.state, partition, following
    ):
        following = planning.kept(partition, current, order.target)
    return _turn(d, partition, reassignment, order, following)


def roll_back(d: Decision, partition: Partition, reassignment: Reassignment, order: Order) -> Outcome:
    """Go back to the original, in its order (KIP-236). The step in flight is undone at once.

    Kafka's own cancel keeps the order that the target gave to common replicas; this one does not. A target
    queued for the partition is withdrawn, or taken over if the order has a job. Then it is a queued plan that
    ends the reassignment, and a move of another client goes on.

    A cancel of what was cancelled before, where only the undo of the step is left, has nothing to cancel: in
    Kafka the first one has ended the reassignment. A rollback by steps goes on, and is cancelled already.
    """
    if _is_undone(d.state, partition, reassignment) and not order.job:
        return NOTHING_TO_CANCEL
    withdraw(d, partition.key, order.job)
    if order.job and d.state.gateway.moved_by_others(partition.key):
        return _leave_to_others(d, partition, reassignment)
    if d.state.settings.cancel_stops:
        return _stop(d, partition, reassignment)
    if reassignment.rolling_back and not reassignment.blocked:
        return DONE
    allow_again(d, reassignment.original)
    back = Order(reassignment.original, reassignment.job)
    if partition.key not in d.state.in_flight:
        return retarget(d, partition, reassignment, back)
    undone = reassignment.current_of(partition)
    return _turn(d, partition, reassignment, back, undone)


def stall(d: Decision, partition: Partition, reassignment: Reassignment, _: Order) -> Outcome:
    """End a stalled step: keep the replicas that are in sync, drop the others, and enqueue the partition.

    If the executor cannot end the step there, the step continues, and replicas in sync no longer count
    against the limits. Steps of other clients are not changed.
    """
    state = d.state
    if state.gateway.moved_by_others(reassignment.key):
        return DONE
    kept = planning.kept(partition, reassignment.current_of(partition), reassignment.target)
    if state.mode.executor.can_turn(state, partition, kept):
        _begin_step(d, partition, kept, reassignment)
    else:
        state.backlog.release_in_sync(partition.key, partition.isr)
    return DONE


def start(d: Decision, partition: Partition, reassignment: Reassignment, _: Order) -> Outcome:
    """Begin the next step.

    If it lacks capacity, return it to the backlog; if it cannot start, record the reason.
    """
    state, key = d.state, partition.key
    step = plan_step(state, partition, reassignment)
    if step.waits_for:
        state.orders.wait(key, step.waits_for)
    elif state.backlog.usage.exhausted(capacities_of(step.cost)):
        _add_to_backlog(state, reassignment, step)
    else:
        _begin_step(d, partition, step.following, reassignment, step.cost)
    return DONE


def plan(d: Decision, partition: Partition, reassignment: Reassignment, order: Order) -> Outcome:
    """Plan the next step and add it to the backlog. Without limits, begin it at once."""
    state = d.state
    usage = state.backlog.usage
    if usage.unlimited and usage.windows is None:
        return start(d, partition, reassignment, order)
    step = plan_step(state, partition, reassignment)
    if step.waits_for:
        state.orders.wait(partition.key, step.waits_for)
    else:
        _add_to_backlog(state, reassignment, step)
    return DONE


def advance(d: Decision, partition: Partition, reassignment: Reassignment, _: Order) -> Outcome:
    """Complete the step in flight if the changed ISR, leader or brokers allow it."""
    preferred = next_leader(d.state, partition, reassignment)
    elected = planning.only_elects(d.state, partition, reassignment)
    if d.state.mode.executor.complete(d, partition, reassignment.target, preferred):
        _step_ended(d, partition, elected=elected)
    return DONE


def requeue(d: Decision, partition: Partition, reassignment: Reassignment, _: Order) -> Outcome:
    """Enqueue a waiting partition again: the reason to wait may be gone."""
    if reassignment.blocked:
        return DONE
    d.state.orders.wait_no_more(partition.key)
    enqueue(d, partition)
    return DONE


def after_step(d: Decision, partition: Partition, *, elected: bool = False) -> None:
    """End the reassignment if the partition is at its target, else enqueue it. No step is in flight.

    `elected`: the step had only to elect the preferred leader.
    """
    state, key = d.state, partition.key
    release(state, key)
    reassignment = state.orders.reassignments[key]
    if partition.replicas == reassignment.target:
        ending = Ending.ROLLED_BACK if reassignment.rolling_back and not elected else Ending.DONE
        end_reassignment(d, key, reassignment, ending)
    elif state.cluster.topics[key.topic].deleting:
        end_reassignment(d, key, reassignment, Ending.TOPIC_DELETED)
    else:
        enqueue(d, partition)


def end_reassignment(d: Decision, key: TopicPartition, reassignment: Reassignment, ending: Ending) -> None:
    """Delete the reassignment and record its ending. Start a target that was queued for the partition."""
    state = d.state
    d.delete(Reassignment, key)
    state.mode.executor.ended(d, key)
    _record_finished(d, reassignment, ending, 0)
    if key in state.orders.pending:
        start_queued(d, key)
    topic = state.cluster.topics.get(key.topic)
    if topic is not None and topic.deleting and key.topic not in state.orders.reassigning:
        state.cluster.may_delete((key.topic,))


def start_queued(d: Decision, key: TopicPartition) -> None:
    """Start the target that was queued for the partition, if any. No move is left before it."""
    pending = d.state.orders.pending.get(key)
    if pending is not None:
        d.delete(Pending, key)
        follow(d, pending)


def follow(d: Decision, pending: Pending) -> None:
    """Order a queued target. If the rollback before it has led to that target already, it is done."""
    partition = d.state.cluster.partitions[pending.topic][pending.partition]
    queued = Reassignment(*pending.key, partition.current, pending.target, pending.job)
    if d.state.cluster.topics[pending.topic].deleting:
        _record_finished(d, queued, Ending.TOPIC_DELETED, 0)
    elif queued.original == queued.target and pending.key not in d.state.in_flight:
        _record_finished(d, queued, Ending.DONE, 0)
    else:
        accept(d, partition, queued, Order(pending.target, pending.job))


def withdraw(d: Decision, key: TopicPartition, taken_by: int = 0) -> None:
    """Withdraw the target queued for the partition, or give it to the job `taken_by`.

    A rollback before it continues.
    """
    pending = d.state.orders.pending.get(key)
    partition = d.state.cluster.partition(*key)
    if pending is None or partition is None:
        return
    d.delete(Pending, key)
    if pending.job != taken_by:
        reassignment = d.state.orders.reassignments.get(key)
        original = partition.current if reassignment is None else reassignment.original
        ending, target = (Ending.TAKEN, pending.target) if taken_by else (Ending.ROLLED_BACK, original)
        _record_finished(d, Reassignment(*key, original, target, pending.job), ending, taken_by)


def forget_queued(d: Decision, key: TopicPartition) -> None:
    """End the target queued for the partition, because the topic was deleted."""
    pending = d.state.orders.pending.get(key)
    if pending is not None:
        reassignment, partition = d.state.orders.reassignments.get(key), d.state.cluster.partition(*key)
        now = pending.target if partition is None else partition.current
        original = now if reassignment is None else reassignment.original
        d.delete(Pending, key)
        _record_finished(
            d, Reassignment(*key, original, pending.target, pending.job), Ending.TOPIC_DELETED, 0
        )


def mark_gone(d: Decision, key: TopicPartition) -> None:
    """Note in the ended parts of jobs that the topic is deleted.

    A rollback must not move another topic of its name.
    """
    for rows in d.state.orders.finished.values():
        row = rows.get(key)
        if row is not None and not row.taken_by:
            d.put(row._replace(taken_by=TOPIC_GONE))


def close_job(d: Decision, job: int) -> None:
    """Record the job's end if its last partition is finished.

    `seal_job` does so for a job that is being created.
    """
    state = d.state
    known = state.orders.jobs.get(job)
    if known is not None and known.total and not known.ended_ms and job not in state.orders.open:
        d.put(known._replace(ended_ms=d.now_ms, paused=False))
        state.orders.take_deferred(job)
        state.backlog.forget_job(job)


def _first(state: State, partition: Partition, order: Order) -> Reassignment:
    """Return the record of a first order. Where the partition is becomes its original."""
    topic_id = state.topic_id(partition.topic)
    topic, number, current = partition.topic, partition.partition, partition.current
    return Reassignment(topic, number, current, order.target, order.job, topic_id=topic_id)


def enqueue(d: Decision, partition: Partition) -> None:
    """Request that `controller.machine` plans the partition's next step."""
    d.state.backlog.enqueue(partition.key)


def _add_to_backlog(state: State, reassignment: Reassignment, plan: Plan) -> None:
    wave = state.backlog.planned.wave_of(reassignment.key)
    planned = None if wave is None else Planned(reassignment.job, wave)
    state.backlog.add(reassignment.key, plan.rank, plan.cost, planned)


def _begin_step(
    d: Decision,
    partition: Partition,
    following: Replicas,
    reassignment: Reassignment,
    cost: Cost | None = None,
) -> None:
    """Begin the step, or turn the one in flight. `cost` is that of a planned step."""
    state, key = d.state, partition.key
    if key in state.in_flight:
        state.backlog.planned.turned(key)
    else:
        state.backlog.planned.begun(key, following)
    if key in state.gateway.external:
        state.gateway.discard_external(key)
    preferred = next_leader(state, partition, reassignment)
    elected = key not in state.in_flight and planning.only_elects(state, partition, reassignment)
    if d.state.mode.executor.begin(d, partition, following, reassignment.target, preferred):
        _step_ended(d, partition, elected=elected)
        return
    after = state.cluster.partitions[partition.topic][partition.partition]
    if cost is not None and after.leader == partition.leader:
        state.backlog.charge(key, cost)
    else:
        charge(state, after, reassignment)


def _step_ended(d: Decision, before: Partition, *, elected: bool = False) -> None:
    """Continue after a step. If it moved leadership, that counts against limit L until the decision ends."""
    state = d.state
    after = state.cluster.partitions[before.topic][before.partition]
    job = state.orders.reassignments[before.key].job
    after_step(d, after, elected=elected)
    if after.leader != before.leader:
        cost = state.backlog.usage.leads_of(job)
        d.leader_changes[cost] += 1
        state.backlog.usage.count(cost, 1)


def _continued(
    d: Decision, partition: Partition, current: Replicas, wanted: Reassignment, job: int
) -> Replicas:
    """Return the list to which an order of another target turns the step in flight. `wanted` has that target.

    If no step may start, or its limits do not allow it, only the replicas on their way that the order needs
    are copied on.
    """
    target, state = wanted.target, d.state
    coming = [r for r in partition.adding if r in target]
    if may_start(d, job):
        arrived = planning.extended(current, [r for r in coming if r in partition.isr], target)
        following = following_step(state, partition, arrived, wanted)
        if following and set(coming) <= set(following) and has_capacity(state, partition, following, wanted):
            return following
    return planning.extended(current, coming, target)


def _is_undone(state: State, partition: Partition, reassignment: Reassignment) -> bool:
    """Return whether a rollback has no replica left to copy or to drop: only the step in flight ends."""
    if not reassignment.rolling_back or reassignment.blocked or reassignment.key in state.orders.pending:
        return False
    return set(reassignment.current_of(partition)) == set(reassignment.original)


def _turn(
    d: Decision, partition: Partition, reassignment: Reassignment, order: Order, following: Replicas
) -> Outcome:
    """Turn the step in flight to `following`, unless that would lose the partition's data.

    If no replica is alive, a rollback is accepted (KIP-236), but offline is not lost: the step is undone when
    that loses no replica in sync (`direct_steps.complete`). An upstream decides that itself.
    """
    back = order.target == reassignment.original
    state = d.state
    unclean = planning.is_refused(state, partition, following)
    if unclean and (not back or any(r in state.cluster.live for r in partition.replicas)):
        return Outcome(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {partition.topic}:{partition.partition} "
            "because it would require an unclean leader election.",
        )
    taken = _take_over(d, reassignment, order)
    if not unclean or (state.mode.is_gateway and set(reassignment.original) <= set(partition.replicas)):
        _begin_step(d, partition, following, taken)
    return DONE


def _stop(d: Decision, partition: Partition, reassignment: Reassignment) -> Outcome:
    """Cancel with mode `stop`: end the reassignment, and keep of the added replicas those that are in sync.

    They follow the replicas from before the step, as in the example of KIP-455. An upstream's cancel drops
    all replicas that the step adds, and keeps the order that the step gave to the list.
    """
    added = tuple(r for r in partition.adding if r in partition.isr)
    arrived = reassignment.current_of(partition) + added
    if d.state.mode.is_gateway:
        arrived = partition.current
    if partition.key in d.state.in_flight:
        d.state.mode.executor.begin(d, partition, arrived, arrived, NO_LEADER)
    if d.state.cluster.partitions[partition.topic][partition.partition].key not in d.state.in_flight:
        release(d.state, partition.key)
    end_reassignment(d, partition.key, reassignment._replace(target=arrived), Ending.STOPPED)
    return DONE


def _leave_to_others(d: Decision, partition: Partition, reassignment: Reassignment) -> Outcome:
    """End a reassignment that has changed nothing.

    Another one goes back to its original after the move of others.
    """
    if reassignment.original == partition.current:
        end_reassignment(
            d, reassignment.key, reassignment._replace(target=partition.current), Ending.ROLLED_BACK
        )
    else:
        _take_over(d, reassignment, Order(reassignment.original, reassignment.job))
    return DONE


def _take_over(d: Decision, reassignment: Reassignment, order: Order) -> Reassignment:
    """Record the order's target and job.

    The part of an older job in the partition ends, and so does that of a queued one.
    """
    taken = reassignment._replace(target=order.target, job=order.job, blocked="")
    d.put(taken)
    if order.job != reassignment.job:
        _record_finished(d, reassignment, Ending.TAKEN, order.job)
        withdraw(d, reassignment.key, order.job)
    return taken


def _record_finished(d: Decision, reassignment: Reassignment, ending: Ending, taken_by: int) -> None:
    topic, partition, original, target, job, _, _ = reassignment
    if job:
        d.put(Finished(job, topic, partition, original, target, ending, taken_by))
        close_job(d, job)
