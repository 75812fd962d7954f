"""Short ways to say what a test needs: a cluster, what happens to it, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.machine import decide
from controller.messages.effects import DropReplica, Effect, Publish, Wake
from controller.messages.event import AnyEvent
from controller.messages.events import (
    AlterConfigs,
    AlterPartition,
    AlterReassignments,
    BrokerRegistration,
    BrokerStarted,
    BrokerStopped,
    Continue,
    ControlledShutdown,
    ControllerStarted,
    IsrChange,
    ResourceChanges,
)
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.cluster import (
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Partition,
    Paused,
    Reassignment,
    Record,
    Replicas,
    ResourceType,
    Topic,
    TopicPartition,
)
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.reassignment.phases import Phase, phase_of
from controller.scheduling.limits import CONFIGS
from controller.state.decision import Decision
from controller.state.state import State


def key(name: str) -> TopicPartition:
    """`foo-0` as a key."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def partition(name: str, replicas: Sequence[int], **fields: Any) -> Partition:
    """A healthy partition led by its first replica, but for the fields given."""
    topic, number = key(name)
    made = Partition(topic, number, tuple(replicas), tuple(replicas), replicas[0])
    return made._replace(**fields) if fields else made


def registration(broker: int) -> BrokerRegistration:
    """What the broker of this id says of itself."""
    return BrokerRegistration(broker, "localhost", 9000 + broker, f"rack-{broker % 3}")


def records(state: State) -> list[Record]:
    """All that is durable of the state, in the order in which a store loads it."""
    configs = [
        Config(*key, name, value) for key, all_ in state.configs.items() for name, value in all_.items()
    ]
    return [
        ControllerEpoch(state.controller_epoch),
        *state.brokers.values(),
        *state.topics.values(),
        *state.all_partitions(),
        *sorted(state.reassignments.values()),
        *configs,
        *state.jobs.values(),
        *(row for rows in state.finished.values() for row in rows.values()),
        *state.pending.values(),
        *state.leases.values(),
        *state.upstream_steps.values(),
        *([Paused(True)] if state.paused else []),
    ]


