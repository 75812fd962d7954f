"""A controller whose decisions are checked: limits are kept, and no replica in sync is lost."""

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
from controller.model.cluster import NO_LEADER, Deleted, Partition, Reassignment, TopicPartition
from controller.scheduling.limits import Capacity, LimitKind
from controller.scheduling.steps import keeps_up
from controller.state.state import Decision
from tests.builders import InMemoryController, records, registration

ELECTING_EVENTS = (
    AlterConfigs,
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ControllerStarted,
    ElectLeaders,
    LogDirFailed,
    RebalanceLeaders,
)
"""Events that elect leaders outside of steps; limits do not apply to these elections."""


def can_undo(event: AnyEvent) -> bool:
    """Whether the event can undo steps immediately (KIP-236), even below min ISR."""
    if not isinstance(event, AlterReassignments):
        return isinstance(event, Queue)
    return event.topics is None or any(
        row.replicas is None for topic in event.topics for row in topic.rows or ()
    )


def check_completion(before: Partition, after: Partition, wanted: Reassignment) -> None:
    """Check that the added replicas are in sync, and all of the target if the factor becomes lower."""
    stays = set(after.replicas)
    assert stays & set(wanted.target) - set(wanted.original) <= set(after.isr)
    if len(stays) < min(len(before.current), len(wanted.original)):
        assert set(wanted.target) <= set(after.isr)


