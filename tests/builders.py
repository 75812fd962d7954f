"""Short ways to say what a test needs: a cluster, what happens to it, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller.decision import Decision
from controller.effects import Effect, Wake
from controller.errors import Outcome
from controller.events import (
    AlterPartition,
    AlterReassignments,
    AlterReply,
    AlterRow,
    AlterTopic,
    BrokerRegistration,
    BrokerStarted,
    BrokerStopped,
    Continue,
    Event,
    IsrChange,
)
from controller.machine import decide
from controller.model import Broker, Change, Partition, Reassignment, Replicas, Topic, TopicPartition
from controller.state import State


def key(name: str) -> TopicPartition:
    """`foo-0` as a key."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def partition(name: str, replicas: Sequence[int], **fields: Any) -> Partition:
    """A healthy partition led by its first replica, but for the fields given."""
    topic, number = key(name)
    made = Partition(topic, number, tuple(replicas), tuple(replicas), replicas[0])
    return made._replace(**fields) if fields else made


class World:
    """A controller with its state in memory, and all that it decided so far."""

    def __init__(self, brokers: Iterable[int] = range(1, 7), live: Iterable[int] | None = None) -> None:
        self.state = State()
        self.changes: list[Change] = []
        self.effects: list[Effect] = []
        ids = list(brokers)
        for epoch, broker in enumerate(ids, 1):
            self.state.put(Broker(broker, "localhost", 9000 + broker, f"rack-{broker % 3}", epoch))
        self.state.live.update(ids if live is None else live)

    def having(self, *partitions: Partition) -> "World":
        """With these partitions; one that moves has a reassignment from its current to its next list."""
        for made in partitions:
            if made.topic not in self.state.topics:
                self.state.put(Topic(made.topic, made.topic.encode().ljust(16, b"\0")[:16]))
            self.state.put(made)
            if made.moving:
                self.state.put(Reassignment(made.topic, made.partition, made.current, made.next))
        return self

    def do(self, event: Event) -> Decision:
        """Decide the event, and what the controller asks itself to go on with."""
        first = d = self._decide(event)
        while any(isinstance(effect, Wake) for effect in d.effects):
            d = self._decide(Continue())
        return first

    def _decide(self, event: Event) -> Decision:
        d = Decision(self.state)
        for _ in decide(d, event):
            pass
        self.changes += d.changes
        self.effects += [effect for effect in d.effects if not isinstance(effect, Wake)]
        return d

    def alter(self, rows: Mapping[str, Sequence[int] | None], **fields: Any) -> dict[str, Outcome]:
        """Order targets by partition name; None cancels."""
        topics: dict[str, list[AlterRow]] = {}
        for name, replicas in rows.items():
            topic, number = key(name)
            topics.setdefault(topic, []).append(
                AlterRow(number, None if replicas is None else tuple(replicas))
            )
        event = AlterReassignments([AlterTopic(t, r) for t, r in topics.items()])
        reply = self.do(event._replace(**fields)).reply
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
        self.do(BrokerStarted(BrokerRegistration(broker, "localhost", 9000 + broker)))

    def __getitem__(self, name: str) -> Partition:
        topic, number = key(name)
        return self.state.partitions[topic][number]

    def wanted(self, name: str) -> Reassignment | None:
        """The ongoing reassignment of the partition."""
        return self.state.reassignments.get(key(name))

    def replicas(self, name: str) -> Replicas:
        """The replica list as brokers know it."""
        return self[name].replicas


def outcomes(reply: AlterReply) -> dict[str, Outcome]:
    """The rows of a reply by partition name; the last one of a repeated partition."""
    return {f"{topic}-{number}": outcome for topic, rows in reply.topics for number, outcome in rows}