class InMemoryController:
    """A controller with its state in memory, and all that it decided so far.

    What `do` decides is replayed from its changes alone, as a store would, and must lead to the same state.
    """

    def __init__(self, brokers: Iterable[int] = range(1, 7), live: Iterable[int] | None = None) -> None:
        self.state = State()
        self.now_ms = 1_000
        self.changes: list[Change] = []
        self.effects: list[Effect] = []
        self._replayed = State()
        self._seen = 0
        ids = list(brokers)
        for epoch, broker in enumerate(ids, 1):
            self.put(Broker(*registration(broker)[:4], epoch))
        self.state.live.update(ids if live is None else live)

    def put(self, *given: Record) -> None:
        """Have these records without a decision."""
        for record in given:
            self.state.put(record)
            self._replayed.put(record)

    def with_partitions(self, *partitions: Partition) -> "InMemoryController":
        """With these partitions; one that moves has a reassignment from its current to its next list."""
        for made in partitions:
            if made.topic not in self.state.topics:
                self.put(Topic(made.topic, made.topic.encode().ljust(16, b"\0")[:16]))
            self.put(made)
            if made.moving:
                self.put(Reassignment(made.topic, made.partition, made.current, made.next, 0))
        return self

    def with_topic_config(self, name: str, value: str, topic: str = "foo") -> "InMemoryController":
        """With this value set on the topic."""
        self.put(Config(ResourceType.TOPIC, topic, name, value))
        return self

    def with_limits(self, **limits: int) -> "InMemoryController":
        """With these limits of KIP-435, named by the fields of `Limits`."""
        names = {field: name for name, field in CONFIGS.items()}
        for field, value in limits.items():
            self.default(names[field], str(value))
        return self

    def default(self, name: str, value: str | None) -> Outcome:
        """Set a cluster-wide config, or delete it with None."""
        change = ConfigChange(name, ConfigOp.DELETE if value is None else ConfigOp.SET, value)
        outcome: Outcome = self.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", [change])])).reply[
            0
        ]
        return outcome

    def catch_up(self) -> None:
        """Every replica of every step in flight gets in sync, once."""
        for key in list(self.state.in_flight):
            self.isr(str(key), self.state.partitions[key.topic][key.partition].replicas)

    def settle(self) -> "InMemoryController":
        """Let everything move until nothing does."""
        while self.state.in_flight:
            self.catch_up()
        return self

    def in_flight(self) -> list[str]:
        """The partitions with a step in flight."""
        return list(map(str, self.state.in_flight))

    def do(self, event: AnyEvent) -> Decision:
        """Decide the event, and what the controller asks itself to go on with."""
        first = d = self.decide(event)
        while any(isinstance(effect, Wake) for effect in d.effects):
            d = self.decide(Continue())
        self._replay()
        return first

    def decide(self, event: AnyEvent) -> Decision:
        """Decide this event only."""
        d = Decision(self.state, self.now_ms)
        for _ in decide(d, event):
            pass
        self.changes += d.changes
        self.effects += [effect for effect in d.effects if not isinstance(effect, Wake)]
        return d

    def _replay(self) -> None:
        """The changes alone, as a store would have them, lead to the same state."""
        self._replayed.apply(self.changes[self._seen :])
        self._seen = len(self.changes)
        assert records(self._replayed) == records(self.state)
        assert self._replayed.reassigning == self.state.reassigning
        assert self._replayed.open == self.state.open
        assert self._replayed.offline == self.state.offline
        assert self._replayed.under_replicated == self.state.under_replicated

    def alter(self, rows: Mapping[str, Sequence[int] | None], **fields: Any) -> dict[str, Outcome]:
        """Order targets by partition name; None cancels."""
        topics: dict[str, list[AlterRow]] = {}
        for name, replicas in rows.items():
            topic, number = key(name)
            topics.setdefault(topic, []).append(
                AlterRow(number, None if replicas is None else tuple(replicas))
            )
        event = AlterReassignments([AlterTopic(t, r) for t, r in topics.items()])
        reply = self.do(replace(event, **fields)).reply
        return outcomes(reply)

    def isr(self, name: str, members: Sequence[int]) -> Outcome:
        """The leader reports this ISR."""
        now = self[name]
        change = IsrChange(now.topic, now.partition, now.leader_epoch, tuple(members), now.partition_epoch)
        reply = self.do(AlterPartition(now.leader, -1, [change])).reply
        row: Outcome = reply.rows[0] if reply.rows else reply.outcome
        return row

    def stop(self, broker: int) -> None:
        """The broker dies."""
        self.do(BrokerStopped(broker))

    def start(self, broker: int) -> None:
        """The broker comes back."""
        self.do(BrokerStarted(registration(broker)))

    def shut_down(self, broker: int) -> Decision:
        """The broker asks to leave."""
        return self.do(ControlledShutdown(broker, -1))

    def restart(self, live: Iterable[int] | None = None) -> "InMemoryController":
        """The controller that starts on the records of this one; by default the same brokers answer."""
        other = InMemoryController(())
        other.put(*records(self.state))
        brokers = sorted(self.state.live) if live is None else live
        other.do(ControllerStarted([registration(broker) for broker in brokers]))
        return other

    def __getitem__(self, name: str) -> Partition:
        topic, number = key(name)
        return self.state.partitions[topic][number]

    def reassignment_of(self, name: str) -> Reassignment | None:
        """The ongoing reassignment of the partition."""
        return self.state.reassignments.get(key(name))

    def phase(self, name: str) -> Phase:
        """Where the partition's reassignment stands."""
        return phase_of(self.state, key(name))

    def waiting_reason(self, name: str) -> str:
        """Why the partition's reassignment waits."""
        return self.state.waiting[key(name)]

    def published(self, name: str) -> list[Publish]:
        """What brokers were told of the partition, in order."""
        return [e for e in self.effects if isinstance(e, Publish) and e.partition.key == key(name)]

    def dropped(self, name: str) -> list[int]:
        """The brokers that were told to drop their replica of the partition, in order."""
        drops = [
            e for e in self.effects if isinstance(e, DropReplica) and (e.topic, e.partition) == key(name)
        ]
        return [broker for drop in drops for broker in drop.brokers]

    def replicas(self, name: str) -> Replicas:
        """The replica list as brokers know it."""
        return self[name].replicas


def outcomes(reply: AlterReply) -> dict[str, Outcome]:
    """The rows of a reply by partition name; the last one of a repeated partition."""
    return {f"{topic}-{number}": outcome for topic, rows in reply.topics for number, outcome in rows}