class CheckedController(InMemoryController):
    """A controller that compares the partitions before and after each decision."""

    def __init__(self, brokers: Iterable[int] = range(1, 7), live: Iterable[int] | None = None) -> None:
        super().__init__(brokers, live)
        self.last: dict[TopicPartition, Partition] = {}
        self.told: dict[TopicPartition, Partition] = {}
        self.before: dict[TopicPartition, Partition] = {}

    def with_partitions(self, *partitions: Partition) -> "CheckedController":
        """Add new partitions."""
        super().with_partitions(*partitions)
        for made in partitions:
            self.last[made.key] = self.told[made.key] = made
        return self

    def restart(self, live: Iterable[int] | None = None) -> "CheckedController":
        """Start another controller on the records of this one. Brokers keep their state."""
        other = CheckedController(())
        other.put(*records(self.state))
        other.last, other.told = dict(self.last), dict(self.told)
        brokers = sorted(self.state.cluster.live) if live is None else live
        other.do(ControllerStarted([registration(broker) for broker in brokers]))
        return other

    def decide(self, event: AnyEvent) -> Decision:
        """Decide the event and check its changes and effects."""
        hopeless = {
            p.key
            for p in self.state.cluster.all_partitions()
            if not self.state.cluster.live & set(p.replicas)
        }
        flying = {p.key: p for p in self.flying()}
        expected = self.state.backlog.usage.taken(Capacity(LimitKind.LEADERS))
        wanted = dict(self.state.orders.reassignments)
        d = super().decide(event)
        moved = self.check_records(d, event, hopeless)
        self.check_completions(d, wanted)
        if not isinstance(event, ELECTING_EVENTS):
            # Steps that began under a higher limit go on.
            assert moved <= max(self.state.backlog.usage.limits.leaders, expected)
        self.check_effects(d)
        # Every step in flight counts against the limits, and nothing else does.
        assert set(self.state.backlog.costs) == set(self.state.in_flight)
        # Open jobs have their own rates. No property sets a rate of the cluster.
        rates = {
            job.id: job.throttle
            for job in self.state.orders.jobs.values()
            if job.id in self.state.orders.open
        }
        assert {job: rate for job, rate in rates.items() if rate} == self.state.throttle.rates
        for now in self.flying():
            before = flying.get(now.key, now._replace(adding=()))
            if set(now.adding) - set(before.adding):
                self.check_start(now, before)
        return d

    def flying(self) -> list[Partition]:
        """Return the partitions with adding replicas."""
        state = self.state
        flying = (state.cluster.partitions[topic][number] for topic, number in state.in_flight)
        return [partition for partition in flying if partition.adding]

    def check_records(self, d: Decision, event: AnyEvent, hopeless: set[TopicPartition]) -> int:
        """Check that epochs grow and that no data is lost.

        Returns the number of leaders that steps changed.
        """
        moved = 0
        self.before = dict(self.last)
        for change in d.changes:
            if isinstance(change, Deleted) and change.kind is Partition:
                gone = change.key
                assert isinstance(gone, TopicPartition)
                del self.last[gone]
            elif isinstance(change, Partition):
                before = self.last.get(change.key, change)
                self.check_change(before, change, event, hopeless)
                moved += NO_LEADER not in {before.leader, change.leader} and (
                    before.leader != change.leader and before.leader in {*change.replicas, *before.current}
                )
                self.last[change.key] = change
        return moved

    def check_completions(self, d: Decision, wanted: dict[TopicPartition, Reassignment]) -> None:
        """Check that steps dropped replicas by the rule of Kafka 4.3 (KAFKA-19975).

        `wanted` is from before.
        """
        for change in d.changes:
            if isinstance(change, Reassignment):
                wanted[change.key] = change
            elif isinstance(change, Partition):
                before = self.before.get(change.key, change)
                self.before[change.key] = change
                if change.key in wanted and set(before.current) - set(change.replicas):
                    check_completion(before, change, wanted[change.key])

    def check_change(
        self, before: Partition, after: Partition, event: AnyEvent, hopeless: set[TopicPartition]
    ) -> None:
        """Check two consecutive records of one partition."""
        reordered = after._replace(replicas=before.replicas) == before
        assert after.partition_epoch > before.partition_epoch or after is before or reordered
        assert after.leader_epoch >= before.leader_epoch
        topic = after.topic
        unclean = isinstance(event, ElectLeaders) and event.election is ElectionType.UNCLEAN
        allowed = unclean or self.state.settings.unclean_allowed(topic) or after.key in hopeless
        stays = set(after.isr) & set(before.isr)
        assert stays or allowed
        lost = set(before.isr) & set(before.replicas) - set(after.replicas)
        if lost and not can_undo(event) and after.key not in hopeless:
            assert keeps_up(len(stays), len(after.replicas), self.state.settings.min_isr(topic))
        if isinstance(event, Stalled):
            assert not lost & set(before.adding)

    def check_start(self, now: Partition, before: Partition) -> None:
        """Check that the limits had room for the step when it began.

        A step that was turned may take what it took before, although a limit may be lower by now.
        """
        limits, flying = self.state.backlog.usage.limits, self.flying()
        alone = len(flying) == 1
        no_more = len(now.adding) <= len(before.adding)
        assert alone or before.adding or len(flying) <= limits.partitions
        assert alone or no_more or sum(len(p.adding) for p in flying) <= limits.replicas
        incoming = Counter(broker for p in flying for broker in p.adding)
        assert all(incoming[broker] <= limits.per_broker for broker in set(now.adding) - set(before.adding))
        fed = [len(p.adding) for p in flying if p.leader == now.leader]
        same = no_more and now.leader == before.leader
        assert now.leader == NO_LEADER or len(fed) == 1 or same or sum(fed) <= limits.per_broker
        in_sync = set(now.isr) & set(now.next) & self.state.cluster.live | set(now.adding)
        assert len(now.adding) <= limits.step or len(in_sync) <= self.state.settings.min_isr(now.topic)

    def check_effects(self, d: Decision) -> None:
        """Check what brokers receive: epochs grow, and no replica on the replica list is deleted."""
        for effect in d.effects:
            if isinstance(effect, Publish):
                told = effect.partition
                before = self.told.get(told.key)
                # Leaders get no request for a new order alone, and must know the epoch.
                assert before is None or told.partition_epoch >= before.partition_epoch + effect.lead
                assert before is None or told.leader_epoch >= before.leader_epoch + effect.lead
                self.told[told.key] = told
            elif isinstance(effect, DropReplica):
                key = TopicPartition(effect.topic, effect.partition)
                if self.state.cluster.partition(*key) is None:
                    self.told.pop(key, None)
                else:
                    assert not set(effect.brokers) & set(self.told[key].replicas)
