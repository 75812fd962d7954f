"""A controller in memory, and short builders of records, events and expectations for its tests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from common.zones import host_zone
from controller.machine import decide
from controller.messages.effects import DropReplica, Effect, Publish
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
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, PlannedSteps
from controller.model.cluster import (
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Deleted,
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
from controller.model.jobs import PlannedStep
from controller.modes import EMBEDDED
from controller.reassignment.phases import Phase, phase_of
from controller.scheduling.limits import LIMITS
from controller.state.settings import SettingsState
from controller.state.state import Decision, State
from planner.model.step_table import Move, steps_of


def key(name: str) -> TopicPartition:
    """Return the key of a partition named as in Kafka: `foo-0`."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def partition(name: str, replicas: Sequence[int], **fields: Any) -> Partition:
    """Return a healthy partition led by its first replica; `fields` replace single values."""
    topic, number = key(name)
    result = Partition(topic, number, tuple(replicas), tuple(replicas), replicas[0])
    return result._replace(**fields) if fields else result


def registration(broker: int) -> BrokerRegistration:
    """Return the registration of the broker with this id: its port is 9000 plus the id."""
    return BrokerRegistration(broker, "localhost", 9000 + broker, f"rack-{broker % 3}")


def records(state: State) -> list[Record]:
    """Return all durable records of the state, in the order in which a store loads them."""
    configs = [
        Config(*key, name, value)
        for key, all_ in state.settings.configs.items()
        for name, value in all_.items()
    ]
    return [
        ControllerEpoch(state.cluster.controller_epoch),
        *state.cluster.brokers.values(),
        *state.cluster.topics.values(),
        *state.cluster.all_partitions(),
        *sorted(state.orders.reassignments.values()),
        *configs,
        *state.orders.jobs.values(),
        *(row for rows in state.orders.finished.values() for row in rows.values()),
        *state.orders.pending.values(),
        *state.throttle.leases.values(),
        *state.acls,
        *state.scram_credentials.values(),
        *state.gateway.steps.values(),
        *state.tasks.results.values(),
        *state.tasks.dry_runs.values(),
        *state.held.by_id.values(),
        *state.load_hours.values(),
        *(move for moves in state.disks.moves.values() for move in moves.values()),
        *([Paused(True)] if state.orders.paused else []),
    ]


PLAIN = (dict, set, list, int, str, type(None))


def contents(state: State) -> dict[str, object]:
    """Return the plain fields of the owners that records change."""
    owners = (state.cluster, state.orders, state.gateway, state.settings, state.throttle, state.tasks)
    values = {each.name: getattr(owner, each.name) for owner in owners for each in fields(owner)}
    return {name: value for name, value in values.items() if isinstance(value, PLAIN)}


