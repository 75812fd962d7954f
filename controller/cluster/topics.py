"""Creation of topics and partitions (KIP-4; Kafka: ReplicationControlManager). Deletion: `deletions`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import NamedTuple

from common.error_codes import ErrorCode
from common.lists import grouped
from common.wording import counted, some
from controller.cluster.configs import check_topic_configs
from controller.execution.cordons import is_cordoned
from controller.messages.effects import Publish
from controller.messages.events import (
    CreatedTopic,
    CreatePartitions,
    CreateTopics,
    NewPartitions,
    NewTopic,
)
from controller.model.cluster import Config, Partition, Replicas, ResourceType, Topic
from controller.model.configs import EXCLUDED_BROKERS, NUM_PARTITIONS, REPLICATION_FACTOR
from controller.model.election import first_eligible
from controller.model.errors import DONE, Outcome
from controller.model.replicas import display_name, is_topic_name
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import Decision, State

PARTITIONS_PER_SLICE = 500
TOPICS_PER_SLICE = 50


class _Layout(NamedTuple):
    """New partitions: their number, replication factor, and replica lists, which are computed lazily."""

    partitions: int = -1
    factor: int = -1
    replicas: Iterable[Replicas] = ()


NO_LAYOUT = _Layout()


NAMED = 20
"""Excluded brokers that a message names; a message has 32,767 bytes at most."""


def create_topics(d: Decision, event: CreateTopics) -> Iterator[None]:
    """Create each topic independently; none if the request is too large. The reply has one row per topic."""
    created: list[CreatedTopic] = []
    d.answer(event, created)
    refused = excess([size_of(d.state, topic) for topic in event.topics])
    if refused is not None:
        created += [CreatedTopic(topic.name, refused) for topic in event.topics]
        return
    names = Counter(topic.name for topic in event.topics)
    first = _partition_count(d.state)
    for seen, topic in enumerate(event.topics, 1):
        layout = NO_LAYOUT
        outcome = _check_topic(d.state, topic)
        if names[topic.name] > 1:
            outcome = Outcome(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        if outcome.ok:
            outcome, layout = _layout(d.state, topic, first)
        if outcome.ok and not event.validate_only:
            d.put(Topic(topic.name, topic.id))
            for key, value in topic.configs.items():
                if value is not None:
                    d.put(Config(ResourceType.TOPIC, topic.name, key, value))
            for _ in _add_partitions(d, topic.name, 0, layout.replicas):
                yield
            first += layout.partitions
        created.append(CreatedTopic(topic.name, outcome, layout.partitions, layout.factor))
        if seen % TOPICS_PER_SLICE == 0:
            yield


def create_partitions(d: Decision, event: CreatePartitions) -> Iterator[None]:
    """Add partitions to each topic independently; none if the request is too large."""
    answers: list[tuple[str, Outcome]] = []
    d.answer(event, answers)
    refused = excess([growth_size(d.state, topic) for topic in event.topics])
    if refused is not None:
        answers += [(topic.topic, refused) for topic in event.topics]
        return
    first = _partition_count(d.state)
    for seen, topic in enumerate(event.topics, 1):
        outcome, layout = _growth(d.state, topic, first)
        if outcome.ok and not event.validate_only:
            there = len(d.state.cluster.partitions[topic.topic])
            for _ in _add_partitions(d, topic.topic, there, layout.replicas):
                yield
            first += layout.partitions
        answers.append((topic.topic, outcome))
        if seen % TOPICS_PER_SLICE == 0:
            yield


def _add_partitions(d: Decision, topic: str, first: int, layout: Iterable[Replicas]) -> Iterator[None]:
    live = d.state.cluster.live
    for number, replicas in enumerate(layout, first):
        isr = tuple(r for r in replicas if r in live) or replicas
        partition = Partition(topic, number, replicas, isr, first_eligible(replicas, isr, live))
        d.put(partition)
        d.effects.append(Publish(partition, new=replicas))
        if number % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield


def _check_topic(state: State, topic: NewTopic) -> Outcome:
    name = topic.name
    if not is_topic_name(name):
        return Outcome(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"The topic name {display_name(name)!r} is not valid: "
            "use 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and neither '.' nor '..'.",
        )
    if name in state.cluster.topics:
        return Outcome(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if state.cluster.refused_topic(name):
        return Outcome(
            ErrorCode.TOPIC_ALREADY_EXISTS,
            f"There is a topic '{name}' that was refused: the controller's log says why. Mend or remove it.",
        )
    return check_topic_configs(topic.configs)


def _layout(state: State, topic: NewTopic, first: int) -> tuple[Outcome, _Layout]:
    if topic.assignments:
        return _manual_layout(state, topic)
    count, factor = wanted_of(state, topic)
    if count <= 0:
        return _refuse(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    return _placed(state, topic.name, count, factor, first)


def _placed(state: State, topic: str, count: int, factor: int, first: int) -> tuple[Outcome, _Layout]:
    outcome = _check_factor(state, factor)
    if outcome.ok:
        outcome = check_room(state, topic, count, count * factor)
    if not outcome.ok:
        return outcome, NO_LAYOUT
    return DONE, _Layout(count, factor, islice(place(_racks(state), factor, first), count))


def _by_hand(state: State, topic: str, layout: Sequence[Replicas], factor: int) -> tuple[Outcome, _Layout]:
    outcome = _check_layout(state, layout, factor)
    if outcome.ok:
        outcome = check_room(state, topic, len(layout), len(layout) * factor)
    return outcome, _Layout(len(layout), factor, layout) if outcome.ok else NO_LAYOUT


def _manual_layout(state: State, topic: NewTopic) -> tuple[Outcome, _Layout]:
    if topic.partitions != -1 or topic.replication_factor != -1:
        return _refuse(
            ErrorCode.INVALID_REQUEST,
            "Give either the numbers of partitions and replicas, or the assignments, and not both.",
        )
    if sorted(topic.assignments) != list(range(len(topic.assignments))):
        return _refuse(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The assigned partitions must be numbered from 0 without gaps.",
        )
    layout = [topic.assignments[number] for number in range(len(topic.assignments))]
    return _by_hand(state, topic.name, layout, len(layout[0]))


def _growth(state: State, wanted: NewPartitions, first: int) -> tuple[Outcome, _Layout]:
    known = state.cluster.topics.get(wanted.topic)
    # The replication factor is that of the first partition. A topic whose partitions are not read yet has
    # none.
    if known is None or known.deleting or not state.cluster.partitions[wanted.topic]:
        return Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), NO_LAYOUT
    if wanted.topic in state.orders.reassigning and not state.mode.grows_while_moving:
        return _refuse(
            ErrorCode.REASSIGNMENT_IN_PROGRESS,
            f"A partition reassignment is in progress for the topic '{wanted.topic}'.",
        )
    old = state.cluster.partitions[wanted.topic]
    added = wanted.total - len(old)
    if added <= 0:
        return _refuse(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {wanted.topic} currently has {len(old)} partition(s); "
            f"{wanted.total} would not be an increase.",
        )
    factor = len(old[0].current)
    if wanted.assignments is None:
        return _placed(state, wanted.topic, added, factor, first)
    if len(wanted.assignments) != added:
        return _refuse(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partition(s) are added, but {len(wanted.assignments)} assignment(s) were given.",
        )
    return _by_hand(state, wanted.topic, wanted.assignments, factor)


def _check_layout(state: State, layout: Sequence[Replicas], factor: int) -> Outcome:
    for replicas in layout:
        outcome = state.cluster.check_replicas(replicas)
        if not outcome.ok:
            return outcome
        if len(replicas) != factor:
            return Outcome(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"All partitions of a topic have as many replicas: {len(replicas)} instead of {factor}.",
            )
        if not any(r in state.cluster.live for r in replicas):
            return Outcome(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"None of the brokers {list(replicas)} is alive; name a live one.",
            )
    return DONE


def _check_factor(state: State, factor: int) -> Outcome:
    if factor <= 0:
        return Outcome(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    usable = len(_racks(state))
    if factor > usable:
        excluded = sorted(state.settings.excluded_brokers & state.cluster.live)
        reason = f" and not in {EXCLUDED_BROKERS} ({some([*map(str, excluded)], NAMED)})" if excluded else ""
        return Outcome(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): "
            f"The target replication factor of {factor} cannot be "
            f"reached because only {usable} broker(s) are registered{reason}.",
        )
    return DONE


def _racks(state: State) -> dict[int, str | None]:
    """Return the brokers that may receive new replicas, with their racks."""
    able = state.cluster.live - state.cluster.shutting_down - state.settings.excluded_brokers
    return {b: state.cluster.brokers[b].rack for b in able if not is_cordoned(state, b)}


def _partition_count(state: State) -> int:
    return sum(len(partitions) for partitions in state.cluster.partitions.values())


def _refuse(error: ErrorCode, message: str) -> tuple[Outcome, _Layout]:
    return Outcome(error, message), NO_LAYOUT


MAX_NEW_PARTITIONS = 10_000
"""Partitions that one request may add, in all of its topics (Kafka: ReplicationControlManager)."""
MAX_NEW_REPLICAS = 100_000
"""Replicas that one request may add."""


class Size(NamedTuple):
    """The partitions and replicas that a request adds."""

    partitions: int
    replicas: int


def excess(sizes: Sequence[Size]) -> Outcome | None:
    """Return the refusal of a request that exceeds the bounds as a whole, or None."""
    partitions, replicas = sum(size.partitions for size in sizes), sum(size.replicas for size in sizes)
    if partitions <= MAX_NEW_PARTITIONS and replicas <= MAX_NEW_REPLICAS:
        return None
    return Outcome(
        ErrorCode.POLICY_VIOLATION,
        f"The request asks for {counted(partitions, 'new partition')} with {counted(replicas, 'replica')}; "
        f"one request may add {MAX_NEW_PARTITIONS:,} partitions with {MAX_NEW_REPLICAS:,} replicas. "
        "Use several requests.",
    )


def size_of(state: State, topic: NewTopic) -> Size:
    """Return the size of a new topic."""
    if topic.assignments:
        return Size(len(topic.assignments), sum(map(len, topic.assignments.values())))
    count, factor = wanted_of(state, topic)
    # A factor above the number of brokers is refused for that topic only, so it must not exceed the bounds
    # here.
    return Size(max(0, count), max(0, count) * max(0, min(factor, len(state.cluster.live))))


def growth_size(state: State, wanted: NewPartitions) -> Size:
    """Return the size of the added partitions; zero for an unknown topic, which is refused separately."""
    old = state.cluster.partitions.get(wanted.topic, ())
    added = max(0, wanted.total - len(old)) if old else 0
    if wanted.assignments is not None:
        return Size(added, sum(map(len, wanted.assignments)))
    return Size(added, added * len(old[0].current) if old else 0)


def wanted_of(state: State, topic: NewTopic) -> tuple[int, int]:
    """Return the number of partitions and the replication factor, with the cluster's defaults for -1."""
    count, factor = topic.partitions, topic.replication_factor
    return (
        count if count != -1 else _default(state, NUM_PARTITIONS),
        factor if factor != -1 else _default(state, REPLICATION_FACTOR),
    )


