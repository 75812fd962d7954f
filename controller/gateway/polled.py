"""Apply polls of an upstream Kafka to the state. The upstream decides which replicas a partition has.

A partition with a step in flight is reconciled in `controller.gateway.reconciliation`. Everything else is
copied.
"""

from collections.abc import Iterator
from itertools import islice

from controller.cluster.health import evaluate_health, find_idle_brokers, unlisted_brokers
from controller.gateway.events import (
    Measured,
    TopicConfigsSeen,
    Unreachable,
    UpstreamMove,
    UpstreamPartition,
    UpstreamPolled,
    UpstreamTopic,
)
from controller.gateway.reconciliation import cancel_late, follow, follow_settled
from controller.gateway.removed_topics import PARTITIONS_PER_SLICE, topic_removed
from controller.gateway.steps import leave, leave_step, place
from controller.model.cluster import (
    NO_ID,
    Broker,
    Config,
    Partition,
    ResourceType,
    Topic,
    TopicPartition,
    UpstreamStep,
)
from controller.reassignment.phases import Trigger, fire, fire_at
from controller.reassignment.planning import charge, charge_external, counted_size, release
from controller.reassignment.reassignments import enqueue
from controller.state.state import Decision, State

RETRIES_PER_DECISION = 1_000
"""Waiting partitions that are retried in one decision."""


def upstream_polled(d: Decision, event: UpstreamPolled) -> Iterator[None]:
    """Apply one poll."""
    state = d.state
    was_unreachable = bool(state.gateway.unreachable)
    state.gateway.reached()
    before = set(state.cluster.live)
    returned = _brokers(d, event)
    if event.whole:
        # A broker that lags may not know a new topic yet that the controller already lists as reassigned.
        names = {topic.name for topic in event.topics} | {key.topic for key in event.moves}
        for name in sorted((state.cluster.topics.keys() | active_topics(state)) - names):
            if state.gateway.is_missing(name, d.now_ms):
                yield from topic_removed(d, name)
    seen = 0
    for topic in event.topics:
        yield from _topic(d, topic, event)
        seen += len(topic.partitions)
        if seen >= PARTITIONS_PER_SLICE:
            seen = 0
            yield
    if event.whole:
        state.gateway.past.forget_old(d.now_ms)
    else:
        _follow_moves(d, event)
    yield from _note_offline(state, event, before)
    if returned:
        yield from _retry_all(d)
    elif event.whole:
        _retry_some(d)
    if was_unreachable or event.topics or event.brokers is not None:
        evaluate_health(d)


def _note_offline(state: State, event: UpstreamPolled, before: set[int]) -> Iterator[None]:
    """Find the offline brokers that are not listed, and those that nothing depends on. `before` were live."""
    if event.whole:
        state.cluster.set_unlisted(unlisted_brokers(state))
    if event.whole or not before <= state.cluster.live:
        yield from find_idle_brokers(state)


def active_topics(state: State) -> set[str]:
    """Return the topics with a reassignment, a step in flight, a queued plan or moves between directories."""
    return (
        state.orders.reassigning.keys()
        | state.disks.open_topics.keys()
        | {key.topic for keys in (state.in_flight.at_upstream(), state.orders.pending) for key in keys}
    )


def unreachable(d: Decision, event: Unreachable) -> None:
    """Start no new steps.

    Steps in flight continue in the upstream; short sightings start again after the outage.
    """
    d.state.gateway.lost(event.why, d.now_ms)
    evaluate_health(d)


def measured(d: Decision, event: Measured) -> None:
    """Store sizes and disks for steps that are planned later, and count steps in flight by their sizes."""
    state, awaited = d.state, d.state.awaits_sizes
    size_of = state.cluster.leader_size
    new = [key for key in state.backlog.costs if key in event.sizes and size_of(key) is None]
    state.cluster.measure(event.sizes, event.disks, event.stored)
    state.in_flight.keep_arriving(None)
    for key in new:
        state.backlog.resize(key, counted_size(state, key))
    if awaited:
        state.backlog.plan_again()
    if event.disks:
        _retry_some(d)