class InMemoryController:
    """A controller with its state in memory; it records all changes and effects.

    After each event, the recorded changes alone are applied to a second state, as a store does. Both states
    must be equal.
    """

    def __init__(self, brokers: Iterable[int] = range(1, 7), live: Iterable[int] | None = None) -> None:
        self.state = State(EMBEDDED, settings=SettingsState(host_zone))
        self.now_ms = 1_000
        self.changes: list[Change] = []
        self.effects: list[Effect] = []
        self.wakes: list[int] = []
        """When the controller asked to be woken, in milliseconds."""
        self._replayed = State(EMBEDDED, settings=SettingsState(host_zone))
        self._seen = 0
        ids = list(brokers)
        for epoch, broker in enumerate(ids, 1):
            self.put(Broker(*registration(broker)[:4], epoch))
        self.state.cluster.live.update(ids if live is None else live)

    def put(self, *given: Record) -> None:
        """Add records to the state directly, without an event."""
        for record in given:
            self.state.put(record)
            self._replayed.put(record)

    def unregister(self, broker: int) -> None:
        """Stop the broker, and delete its registration, as when Kafka no longer has it."""
        self.stop(broker)
        for state in (self.state, self._replayed):
            state.delete(Deleted(Broker, broker))

    def with_partitions(self, *partitions: Partition) -> "InMemoryController":
        """Add partitions.

        A partition with a step in flight also gets a reassignment from its current to its next list.
        """
        for result in partitions:
            if result.topic not in self.state.cluster.topics:
                self.put(Topic(result.topic, result.topic.encode().ljust(16, b"\0")[:16]))
            self.put(result)
            if result.moving:
                self.put(Reassignment(result.topic, result.partition, result.current, result.next, 0))
        return self

    def with_topic_config(self, name: str, value: str, topic: str = "foo") -> "InMemoryController":
        """Set a config of a topic."""
        self.put(Config(ResourceType.TOPIC, topic, name, value))
        return self

    def with_limits(self, **limits: int) -> "InMemoryController":
        """Set limits, named after the fields of `PlanLimits`."""
        names = {limit.field: limit.config for limit in LIMITS}
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
        """Report an ISR of all replicas for each partition with a step in flight, once."""
        for key in list(self.state.in_flight):
            self.isr(str(key), self.state.cluster.partitions[key.topic][key.partition].replicas)

    def settle(self) -> "InMemoryController":
        """Repeat `catch_up` until no step is in flight."""
        while self.state.in_flight:
            self.catch_up()
        return self

    def in_flight(self) -> list[str]:
        """Return the names of the partitions with a step in flight."""
        return list(map(str, self.state.in_flight))

    def do(self, event: AnyEvent) -> Decision:
        """Decide the event, then `Continue` as long as the controller asks to be woken."""
        first = d = self.decide(event)
        while d.more:
            d = self.decide(Continue())
        self._replay()
        return first

    def decide(self, event: AnyEvent) -> Decision:
        """Decide this event, without the `Continue` events that it asks for."""
        d = Decision(self.state, self.now_ms)
        for _ in decide(d, event):
            pass
        self.changes += d.changes
        self.effects += d.effects
        if d.wake_at_ms is not None:
            self.wakes.append(d.wake_at_ms)
        return d

    def _replay(self) -> None:
        """Apply the new changes to the second state and compare both states."""
        self._replayed.apply(self.changes[self._seen :])
        self._seen = len(self.changes)
        assert records(self._replayed) == records(self.state)
        assert self._replayed.orders.reassigning == self.state.orders.reassigning
        assert self._replayed.orders.open == self.state.orders.open
        assert self._replayed.throttle.rates == self.state.throttle.rates
        assert self._replayed.settings.topic_min_isr == self.state.settings.topic_min_isr
        assert self._replayed.settings.default_min_isr == self.state.settings.default_min_isr
        assert self._replayed.cluster.offline == self.state.cluster.offline
        assert self._replayed.cluster.under_replicated == self.state.cluster.under_replicated

    def alter(self, rows: Mapping[str, Sequence[int] | None], **fields: Any) -> dict[str, Outcome]:
        """Submit targets by partition name; None cancels. Returns the outcomes by partition name."""
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
        """Send AlterPartition with this ISR from the partition's leader."""
        now = self[name]
        change = IsrChange(now.topic, now.partition, now.leader_epoch, tuple(members), now.partition_epoch)
        reply = self.do(AlterPartition(now.leader, -1, [change])).reply
        row: Outcome = reply.rows[0] if reply.rows else reply.outcome
        return row

    def stop(self, broker: int) -> None:
        """Stop the broker without a controlled shutdown."""
        self.do(BrokerStopped(broker))

    def start(self, broker: int) -> None:
        """Start the broker."""
        self.do(BrokerStarted(registration(broker)))

    def shut_down(self, broker: int) -> Decision:
        """Request a controlled shutdown of the broker."""
        return self.do(ControlledShutdown(broker, -1))

    def restart(self, live: Iterable[int] | None = None) -> "InMemoryController":
        """Start another controller on the records of this one. By default the same brokers are live."""
        other = InMemoryController(())
        other.now_ms = self.now_ms
        other.state.mode = self.state.mode
        other.put(*records(self.state))
        brokers = sorted(self.state.cluster.live) if live is None else live
        other.do(ControllerStarted([registration(broker) for broker in brokers]))
        return other

    def __getitem__(self, name: str) -> Partition:
        topic, number = key(name)
        return self.state.cluster.partitions[topic][number]

    def reassignment_of(self, name: str) -> Reassignment | None:
        """Return the ongoing reassignment of the partition, or None."""
        return self.state.orders.reassignments.get(key(name))

    def phase(self, name: str) -> Phase:
        """Return the phase of the partition's reassignment."""
        return phase_of(self.state, key(name))

    def waiting_reason(self, name: str) -> str:
        """Return the reason why the partition's reassignment waits."""
        return self.state.orders.waiting[key(name)]

    def published(self, name: str) -> list[Publish]:
        """Return the states of the partition that were published to brokers, in order."""
        return [e for e in self.effects if isinstance(e, Publish) and e.partition.key == key(name)]

    def dropped(self, name: str) -> list[int]:
        """Return the brokers that had to delete their replica of the partition, in order."""
        drops = [
            e for e in self.effects if isinstance(e, DropReplica) and (e.topic, e.partition) == key(name)
        ]
        return [broker for drop in drops for broker in drop.brokers]

    def replicas(self, name: str) -> Replicas:
        """Return the current replica list of the partition."""
        return self[name].replicas


def outcomes(reply: AlterReply) -> dict[str, Outcome]:
    """Return the outcomes by partition name; of a repeated partition, the last one."""
    return {f"{topic}-{number}": outcome for topic, rows in reply.topics for number, outcome in rows}


def planned_steps(controller: InMemoryController, name: str, waves: Sequence[int]) -> PlannedSteps:
    """Return the partition's remaining steps by the step rule, as a planner computes them, in these waves."""
    state, at = controller.state, key(name)
    now = state.cluster.partitions[at.topic][at.partition]
    target = state.orders.reassignments[at].target if at in state.orders.reassignments else now.next
    move = Move(*at, now.next, target, now.next, now.leader)
    steps = steps_of(move, state.cluster.live, state.backlog.usage.step)
    return PlannedSteps(
        at, now.next, [PlannedStep(wave, step.replicas) for wave, step in zip(waves, steps, strict=False)]
    )