def check_room(state: State, topic: str, partitions: int, replicas: int) -> Outcome:
    """Check that the backend can store a topic of this size."""
    old = state.cluster.partitions.get(topic, ())
    partitions += len(old)
    replicas += sum(len(partition.replicas) for partition in old)
    if state.cluster.fits_topic(partitions, replicas):
        return DONE
    return Outcome(
        ErrorCode.POLICY_VIOLATION,
        f"{counted(partitions, 'partition')} with {counted(replicas, 'replica')} are too much for one topic: "
        "ZooKeeper has no room for it in one znode.",
    )


def _default(state: State, key: str) -> int:
    return int(state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, key) or 1)


def interleave_racks(racks: Mapping[int, str | None]) -> list[int]:
    """Return the broker ids so that neighbours are in different racks where possible."""
    by_rack = grouped((racks[broker], broker) for broker in sorted(racks))
    ordered = [by_rack[rack] for rack in sorted(by_rack, key=str)]
    return [broker for broker in chain.from_iterable(zip_longest(*ordered)) if broker is not None]


def place(racks: Mapping[int, str | None], factor: int, first: int) -> Iterator[Replicas]:
    """Yield replica lists of `factor` brokers without end; `first` is the number of the first partition.

    Brokers lead in rotation. The followers shift with each round, so that no two brokers always share
    partitions. `factor` is at most the number of brokers.
    """
    brokers = interleave_racks(racks)
    size = len(brokers)
    rack_count = len(set(racks.values()))
    number = first
    while True:
        round_, lead = divmod(number, size)
        replicas = [brokers[lead]]
        used = {racks[brokers[lead]]}
        for distance in range(size - 1):
            candidate = brokers[(lead + 1 + (round_ + distance) % (size - 1)) % size]
            if len(replicas) == factor:
                break
            if racks[candidate] not in used or len(used) == rack_count:
                replicas.append(candidate)
                used.add(racks[candidate])
        for distance in range(1, size):
            if len(replicas) == factor:
                break
            candidate = brokers[(lead + distance) % size]
            if candidate not in replicas:
                replicas.append(candidate)
        yield tuple(replicas)
        number += 1
