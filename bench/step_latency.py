"""CPU time of the controller to start the next step, by the number of queued partitions.

Part of `bench.queued_partitions`.

A round is one decision: the ISR change that completes a step, and the start of the next step. CPU time does
not depend on other work on the machine.
"""

from statistics import median
from time import thread_time

from controller.machine import decide
from controller.messages.event import AnyEvent
from controller.messages.events import AlterPartition, AlterReassignments, Continue, IsrChange
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Broker, Config, Partition, ResourceType, Topic, TopicPartition
from controller.modes import EMBEDDED
from controller.scheduling.limits import LIMITS
from controller.state.state import Decision, State

PARTITIONS_PER_TOPIC = 1_000
BROKERS = 100
MOVING = 20
TARGET_MS = 1.0


def milliseconds_per_step(waiting: int, rounds: int = 1_000) -> tuple[float, float]:
    """Return the median and the longest round."""
    state = cluster(waiting + MOVING + rounds)
    limit = next(limit.config for limit in LIMITS if limit.name == "P")
    state.put(Config(ResourceType.BROKER, "", limit, str(MOVING)))
    order(state)
    samples = []
    for _ in range(rounds):
        key = step_in_flight(state)
        event = completion_of(state, key)
        begun = thread_time()
        decide_fully(state, event)
        samples.append((thread_time() - begun) * 1000)
        assert not state.cluster.partitions[key.topic][key.partition].moving
        assert len(state.backlog.costs) == MOVING
    assert len(state.orders.reassignments) == waiting + MOVING
    return median(samples), max(samples)


def cluster(partitions: int) -> State:
    """Return a cluster of three replicas per partition, distributed evenly. All brokers are live."""
    state = State(mode=EMBEDDED)
    for number in range(BROKERS):
        state.put(Broker(number, "localhost", 9092, None, number))
    state.cluster.set_live(range(BROKERS))
    for number in range(partitions):
        topic, index = f"topic-{number // PARTITIONS_PER_TOPIC}", number % PARTITIONS_PER_TOPIC
        if index == 0:
            state.put(Topic(topic, number.to_bytes(16)))
        replicas = tuple((number + offset) % BROKERS for offset in range(3))
        state.put(Partition(topic, index, replicas, replicas, replicas[0]))
    return state


def order(state: State) -> None:
    """Reassign every partition to three other brokers, and start as many steps as the limit allows."""
    topics = [
        AlterTopic(name, [AlterRow(p.partition, tuple((r + 9) % BROKERS for r in p.replicas)) for p in rows])
        for name, rows in state.cluster.partitions.items()
    ]
    d = decide_fully(state, AlterReassignments(topics))
    while d.more:
        d = decide_fully(state, Continue())


def step_in_flight(state: State) -> TopicPartition:
    """Return a partition with a step in flight."""
    topic, numbers = next(iter(state.in_flight.by_topic.items()))
    return TopicPartition(topic, min(numbers))


def completion_of(state: State, key: TopicPartition) -> AnyEvent:
    """Return the leader's AlterPartition with all replicas in the ISR, which completes the step."""
    partition = state.cluster.partitions[key.topic][key.partition]
    change = IsrChange(*key, partition.leader_epoch, partition.replicas, partition.partition_epoch)
    return AlterPartition(partition.leader, -1, [change])


def decide_fully(state: State, event: AnyEvent) -> Decision:
    """Run all slices of the decision and return it."""
    d = Decision(state)
    for _ in decide(d, event):
        pass
    return d