def topic_configs_seen(d: Decision, event: TopicConfigsSeen) -> None:
    """Store the topic configs that steps depend on, such as min.insync.replicas."""
    for topic, values in event.topics.items():
        for name, value in values.items() if topic in d.state.cluster.topics else ():
            known = d.state.settings.config(ResourceType.TOPIC, topic, name)
            if value is not None and value != known:
                d.put(Config(ResourceType.TOPIC, topic, name, value))
            elif value is None and known is not None:
                d.delete(Config, (ResourceType.TOPIC, topic, name))
    evaluate_health(d)


def _brokers(d: Decision, event: UpstreamPolled) -> bool:
    """Store the registered and the live brokers; True when a broker has returned."""
    state = d.state
    if event.brokers is None:
        return False
    for broker, host, port, rack, _ in event.brokers:
        record = Broker(broker, host, port, rack, 0)
        if state.cluster.brokers.get(broker) != record:
            d.put(record)
    for gone in sorted(state.cluster.brokers.keys() - {broker.id for broker in event.brokers}):
        d.delete(Broker, gone)
    alive = {broker.id for broker in event.brokers if broker.alive}
    returned = bool(alive - state.cluster.live)
    state.cluster.set_live(alive)
    return returned


def _topic(d: Decision, seen: UpstreamTopic, event: UpstreamPolled) -> Iterator[None]:
    state = d.state
    known = state.cluster.topics.get(seen.name)
    if known is not None and _is_recreated(state, known, seen, event):
        # Without a reassignment nothing is lost if this is wrong, so it takes effect at once: a new request
        # must not be validated against the deleted topic.
        if (known.id == NO_ID or _is_active(state, seen.name)) and not state.gateway.is_missing(
            seen.name, d.now_ms
        ):
            return
        yield from topic_removed(d, seen.name)
        known = None
    state.gateway.shown(seen.name)
    if known is None or (known.id == NO_ID != seen.id):
        d.put(Topic(seen.name, seen.id))
    _note_part(state, seen.name, event)
    tells_failed = bool(seen.offline or state.cluster.failed)
    for number, partition in sorted(seen.partitions.items()):
        key = TopicPartition(seen.name, number)
        if number > len(state.cluster.partitions[seen.name]):
            break  # a partial poll of a new topic: the next whole poll has the rest
        behind = _is_behind_known(state, key, partition)
        if tells_failed and not behind:
            state.cluster.note_failed(key, seen.offline.get(number, ()))
        if behind and key in event.moves:
            # Only Metadata lags. The list of reassignments is the controller's.
            _partition(d, key, _known(state, key), event)
        elif not (behind or _is_idle(state, key, partition, event)):
            _partition(d, key, partition, event)
        if number % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield


def _note_part(state: State, topic: str, event: UpstreamPolled) -> None:
    """Note whether polls have shown all partitions of the topic."""
    if event.whole or not state.cluster.partitions[topic]:
        state.gateway.note_part(topic, complete=event.whole)


def _is_active(state: State, topic: str) -> bool:
    """Whether the topic has a reassignment, a queued plan or a step record."""
    return topic in active_topics(state) or any(
        partition.key in state.gateway.steps for partition in state.cluster.partitions[topic]
    )


def _is_recreated(state: State, known: Topic, seen: UpstreamTopic, event: UpstreamPolled) -> bool:
    """Whether this is another topic of the same name, created after the known one was deleted.

    Brokers before 2.8 send no topic ids, and topics get ids when the last broker is upgraded. Without ids,
    fewer partitions mean another topic; with equal ids, they mean that the broker lags.
    """
    if NO_ID not in {known.id, seen.id}:
        return known.id != seen.id
    return event.whole and len(seen.partitions) < len(state.cluster.partitions[seen.name])


def _follow_moves(d: Decision, event: UpstreamPolled) -> None:
    """Reconcile the steps in flight that are still in the list of reassignments: they need no Metadata."""
    state = d.state
    polled = {(topic.name, number) for topic in event.topics for number in topic.partitions}
    for key, move in event.moves.items():
        step, partition = state.gateway.steps.get(key), state.cluster.partition(*key)
        if step is None or partition is None or not step.in_flight or key in polled:
            continue
        _charge_unwanted(state, partition)
        now = UpstreamPartition(move.replicas, partition.isr, partition.leader, partition.leader_epoch)
        if not _is_inconclusive(d, key, event):
            follow(d, partition, step, now, move)


