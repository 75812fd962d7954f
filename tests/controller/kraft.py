"""A model of a KRaft cluster in memory, and a gateway controller in front of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from common.error_codes import ErrorCode
from controller.gateway.events import (
    Submitted,
    UpstreamBroker,
    UpstreamMove,
    UpstreamPartition,
    UpstreamPolled,
    UpstreamTopic,
)
from controller.messages.effects import Elect, Submit
from controller.model.cluster import Broker, Partition, Record, Replicas, TopicPartition
from controller.model.errors import DONE, Outcome
from controller.modes import GATEWAY
from controller.state.state import State
from tests.builders import InMemoryController, key, records

POLL_MS = 250


@dataclass
class KraftModel:
    """A model of an upstream Kafka with KRaft's rules for reassignments."""

    waits_for_added: bool = True
    """The rule of Kafka 4.3 (KAFKA-19975): a move is complete when all of its `adding` is in the ISR and
    stays. Before 4.3: when the whole target is in the ISR."""
    replicas: dict[TopicPartition, Replicas] = field(default_factory=dict)
    isr: dict[TopicPartition, Replicas] = field(default_factory=dict)
    leader: dict[TopicPartition, int] = field(default_factory=dict)
    epoch: dict[TopicPartition, int] = field(default_factory=dict)
    lagging: list[UpstreamTopic] | None = None
    """The outdated metadata that brokers return; None if their metadata is current."""
    behind: list[UpstreamTopic] | None = None
    """The outdated metadata of one broker, which every third poll asks."""
    polls: int = 0
    adding: dict[TopicPartition, Replicas] = field(default_factory=dict)
    removing: dict[TopicPartition, Replicas] = field(default_factory=dict)
    brokers: set[int] = field(default_factory=lambda: set(range(1, 9)))
    down: set[int] = field(default_factory=set)
    requests: list[Submit] = field(default_factory=list)
    made: dict[str, int] = field(default_factory=dict)
    """Number of times each topic was created."""

    def create(self, name: str, replicas: Iterable[int]) -> None:
        """Create a healthy partition."""
        made = key(name)
        if not any(known.topic == made.topic for known in self.replicas):
            self.made[made.topic] = self.made.get(made.topic, 0) + 1
        self.replicas[made] = self.isr[made] = tuple(replicas)
        self.leader[made] = self.replicas[made][0]
        self.epoch[made] = 0

    def alter(self, name: TopicPartition, target: Replicas | None) -> Outcome:
        """Execute one row of AlterPartitionReassignments."""
        self.requests.append(Submit(*name, target))
        if name not in self.replicas:
            return Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if target is None:
            if not self.moves(name):
                return Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
            self._revert(name)
            return DONE
        now = self.replicas[name]
        removed = tuple(sorted(set(now) - set(target)))  # KRaft sorts the replicas to drop.
        added = tuple(sorted(set(target) - set(now)))
        self.replicas[name] = target + removed
        # A row that adds or removes nothing leaves what an earlier row adds or removes.
        self.adding[name] = added or self.adding.get(name, ())
        self.removing[name] = removed or self.removing.get(name, ())
        self._complete(name)
        return DONE

    def delete(self, name: TopicPartition) -> None:
        """Delete the partition. The topic is deleted with its last partition."""
        for lists in (self.replicas, self.isr, self.adding, self.removing):
            lists.pop(name, None)
        for numbers in (self.leader, self.epoch):
            numbers.pop(name, None)

    def moves(self, name: TopicPartition) -> bool:
        """Whether a reassignment of the partition is in progress."""
        return bool(self.adding.get(name) or self.removing.get(name))

    def elect(self, name: TopicPartition) -> None:
        """Elect the preferred leader, if it is live and in sync."""
        if name not in self.replicas:
            return
        first = self.replicas[name][0]
        if first in self.isr[name] and first not in self.down:
            self._lead(name, first)

    def lead(self, name: TopicPartition, broker: int) -> None:
        """Make the broker the leader, if it is live and in sync."""
        if broker in self.isr[name] and broker not in self.down:
            self._lead(name, broker)

    def catch_up(self, name: TopicPartition) -> None:
        """Put all live replicas of the partition into the ISR."""
        self.isr[name] = tuple(r for r in self.replicas[name] if r not in self.down)
        self._complete(name)

    def arrive(self, name: TopicPartition, broker: int) -> None:
        """Put one live replica into the ISR."""
        if broker in self.replicas[name] and broker not in {*self.down, *self.isr[name]}:
            self.isr[name] += (broker,)
            self._complete(name)

    def _revert(self, name: TopicPartition) -> None:
        """Cancel as KRaft does: remove the adding replicas and keep the current order of the rest."""
        added = self.adding.pop(name, ())
        self.removing.pop(name, None)
        self._set(name, tuple(r for r in self.replicas[name] if r not in added))

    def _complete(self, name: TopicPartition) -> None:
        adding, removing = self.adding.get(name, ()), self.removing.get(name, ())
        target = tuple(r for r in self.replicas[name] if r not in removing)
        whole = not self.waits_for_added or len(adding) < len(removing)
        staying = set(self.isr[name]).difference(removing)
        awaited = {*(adding if self.waits_for_added else ()), *(target if whole else ())}
        if staying and awaited <= staying:
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
        """Let brokers return the present metadata until `lagging` is None again."""
        self.lagging = self._topics()

    def freeze_one(self) -> None:
        """Let one broker return the present metadata until `behind` is None again."""
        if self.behind is None:
            self.behind = self._topics()

    def publish(self) -> None:
        """Let all brokers return the present metadata."""
        self.lagging = self.behind = None

    def _shown(self) -> list[UpstreamTopic]:
        self.polls += 1
        if self.behind is not None and self.polls % 3 == 0:
            return self.behind
        return self._topics() if self.lagging is None else self.lagging

    def poll(self, outstanding: Iterable[TopicPartition] = ()) -> UpstreamPolled:
        """Return a poll of the whole cluster."""
        moves = {
            name: UpstreamMove(self.replicas[name], self.adding.get(name, ()), self.removing.get(name, ()))
            for name in self.replicas
            if self.moves(name)
        }
        brokers = [UpstreamBroker(b, "localhost", 9000 + b, None, b not in self.down) for b in self.brokers]
        return UpstreamPolled(brokers, self._shown(), moves, whole=True, outstanding=set(outstanding))

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
    """A gateway controller in front of an upstream Kafka."""

    def __init__(
        self,
        *partitions: tuple[str, Iterable[int]],
        kafka: KraftModel | None = None,
        waits_for_added: bool = True,
    ) -> None:
        super().__init__(())
        self.kafka = kafka or KraftModel(waits_for_added)
        for name, replicas in partitions:
            self.kafka.create(name, replicas)
        self.state.mode = GATEWAY
        self._sent_count = 0
        if kafka is None:
            self.poll()

    def poll(self) -> None:
        """Poll the upstream once, a quarter of a second after the last poll."""
        self.now_ms += POLL_MS
        self.do(self.kafka.poll())

    def poll_for(self, ms: int) -> None:
        """Poll the upstream every quarter of a second for `ms` milliseconds."""
        for _ in range(ms // POLL_MS + 1):
            self.poll()

    def deliver(self) -> None:
        """Send the new requests to the upstream, and submit its answers to the controller."""
        rows = []
        for effect in self._unsent():
            if isinstance(effect, Submit):
                name = TopicPartition(effect.topic, effect.partition)
                rows.append((name, effect.replicas, self.kafka.alter(name, effect.replicas)))
            elif isinstance(effect, Elect):
                self.kafka.elect(TopicPartition(effect.topic, effect.partition))
        if rows:
            self.do(Submitted(rows))

    def lose_requests(self) -> None:
        """Lose the new requests: each times out and is not executed."""
        self._time_out(each for each in self._unsent() if isinstance(each, Submit))

    def lose_answers(self) -> None:
        """Execute the new requests upstream, but lose the answers: each request times out."""
        sent = [each for each in self._unsent() if isinstance(each, Submit)]
        for effect in sent:
            self.kafka.alter(TopicPartition(effect.topic, effect.partition), effect.replicas)
        self._time_out(sent)

    def _time_out(self, sent: Iterable[Submit]) -> None:
        lost = Outcome(ErrorCode.REQUEST_TIMED_OUT)
        rows = [(TopicPartition(row.topic, row.partition), row.replicas, lost) for row in sent]
        if rows:
            self.do(Submitted(rows))

    def catch_up(self) -> None:
        """Send the new requests, let all upstream replicas catch up once, and poll."""
        self.deliver()
        for name in self.kafka.replicas:
            self.kafka.catch_up(name)
        self.poll()

    def settle(self) -> "Gateway":
        """Repeat `catch_up` until nothing changes."""
        for _ in range(500):
            before = (dict(self.kafka.replicas), len(self.effects), dict(self.state.gateway.steps))
            self.catch_up()
            after = (self.kafka.replicas, len(self.effects), self.state.gateway.steps)
            if before == after and not self.state.gateway.sighted_keys() and not self._awaits_metadata():
                break
        return self

    def _awaits_metadata(self) -> bool:
        """Whether a step has ended in Kafka and the controller does not know how."""
        steps = self.state.in_flight.at_upstream()
        return any(each in self.kafka.replicas and not self.kafka.moves(each) for each in steps)

    def successor(self) -> "Gateway":
        """Start another controller on the same records, in front of the same Kafka."""
        other = Gateway(kafka=self.kafka)
        other.put(*own(self.state))
        other.poll()
        return other

    def _unsent(self) -> list[object]:
        found = self.effects[self._sent_count :]
        self._sent_count = len(self.effects)
        return list(found)


def own(state: State) -> list[Record]:
    """Return the records that a gateway stores: all but brokers and partitions."""
    return [each for each in records(state) if not isinstance(each, Broker | Partition)]
