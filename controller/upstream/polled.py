"""What an upstream Kafka shows, taken into the state: it is the truth about replicas.

A partition's own step is compared with what is seen, in `controller.upstream.reconciliation`. Everything else is taken as it is.
"""

from collections.abc import Iterator
from itertools import chain, islice

from controller.cluster.health import evaluate_health
from controller.cluster.removed_topics import PARTITIONS_PER_SLICE, is_removed, topic_removed
from controller.messages.upstream_events import (
    Measured,
    TopicConfigsSeen,
    Unreachable,
    UpstreamMove,
    UpstreamPartition,
    UpstreamPolled,
    UpstreamTopic,
)
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
from controller.reassignment.next_step import charge, charge_external, release
from controller.reassignment.phases import Trigger, fire, fire_at
from controller.reassignment.reassignments import enqueue
from controller.state.decision import Decision
from controller.state.state import State
from controller.upstream.reconciliation import caught_up, follow, follow_settled, is_behind

RETRIES = 1_000
"""Partitions that wait and are looked at again in one go."""


def upstream_polled(d: Decision, event: UpstreamPolled) -> Iterator[None]:
    """Take in one look at the upstream."""
    state = d.state
    news = bool(state.unreachable)
    state.unreachable = ""
    back = _brokers(d, event)
    if event.whole:
        # A broker that lags does not know a new topic that the controller moves already.
        names = {topic.name for topic in event.topics} | {key.topic for key in event.moves}
        for name in sorted((state.topics.keys() | our_topics(state)) - names):
            if is_removed(d, name):
                yield from topic_removed(d, name)
    seen = 0
    for topic in event.topics:
        yield from _topic(d, topic, event)
        seen += len(topic.partitions)
        if seen >= PARTITIONS_PER_SLICE:
            seen = 0
            yield
    if event.whole:
        state.unlisted_brokers = _absent(state)
    else:
        _moves_alone(d, event)
    if back:
        yield from _retry_all(d)
    elif event.whole:
        _retry_some(d)
    if news or event.topics or event.brokers is not None:
        evaluate_health(d)


def our_topics(state: State) -> set[str]:
    """Topics with something under way, or waiting."""
    return state.reassigning.keys() | {
        key.topic for keys in (state.in_flight.delegated(), state.pending) for key in keys
    }


def unreachable(d: Decision, event: Unreachable) -> None:
    """Nothing is known any more; what is under way upstream goes on.

    Whatever was in doubt is looked at from the start, but for LONG doubts.
    """
    d.state.unreachable = event.why
    d.state.forget_sightings()
    evaluate_health(d)


def measured(d: Decision, event: Measured) -> None:
    """Remember sizes and disks; steps planned from now on go by them."""
    d.state.sizes.update(event.sizes)
    d.state.disks.update(event.disks)
    if event.disks:
        _retry_some(d)


def topic_configs_seen(d: Decision, event: TopicConfigsSeen) -> None:
    """Remember what steps go by, such as min.insync.replicas."""
    for topic, values in event.topics.items():
        for name, value in values.items() if topic in d.state.topics else ():
            known = d.state.config(ResourceType.TOPIC, topic, name)
            if value is not None and value != known:
                d.put(Config(ResourceType.TOPIC, topic, name, value))
            elif value is None and known is not None:
                d.delete(Config, (ResourceType.TOPIC, topic, name))
    evaluate_health(d)


def _brokers(d: Decision, event: UpstreamPolled) -> bool:
    """Take in who is there; True when a broker has come back."""
    state = d.state
    if event.brokers is None:
        return False
    for broker, host, port, rack, _ in event.brokers:
        record = Broker(broker, host, port, rack, 0)
        if state.brokers.get(broker) != record:
            d.put(record)
    for gone in state.brokers.keys() - {broker.id for broker in event.brokers}:
        d.delete(Broker, gone)
    alive = {broker.id for broker in event.brokers if broker.alive}
    back = bool(alive - state.live)
    state.live.clear()
    state.live.update(alive)
    state.unlisted_brokers -= alive
    return back


def _absent(state: State) -> set[int]:
    """Brokers that are gone with replicas on them. Before Kafka 4.0 those that are fenced are not listed either."""
    lagging = chain(state.under_replicated, state.offline)
    return {
        r for topic, number in lagging for r in state.partitions[topic][number].replicas
    } - state.brokers.keys()