def _is_inconclusive(d: Decision, key: TopicPartition, event: UpstreamPolled) -> bool:
    """Whether the poll proves nothing: it is not conclusive, or a request was outstanding."""
    return not event.conclusive or key in event.outstanding or d.state.gateway.awaits_answer(key)


def _is_behind_known(state: State, key: TopicPartition, seen: UpstreamPartition) -> bool:
    """Whether this broker's Metadata is older than what is known.

    Without topic ids, it may be a recreated topic.
    """
    known = state.cluster.partition(*key)
    return (
        known is not None
        and seen.leader_epoch < known.leader_epoch
        and state.cluster.topics[key.topic].id != NO_ID
    )


def _known(state: State, key: TopicPartition) -> UpstreamPartition:
    known = state.cluster.partitions[key.topic][key.partition]
    return UpstreamPartition(known.replicas, known.isr, known.leader, known.leader_epoch)


def _is_idle(state: State, key: TopicPartition, seen: UpstreamPartition, event: UpstreamPolled) -> bool:
    """Whether the partition is unchanged and idle.

    Most partitions of a whole poll are, so this must be fast.
    """
    known = state.cluster.partition(*key)
    return (
        known is not None
        and (known.replicas, known.isr, known.leader, known.leader_epoch) == seen
        and not known.moving
        and key not in event.moves
        and key not in state.orders.reassignments
        and key not in state.gateway.steps
        and key not in state.gateway.external
        and key not in state.orders.pending
        and key not in state.gateway.tracking
    )


def _partition(d: Decision, key: TopicPartition, seen: UpstreamPartition, event: UpstreamPolled) -> None:
    move = event.moves.get(key)
    state = d.state
    before = state.cluster.partition(*key)
    step = state.gateway.steps.get(key)
    if move is None:
        state.gateway.past.stop(key, d.now_ms)
    if before is None and step is not None:
        leave_step(d, step)  # what brokers may show of it is not durable
    if step is not None and step.in_flight:
        _with_step(d, before, step, seen, event)
    elif before is None or move is not None or not _is_outdated(d, before, seen):
        _without_step(d, before, key, seen, event)


def _with_step(
    d: Decision,
    before: Partition | None,
    step: UpstreamStep,
    seen: UpstreamPartition,
    event: UpstreamPolled,
) -> None:
    """Apply the poll to a partition with a step in flight."""
    state, key = d.state, step.key
    move, inconclusive = event.moves.get(key), _is_inconclusive(d, key, event)
    proves = move is None and not inconclusive
    is_over = not proves and _is_over(step, seen)
    now = before if before is not None and is_over else _in_step(before, step, seen)
    _put(d, before, now)
    if before is None and key in state.orders.reassignments:
        charge(state, now, state.orders.reassignments[key])
    _charge_unwanted(state, now)
    if not inconclusive:
        follow(d, now, step, seen, move)


def _without_step(
    d: Decision,
    before: Partition | None,
    key: TopicPartition,
    seen: UpstreamPartition,
    event: UpstreamPolled,
) -> None:
    """Apply the poll to a partition without a step in flight."""
    state, move = d.state, event.moves.get(key)
    # Metadata is polled after the list of reassignments, and from another broker: its replicas may be those
    # before the reassignment or after it. Only the three lists of one row fit together.
    replicas, adding, removing = move if move is not None else (seen.replicas, (), ())
    _, isr, leader, leader_epoch = seen
    now = Partition(*key, replicas, isr, leader, leader_epoch, adding=adding, removing=removing)
    changed = _put(d, before, now)
    _track_external(d, now, move, changed)
    if key not in state.orders.reassignments:
        _without_reassignment(d, now, event)
        return
    if before is None and move is None:
        enqueue(d, now)
    if changed and key in state.orders.waiting:
        fire(d, now, Trigger.PROGRESS)
    if event.conclusive:
        follow_settled(d, now, state.orders.reassignments[key], move)


