"""What it costs to start the next step while few or many partitions wait; the core alone, in virtual time.

Run by `python -m bench.million`. A round is one decision: the ISR change that completes a step, and what it makes room for.
It is measured in processor time, so that other work on the machine does not count.
"""

from statistics import median
from time import thread_time

from controller.machine import decide
from controller.messages.effects import Wake
from controller.messages.event import AnyEvent
from controller.messages.events import AlterPartition, AlterReassignments, Continue, IsrChange
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Broker, Config, Partition, ResourceType, Topic, TopicPartition
from controller.scheduling.limits import CONFIGS
from controller.state.decision import Decision
from controller.state.state import State

PARTITIONS_PER_TOPIC = 1_000
BROKERS = 100
MOVING = 20
TARGET_MS = 1.0


def milliseconds_per_step(waiting: int, rounds: int = 1_000) -> tuple[float, float]:
    """Median and the longest of the rounds."""
    state = cluster(waiting + MOVING + rounds)
    limit = next(name for name, field in CONFIGS.items() if field == "partitions")
    state.put(Config(ResourceType.BROKER, "", limit, str(MOVING)))
    order(state)
    taken = []
    for _ in range(rounds):
        key = oldest(state)
        event = completed(state, key)
        begun = thread_time()
        decided(state, event)
        taken.append((thread_time() - begun) * 1000)
        assert not state.partitions[key.topic][key.partition].moving
        assert len(state.backlog.costs) == MOVING
    assert len(state.reassignments) == waiting + MOVING
    return median(taken), max(taken)


def cluster(partitions: int) -> State:
    """Three replicas each, spread by turns; all brokers are live."""
    state = State()
    for number in range(BROKERS):
        state.put(Broker(number, "localhost", 9092, None, number))
    state.live.update(range(BROKERS))
    for number in range(partitions):
        topic, index = f"topic-{number // PARTITIONS_PER_TOPIC}", number % PARTITIONS_PER_TOPIC
        if index == 0:
            state.put(Topic(topic, number.to_bytes(16)))
        replicas = tuple((number + each) % BROKERS for each in range(3))
        state.put(Partition(topic, index, replicas, replicas, replicas[0]))
    return state


def order(state: State) -> None:
    """Every partition is to go to three other brokers; returns when as many move as may."""
    topics = [
        AlterTopic(name, [AlterRow(p.partition, tuple((r + 9) % BROKERS for r in p.replicas)) for p in rows])
        for name, rows in state.partitions.items()
    ]
    d = decided(state, AlterReassignments(topics))
    while any(isinstance(effect, Wake) for effect in d.effects):
        d = decided(state, Continue())


def oldest(state: State) -> TopicPartition:
    """A partition with a step in flight."""
    topic, numbers = next(iter(state.in_flight.by_topic.items()))
    return TopicPartition(topic, min(numbers))


def completed(state: State, key: TopicPartition) -> AnyEvent:
    """Its leader says that all replicas are in sync."""
    now = state.partitions[key.topic][key.partition]
    change = IsrChange(*key, now.leader_epoch, now.replicas, now.partition_epoch)
    return AlterPartition(now.leader, -1, [change])


def decided(state: State, event: AnyEvent) -> Decision:
    """The decision, all slices of it."""
    d = Decision(state)
    for _ in decide(d, event):
        pass
    return d