def _topic(d: Decision, seen: UpstreamTopic, event: UpstreamPolled) -> Iterator[None]:
    state = d.state
    known = state.topics.get(seen.name)
    if known is not None and _is_anew(state, known, seen, event):
        # Where nothing is lost by it, it is believed at once: an order must not go by the topic of before.
        if (known.id == NO_ID or _is_ours(state, seen.name)) and not is_removed(d, seen.name):
            return
        yield from topic_removed(d, seen.name)
        known = None
    state.missing_since.pop(seen.name, None)
    if known is None or (known.id == NO_ID != seen.id):
        d.put(Topic(seen.name, seen.id))
    for number, partition in sorted(seen.partitions.items()):
        key = TopicPartition(seen.name, number)
        if number > len(state.partitions[seen.name]):
            break  # a part of a topic that is new to us: the next whole look brings the rest
        if not (_is_quiet(state, key, partition, event) or _is_old(state, key, partition)):
            _partition(d, key, partition, event)
        if number % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield


def _is_ours(state: State, topic: str) -> bool:
    """Something is wanted of the topic, or remembered of a step."""
    return topic in our_topics(state) or any(
        partition.key in state.upstream_steps for partition in state.partitions[topic]
    )


def _is_anew(state: State, known: Topic, seen: UpstreamTopic, event: UpstreamPolled) -> bool:
    """Another topic of the same name. One of the same id that has fewer partitions is seen by a broker that lags.

    Brokers before 2.8 tell no ids, and topics get theirs when the last one has been upgraded.
    """
    if NO_ID not in {known.id, seen.id}:
        return known.id != seen.id
    return event.whole and len(seen.partitions) < len(state.partitions[seen.name])


def _moves_alone(d: Decision, event: UpstreamPolled) -> None:
    """Steps in flight that the upstream still shows as moves need no look at their topic."""
    state = d.state
    looked_at = {(topic.name, number) for topic in event.topics for number in topic.partitions}
    for key, move in event.moves.items():
        submission, partition = state.upstream_steps.get(key), state.partition(*key)
        if submission is None or partition is None or not submission.in_flight or key in looked_at:
            continue
        _note_unwanted(state, partition)
        now = UpstreamPartition(move.replicas, partition.isr, partition.leader, partition.leader_epoch)
        if not _says_nothing(d, key, event):
            follow(d, partition, submission, now, move)


def _says_nothing(d: Decision, key: TopicPartition, event: UpstreamPolled) -> bool:
    """A row was on its way during the look, or was decided since: the look is too old for it, or it is too hasty."""
    return not event.conclusive or key in event.outstanding or d.state.awaits_answer(key)


def _is_old(state: State, key: TopicPartition, seen: UpstreamPartition) -> bool:
    """A broker that lags behind the one that was asked before. Without topic ids it may be a topic made anew, though."""
    known = state.partition(*key)
    return (
        known is not None and seen.leader_epoch < known.leader_epoch and state.topics[key.topic].id != NO_ID
    )


def _is_quiet(state: State, key: TopicPartition, seen: UpstreamPartition, event: UpstreamPolled) -> bool:
    """The partition is as it is known and nobody does anything with it: most of a whole look, so it must cost little."""
    known = state.partition(*key)
    return (
        known is not None
        and (known.replicas, known.isr, known.leader, known.leader_epoch) == seen
        and not known.moving
        and key not in event.moves
        and key not in state.reassignments
        and key not in state.upstream_steps
        and key not in state.external
        and key not in state.pending
        and key not in state.tracking
    )