def _without_reassignment(
    d: Decision,
    partition: Partition,
    event: UpstreamPolled,
) -> None:
    """Handle a partition without a reassignment: drop its step record, or start its queued plan."""
    key = partition.key
    move = event.moves.get(key)
    if event.conclusive and cancel_late(d, key, move):
        return
    if key in d.state.gateway.steps:
        d.delete(UpstreamStep, key)
    if key not in d.state.orders.pending:
        d.state.gateway.forget_sighting(key)
    elif event.conclusive:
        follow_settled(d, partition, None, move)


def _is_outdated(d: Decision, before: Partition, seen: UpstreamPartition) -> bool:
    """Whether a broker that lags may show this.

    The partition before its last change is not taken for its state.
    """
    past, key = d.state.gateway.past, before.key
    if not before.moving:
        return seen.replicas != before.replicas and past.may_show(key, seen.replicas, d.now_ms)
    # Another client's move has ended. Kafka starts a leader epoch when replicas are dropped.
    if seen.replicas == before.next:
        arrived = set(before.adding) <= set(seen.isr)
        return not arrived and past.changed_lately(key, d.now_ms)
    start = set(seen.replicas) == set(before.current) and past.changed_lately(key, d.now_ms)
    return seen.leader_epoch <= before.leader_epoch and (start or past.may_show(key, seen.replicas, d.now_ms))


def _charge_unwanted(state: State, partition: Partition) -> None:
    """Count a step that `stop` left in flight against the limits, like another client's reassignment."""
    key = partition.key
    if key not in state.orders.reassignments and key not in state.gateway.external:
        charge_external(state, partition)


def _track_external(d: Decision, partition: Partition, move: UpstreamMove | None, changed: bool) -> None:
    """Count another client's reassignment of the partition against the limits while it lasts."""
    state, key = d.state, partition.key
    if move is not None:
        leave(d, partition, moving=True)
        if changed or key not in state.gateway.external:
            charge_external(state, partition)
    elif key in state.gateway.external:
        release(state, key)
        if key in state.orders.reassignments:
            enqueue(d, partition)


def _in_step(before: Partition | None, step: UpstreamStep, seen: UpstreamPartition) -> Partition:
    """Return the partition with the replicas of the step and the polled ISR and leader."""
    base, following = step.base, step.following
    if before is None:
        adding = tuple(r for r in following if r not in base)
        removing = tuple(r for r in base if r not in following)
        before = Partition(*step.key, following + removing, (), -1, adding=adding, removing=removing)
    return before._replace(isr=seen.isr, leader=seen.leader, leader_epoch=seen.leader_epoch)


def _is_over(step: UpstreamStep, seen: UpstreamPartition) -> bool:
    """Whether Metadata shows the partition after a step that drops replicas.

    Its ISR has none of them, so that it does not fit the partition in the step: a rollback of a step that has
    just ended would seem to lose all data. A poll that proves the end ends the step.
    """
    return seen.replicas == step.following and not set(step.base) <= set(step.following)


def _put(d: Decision, before: Partition | None, now: Partition) -> bool:
    """Store the partition; True when it is new or has changed."""
    epoch = 0 if before is None else before.partition_epoch
    changed = before is None or now._replace(partition_epoch=epoch) != before
    if changed:
        place(d, now._replace(partition_epoch=epoch + 1))
    return changed


def _retry_all(d: Decision) -> Iterator[None]:
    """Retry all waiting partitions: they may wait for the broker that has returned."""
    for seen, key in enumerate(list(d.state.orders.waiting)):
        _retry(d, key)
        if seen % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield


def _retry_some(d: Decision) -> None:
    """Retry partitions that may wait for a change without an event, such as free disk space.

    A partition that waits again goes to the end of `Orders.waiting`, so each one is retried.
    """
    state = d.state
    unblocked = (key for key in state.orders.waiting if not state.orders.reassignments[key].blocked)
    for key in list(islice(unblocked, RETRIES_PER_DECISION)):
        _retry(d, key)


def _retry(d: Decision, key: TopicPartition) -> None:
    fire_at(d, key, Trigger.PROGRESS)
