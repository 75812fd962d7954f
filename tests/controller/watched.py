"""A world that judges each decision: limits that hold, and replicas in sync that are not lost."""

from collections import Counter
from collections.abc import Iterable

from controller.messages.effects import DropReplica, Publish
from controller.messages.event import AnyEvent
from controller.messages.events import (
    AlterConfigs,
    AlterReassignments,
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ControllerStarted,
    ElectionType,
    ElectLeaders,
    LogDirFailed,
    RebalanceLeaders,
    Stalled,
)
from controller.messages.job_events import Queue
from controller.model.cluster import NO_LEADER, Deleted, Partition, TopicPartition
from controller.scheduling.limits import LimitKind, Place
from controller.scheduling.steps import keeps_up
from controller.state.decision import Decision
from tests.builders import InMemoryController, records, registration

UNPLANNED = (
    AlterConfigs,
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ControllerStarted,
    ElectLeaders,
    LogDirFailed,
    RebalanceLeaders,
)
"""Events that change leaders by themselves: no step moves them, and no limit holds them."""


def takes_back(event: AnyEvent) -> bool:
    """By this event people take steps back at once (KIP-236), below min ISR if need be."""
    if not isinstance(event, AlterReassignments):
        return isinstance(event, Queue)
    return event.topics is None or any(
        row.replicas is None for topic in event.topics for row in topic.rows or ()
    )


class Watched(InMemoryController):
    """Each decision is checked against the partitions as they were before it."""

    def __init__(self, brokers: Iterable[int] = range(1, 7), live: Iterable[int] | None = None) -> None:
        super().__init__(brokers, live)
        self.last: dict[TopicPartition, Partition] = {}
        self.told: dict[TopicPartition, Partition] = {}

    def with_partitions(self, *partitions: Partition) -> "Watched":
        """With these partitions, which are new."""
        super().with_partitions(*partitions)
        for made in partitions:
            self.last[made.key] = self.told[made.key] = made
        return self

    def restart(self, live: Iterable[int] | None = None) -> "Watched":
        """The controller that starts on the records of this one; brokers know what they were told."""
        other = Watched(())
        other.put(*records(self.state))
        other.last, other.told = dict(self.last), dict(self.told)
        brokers = sorted(self.state.live) if live is None else live
        other.do(ControllerStarted([registration(broker) for broker in brokers]))
        return other

    def decide(self, event: AnyEvent) -> Decision:
        """Decide, and judge what came of it."""
        hopeless = {p.key for p in self.state.all_partitions() if not self.state.live & set(p.replicas)}
        flying = {p.key: p for p in self.flying()}
        expected = self.state.backlog.usage.taken(Place(LimitKind.LEADERS))
        d = super().decide(event)
        moved = self.judge_records(d, event, hopeless)
        if not isinstance(event, UNPLANNED):
            # Steps that began under a higher limit go on.
            assert moved <= max(self.state.backlog.usage.limits.leaders, expected)
        self.judge_effects(d)
        # Every step in flight counts against the limits, and nothing else does.
        assert set(self.state.backlog.costs) == set(self.state.in_flight)
        for now in self.flying():
            before = flying.get(now.key, now._replace(adding=()))
            if set(now.adding) - set(before.adding):
                self.judge_start(now)
        return d

    def flying(self) -> list[Partition]:
        """The partitions to which replicas are being added."""
        state = self.state
        flying = (state.partitions[topic][number] for topic, number in state.in_flight)
        return [partition for partition in flying if partition.adding]

    def judge_records(self, d: Decision, event: AnyEvent, hopeless: set[TopicPartition]) -> int:
        """Epochs grow, and nothing in sync is lost; how many leaders steps have changed."""
        moved = 0
        for change in d.changes:
            if isinstance(change, Deleted) and change.kind is Partition:
                gone = change.key
                assert isinstance(gone, TopicPartition)
                del self.last[gone]
            elif isinstance(change, Partition):
                before = self.last.get(change.key, change)
                self.judge_change(before, change, event, hopeless)
                moved += NO_LEADER not in {before.leader, change.leader} and (
                    before.leader != change.leader and before.leader in {*change.replicas, *before.current}
                )
                self.last[change.key] = change
        return moved

    def judge_change(
        self, before: Partition, after: Partition, event: AnyEvent, hopeless: set[TopicPartition]
    ) -> None:
        """One record after another of the same partition."""
        reordered = after._replace(replicas=before.replicas) == before
        assert after.partition_epoch > before.partition_epoch or after is before or reordered
        assert after.leader_epoch >= before.leader_epoch
        topic = after.topic
        unclean = isinstance(event, ElectLeaders) and event.election is ElectionType.UNCLEAN
        allowed = unclean or self.state.unclean_allowed(topic) or after.key in hopeless
        stays = set(after.isr) & set(before.isr)
        assert stays or allowed
        lost = set(before.isr) & set(before.replicas) - set(after.replicas)
        if lost and not takes_back(event) and after.key not in hopeless:
            assert keeps_up(len(stays), len(after.replicas), self.state.min_isr(topic))
        if isinstance(event, Stalled):
            assert not lost & set(before.adding)

    def judge_start(self, now: Partition) -> None:
        """The places that a step takes had room for it when it began."""
        limits, flying = self.state.backlog.usage.limits, self.flying()
        others = [p for p in flying if p.key != now.key]
        assert not others or len(flying) <= limits.partitions
        assert not others or sum(len(p.adding) for p in flying) <= limits.replicas
        incoming = Counter(broker for p in flying for broker in p.adding)
        assert all(incoming[broker] <= limits.per_broker for broker in now.adding)
        fed = [len(p.adding) for p in flying if p.leader == now.leader]
        assert now.leader == NO_LEADER or len(fed) == 1 or sum(fed) <= limits.per_broker
        in_sync = set(now.isr) & set(now.next) & self.state.live | set(now.adding)
        assert len(now.adding) <= limits.step or len(in_sync) <= self.state.min_isr(now.topic)

    def judge_effects(self, d: Decision) -> None:
        """Brokers act on what they are told: epochs grow, and a replica is dropped only when it is off the list."""
        for effect in d.effects:
            if isinstance(effect, Publish):
                told = effect.partition
                before = self.told.get(told.key)
                # Leaders hear nothing of a new order alone, and must know the epoch.
                assert before is None or told.partition_epoch >= before.partition_epoch + effect.lead
                assert before is None or told.leader_epoch >= before.leader_epoch + effect.lead
                self.told[told.key] = told
            elif isinstance(effect, DropReplica):
                key = TopicPartition(effect.topic, effect.partition)
                if self.state.partition(*key) is None:
                    self.told.pop(key, None)
                else:
                    assert not set(effect.brokers) & set(self.told[key].replicas)