def _partition(d: Decision, key: TopicPartition, seen: UpstreamPartition, event: UpstreamPolled) -> None:
    move = event.moves.get(key)
    state = d.state
    before = state.partition(*key)
    submission = state.upstream_steps.get(key)
    if submission is not None and submission.in_flight:
        now = _in_step(before, submission, seen)
        _put(d, before, now)
        if before is None and key in state.reassignments:
            charge(state, now, state.reassignments[key])
        _note_unwanted(state, now)
        if not _says_nothing(d, key, event):
            follow(d, now, submission, seen, move)
        return
    if before is not None and move is None and _lags(d, before, submission, seen):
        return
    # Metadata is polled after the list of reassignments, and from another broker: its replicas may be those before
    # the reassignment or after it. Only the three lists of one row fit together.
    replicas, adding, removing = move if move is not None else (seen.replicas, (), ())
    _, isr, leader, leader_epoch = seen
    now = Partition(*key, replicas, isr, leader, leader_epoch, adding=adding, removing=removing)
    changed = _put(d, before, now)
    _note_others(d, now, move, changed)
    if key not in state.reassignments:
        _unwanted(d, now, submission, seen, event)
        return
    if before is None and move is None:
        enqueue(d, now)
    if changed and key in state.waiting:
        fire(d, now, Trigger.PROGRESS)
    if event.conclusive:
        follow_settled(d, now, state.reassignments[key], move)


def _unwanted(
    d: Decision,
    partition: Partition,
    submission: UpstreamStep | None,
    seen: UpstreamPartition,
    event: UpstreamPolled,
) -> None:
    """Nothing is wanted of the partition: what is remembered of it may be over, what is queued may start."""
    key = partition.key
    move = event.moves.get(key)
    if submission is not None and (move is not None or caught_up(d, submission, seen)):
        d.delete(UpstreamStep, key)
    if key not in d.state.pending:
        if key not in d.state.upstream_steps:
            d.state.forget_sighting(key)
    elif event.conclusive:
        follow_settled(d, partition, None, move)


def _lags(d: Decision, before: Partition, submission: UpstreamStep | None, seen: UpstreamPartition) -> bool:
    """Metadata may not show yet how the last step ended, ours or that of someone else."""
    if before.key in d.state.external and before.moving:
        theirs = UpstreamStep(*before.key, before.current, before.next, epoch=before.leader_epoch)
        return is_behind(d, theirs, seen)
    if submission is None or seen.replicas == submission.following:
        return False
    return is_behind(d, submission, seen)


def _note_unwanted(state: State, partition: Partition) -> None:
    """A step that a stop left in flight counts against the limits as long as it lasts, like a move of others."""
    key = partition.key
    if key not in state.reassignments and key not in state.external:
        charge_external(state, partition)


def _note_others(d: Decision, partition: Partition, move: UpstreamMove | None, changed: bool) -> None:
    """Whether someone else moves the partition; if so, that counts against the limits, and where it leads may change."""
    state, key = d.state, partition.key
    if move is not None:
        if changed or key not in state.external:
            charge_external(state, partition)
    elif key in state.external:
        release(state, key)
        if key in state.reassignments:
            enqueue(d, partition)


def _in_step(before: Partition | None, submission: UpstreamStep, seen: UpstreamPartition) -> Partition:
    """The partition as it was asked for, in the health in which it was seen."""
    base, following = submission.base, submission.following
    if before is None:
        adding = tuple(r for r in following if r not in base)
        removing = tuple(r for r in base if r not in following)
        before = Partition(*submission.key, following + removing, (), -1, adding=adding, removing=removing)
    return before._replace(isr=seen.isr, leader=seen.leader, leader_epoch=seen.leader_epoch)


def _put(d: Decision, before: Partition | None, now: Partition) -> bool:
    """Remember it; True when it is new, or not as it was."""
    epoch = 0 if before is None else before.partition_epoch
    changed = before is None or now._replace(partition_epoch=epoch) != before
    if changed:
        d.put(now._replace(partition_epoch=epoch + 1))
    return changed


def _retry_all(d: Decision) -> Iterator[None]:
    """A broker has come back: look at all that waits, it may be for that one."""
    for seen, key in enumerate(list(d.state.waiting)):
        _retry(d, key)
        if seen % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield


def _retry_some(d: Decision) -> None:
    """From time to time, look at what waits for something that no event tells of: room on a disk, another answer.

    One that waits on goes to the end of `State.waiting`, so that all have their turn.
    """
    state = d.state
    unblocked = (key for key in state.waiting if not state.reassignments[key].blocked)
    for key in list(islice(unblocked, RETRIES)):
        _retry(d, key)


def _retry(d: Decision, key: TopicPartition) -> None:
    fire_at(d, key, Trigger.PROGRESS)
