"""A Kafka as `controller.upstream.polled` sees it: KRaft's rules for 45 and 46, in memory, and a world that runs on it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from common.error_codes import ErrorCode
from controller.messages.effects import Elect, Submit
from controller.messages.upstream_events import (
    Submitted,
    UpstreamBroker,
    UpstreamMove,
    UpstreamPartition,
    UpstreamPolled,
    UpstreamTopic,
)
from controller.model.cluster import Broker, Partition, Record, Replicas, TopicPartition
from controller.model.errors import DONE, Outcome
from controller.model.profile import GATEWAY
from controller.state.state import State
from tests.builders import InMemoryController, key, records

LOOK_MS = 250


@dataclass
class Kraft:
    """Partitions by name, and what is moving."""

    replicas: dict[TopicPartition, Replicas] = field(default_factory=dict)
    isr: dict[TopicPartition, Replicas] = field(default_factory=dict)
    leader: dict[TopicPartition, int] = field(default_factory=dict)
    epoch: dict[TopicPartition, int] = field(default_factory=dict)
    lagging: list[UpstreamTopic] | None = None
    """What brokers show instead of what is."""
    adding: dict[TopicPartition, Replicas] = field(default_factory=dict)
    removing: dict[TopicPartition, Replicas] = field(default_factory=dict)
    brokers: set[int] = field(default_factory=lambda: set(range(1, 9)))
    down: set[int] = field(default_factory=set)
    requests: list[Submit] = field(default_factory=list)
    made: dict[str, int] = field(default_factory=dict)
    """How often each topic was created."""

    def create(self, name: str, replicas: Iterable[int]) -> None:
        """A healthy partition."""
        made = key(name)
        if not any(known.topic == made.topic for known in self.replicas):
            self.made[made.topic] = self.made.get(made.topic, 0) + 1
        self.replicas[made] = self.isr[made] = tuple(replicas)
        self.leader[made] = self.replicas[made][0]
        self.epoch[made] = 0

    def alter(self, name: TopicPartition, target: Replicas | None) -> Outcome:
        """One row of 45."""
        self.requests.append(Submit(*name, target))
        if name not in self.replicas:
            return Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if target is None:
            if not self.moves(name):
                return Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
            self._revert(name)
            return DONE
        now = self.replicas[name]
        removed = tuple(sorted(set(now) - set(target)))  # KRaft sorts what is to go.
        merged = target + removed
        still_coming = tuple(r for r in self.adding.get(name, ()) if r in target)
        self.adding[name] = still_coming + tuple(r for r in target if r not in now)
        self.removing[name] = removed
        self.replicas[name] = merged
        self._complete(name)
        return DONE

    def delete(self, name: TopicPartition) -> None:
        """The partition is gone, with its topic when it was the last one."""
        for lists in (self.replicas, self.isr, self.adding, self.removing):
            lists.pop(name, None)
        for numbers in (self.leader, self.epoch):
            numbers.pop(name, None)

    def moves(self, name: TopicPartition) -> bool:
        """A reassignment of the partition is in progress."""
        return bool(self.adding.get(name) or self.removing.get(name))

    def elect(self, name: TopicPartition) -> None:
        """A preferred election."""
        if name not in self.replicas:
            return
        first = self.replicas[name][0]
        if first in self.isr[name] and first not in self.down:
            self._lead(name, first)

    def lead(self, name: TopicPartition, broker: int) -> None:
        """Another leader, if it can lead."""
        if broker in self.isr[name] and broker not in self.down:
            self._lead(name, broker)

    def catch_up(self, name: TopicPartition) -> None:
        """Live replicas of the partition get in sync."""
        self.isr[name] = tuple(r for r in self.replicas[name] if r not in self.down)
        self._complete(name)

    def _revert(self, name: TopicPartition) -> None:
        """As Kafka does it: the added ones go, in the order that the list has now."""
        added = self.adding.pop(name, ())
        self.removing.pop(name, None)
        self._set(name, tuple(r for r in self.replicas[name] if r not in added))

    def _complete(self, name: TopicPartition) -> None:
        target = tuple(r for r in self.replicas[name] if r not in self.removing.get(name, ()))
        if set(target) <= set(self.isr[name]):
            self.adding.pop(name, None)
            self.removing.pop(name, None)
            self._set(name, target)

    def _set(self, name: TopicPartition, replicas: Replicas) -> None:
        self.epoch[name] += not set(self.replicas[name]) <= set(replicas)
        self.replicas[name] = replicas
        self.isr[name] = tuple(r for r in self.isr[name] if r in replicas) or replicas[:1]
        if self.leader[name] not in replicas:
            self._lead(name, self.isr[name][0])

    def _lead(self, name: TopicPartition, leader: int) -> None:
        self.epoch[name] += leader != self.leader[name]
        self.leader[name] = leader

    def freeze(self) -> None:
        """Brokers publish nothing new, until `lagging` is None."""
        self.lagging = self._topics()

    def look(self, outstanding: Iterable[TopicPartition] = ()) -> UpstreamPolled:
        """What a client sees now, of everything."""
        moves = {
            name: UpstreamMove(self.replicas[name], self.adding.get(name, ()), self.removing.get(name, ()))
            for name in self.replicas
            if self.moves(name)
        }
        brokers = [UpstreamBroker(b, "localhost", 9000 + b, None, b not in self.down) for b in self.brokers]
        topics = self._topics() if self.lagging is None else self.lagging
        return UpstreamPolled(brokers, topics, moves, whole=True, outstanding=set(outstanding))

    def _topics(self) -> list[UpstreamTopic]:
        topics: dict[str, dict[int, UpstreamPartition]] = {}
        for name in sorted(self.replicas):
            row = UpstreamPartition(self.replicas[name], self.isr[name], self.leader[name], self.epoch[name])
            topics.setdefault(name.topic, {})[name.partition] = row
        return [UpstreamTopic(topic, self._id(topic), rows) for topic, rows in topics.items()]

    def _id(self, topic: str) -> bytes:
        again = self.made.get(topic, 1) - 1
        return (topic.encode() + bytes([again] if again else [])).ljust(16, b"\0")


class Gateway(InMemoryController):
    """A controller before a Kafka."""

    def __init__(self, *partitions: tuple[str, Iterable[int]], kafka: Kraft | None = None) -> None:
        super().__init__(())
        self.kafka = kafka or Kraft()
        for name, replicas in partitions:
            self.kafka.create(name, replicas)
        self.state.profile = GATEWAY
        self._heard = 0
        if kafka is None:
            self.look()

    def look(self) -> None:
        """Observe, a quarter of a second after the last time."""
        self.now_ms += LOOK_MS
        self.do(self.kafka.look())

    def look_for(self, ms: int) -> None:
        """Observe again and again for so long."""
        for _ in range(ms // LOOK_MS + 1):
            self.look()

    def carry(self) -> None:
        """Carry out what was decided, and hear the answers."""
        rows = []
        for effect in self._unheard():
            if isinstance(effect, Submit):
                name = TopicPartition(effect.topic, effect.partition)
                rows.append((name, effect.replicas, self.kafka.alter(name, effect.replicas)))
            elif isinstance(effect, Elect):
                self.kafka.elect(TopicPartition(effect.topic, effect.partition))
        if rows:
            self.do(Submitted(rows))

    def lose(self) -> None:
        """What was decided never leaves us."""
        self._give_up(each for each in self._unheard() if isinstance(each, Submit))

    def send_unheard(self) -> None:
        """What was decided is carried out, and the answers are lost."""
        sent = [each for each in self._unheard() if isinstance(each, Submit)]
        for effect in sent:
            self.kafka.alter(TopicPartition(effect.topic, effect.partition), effect.replicas)
        self._give_up(sent)

    def _give_up(self, sent: Iterable[Submit]) -> None:
        lost = Outcome(ErrorCode.REQUEST_TIMED_OUT)
        rows = [(TopicPartition(row.topic, row.partition), row.replicas, lost) for row in sent]
        if rows:
            self.do(Submitted(rows))

    def catch_up(self) -> None:
        """Carry out, let everything upstream catch up once, and look."""
        self.carry()
        for name in self.kafka.replicas:
            self.kafka.catch_up(name)
        self.look()

    def settle(self) -> "Gateway":
        """Until nothing changes any more."""
        for _ in range(500):
            before = (dict(self.kafka.replicas), len(self.effects), dict(self.state.upstream_steps))
            self.catch_up()
            after = (self.kafka.replicas, len(self.effects), self.state.upstream_steps)
            if before == after and not self.state.sighted_keys():
                break
        return self

    def again(self) -> "Gateway":
        """Another process on the same records, before the same Kafka."""
        other = Gateway(kafka=self.kafka)
        other.put(*own(self.state))
        other.look()
        return other

    def _unheard(self) -> list[object]:
        found = self.effects[self._heard :]
        self._heard = len(self.effects)
        return list(found)


def own(state: State) -> list[Record]:
    """The records that are ours: what a store keeps of a gateway."""
    return [each for each in records(state) if not isinstance(each, Broker | Partition)]
