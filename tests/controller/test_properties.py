"""Whatever happens, in whatever order: what must always be true of the controller."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from controller.effects import DropReplica, Publish
from controller.errors import Error
from controller.events import (
    AlterConfigs,
    AlterReassignments,
    ConfigChange,
    ConfigOp,
    ElectionType,
    ElectLeaders,
    ResourceChanges,
)
from controller.job_events import AlterRow, AlterTopic, Queue
from controller.model import NO_LEADER, Partition, Replicas, ResourceType, TopicPartition
from tests.builders import World, key, outcomes, partition

NAMES = ("foo-0", "foo-1")
names = st.sampled_from(NAMES)
picks = st.randoms(use_true_random=False)


class Cluster(RuleBasedStateMachine):
    """Random operators, random brokers; `original`, `target` and `queued` say what was accepted of each partition."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(())
        self.original: dict[str, Replicas] = {}
        self.target: dict[str, Replicas] = {}
        self.queued: dict[str, Replicas] = {}
        self.last: dict[TopicPartition, Partition] = {}
        self.told: dict[TopicPartition, Partition] = {}
        self.hopeless: set[str] = set()
        """Partitions that were ordered about while none of their replicas lived."""
        self.changes_seen = self.effects_seen = 0

    @initialize(brokers=st.integers(4, 8), min_isr=st.integers(1, 3), picks=picks)
    def begin(self, brokers: int, min_isr: int, picks: Any) -> None:
        self.world = World(range(1, brokers + 1)).configured("min.insync.replicas", str(min_isr))
        for name in NAMES:
            replicas = tuple(picks.sample(range(1, brokers + 1), picks.randint(1, 3)))
            self.world.having(partition(name, replicas))
            self.original[name] = self.target[name] = replicas
            self.last[key(name)] = self.told[key(name)] = self.world[name]

    @rule(name=names, picks=picks)
    def order(self, name: str, picks: Any) -> None:
        brokers = sorted(self.world.state.brokers)
        target = tuple(picks.sample(brokers, picks.randint(1, min(4, len(brokers)))))
        before = self.world[name].replicas
        idle = self.world.wanted(name) is None
        self.note_hopeless()
        if self.world.alter({name: target})[name].ok:
            self.queued.pop(name, None)
            self.target[name] = target
            self.original[name] = before if idle else self.original[name]

    @rule(name=names, picks=picks)
    def queue(self, name: str, picks: Any) -> None:
        target = tuple(picks.sample(sorted(self.world.state.brokers), picks.randint(1, 3)))
        before = self.world[name].replicas
        idle = self.world.wanted(name) is None
        self.note_hopeless()
        topic, number = key(name)
        order = Queue([AlterTopic(topic, [AlterRow(number, target)])], append=True)
        if outcomes(self.world.do(order).reply)[name].ok:
            self.original[name] = before if idle else self.original[name]
            self.target[name] = target if idle else self.original[name]
            self.queued.update({} if idle else {name: target})

    @rule(name=names)
    def cancel(self, name: str) -> None:
        self.note_hopeless()
        outcome = self.world.alter({name: None})[name]
        if outcome.ok:
            self.queued.pop(name, None)
            self.target[name] = self.original[name]
        else:
            assert outcome.error in {Error.NO_REASSIGNMENT_IN_PROGRESS, Error.INVALID_REPLICA_ASSIGNMENT}

    @rule()
    def cancel_everything(self) -> None:
        self.note_hopeless()
        for name, outcome in outcomes(self.world.do(AlterReassignments(None)).reply).items():
            if outcome.ok:
                self.queued.pop(name, None)
                self.target[name] = self.original[name]

    @rule(name=names, picks=picks)
    def report_isr(self, name: str, picks: Any) -> None:
        now = self.world[name]
        if now.leader != NO_LEADER:
            able = self.world.state.live - self.world.state.shutting_down
            others = [r for r in now.replicas if r != now.leader and (r in able or r in now.isr)]
            self.world.isr(name, (now.leader, *picks.sample(others, picks.randint(0, len(others)))))

    @rule(picks=picks)
    def stop(self, picks: Any) -> None:
        self.world.stop(picks.choice(sorted(self.world.state.brokers)))

    @rule(name=names)
    def stop_the_leader(self, name: str) -> None:
        self.world.stop(self.world[name].leader)

    @rule(picks=picks)
    def shut_down(self, picks: Any) -> None:
        self.world.shut_down(picks.choice(sorted(self.world.state.brokers)))

    @rule(picks=picks)
    def start(self, picks: Any) -> None:
        self.world.start(picks.choice(sorted(self.world.state.brokers)))

    @rule()
    def elect_preferred_leaders(self) -> None:
        self.world.do(ElectLeaders(ElectionType.PREFERRED, None))

    @rule(value=st.integers(1, 3))
    def set_min_isr(self, value: int) -> None:
        change = ConfigChange("min.insync.replicas", ConfigOp.SET, str(value))
        self.world.do(AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", [change])]))

    @rule(picks=picks)
    def restart(self, picks: Any) -> None:
        brokers = sorted(self.world.state.brokers)
        self.world = self.world.restarted(picks.sample(brokers, picks.randint(0, len(brokers))))
        self.changes_seen = self.effects_seen = 0

    def note_hopeless(self) -> None:
        """KIP-236: with no replica alive, going back cannot make it worse."""
        live = self.world.state.live
        self.hopeless = {name for name in NAMES if not live & set(self.world.replicas(name))}

    @invariant()
    def partitions_are_sound(self) -> None:
        for now in self.world.state.all_partitions():
            check(now)
            assert (self.world.wanted(str(now.key)) is not None) or not now.moving

    @invariant()
    def what_is_queued_waits_for_a_rollback_only(self) -> None:
        for name in map(str, self.world.state.pending):
            wanted = self.world.wanted(name)
            assert wanted is not None
            assert wanted.rolling_back

    @invariant()
    def what_is_done_is_at_its_target_and_what_is_not_is_listed(self) -> None:
        for name in self.queued.keys() - set(map(str, self.world.state.pending)):
            self.target[name] = self.queued.pop(name)
        for name, target in self.target.items():
            wanted = self.world.wanted(name)
            if wanted is None:
                assert self.world.replicas(name) == target
            else:
                assert (wanted.original, wanted.target) == (self.original[name], target)

    @invariant()
    def records_follow_one_another(self) -> None:
        """Epochs grow; what was in sync is never all lost by us; what a step drops leaves enough in sync."""
        floor = self.world.state.min_isr("foo")
        for after in self.world.changes[self.changes_seen :]:
            if isinstance(after, Partition):
                before = self.last.get(after.key, after)
                reordered = after._replace(replicas=before.replicas) == before
                assert after.partition_epoch > before.partition_epoch or after is before or reordered
                assert after.leader_epoch >= before.leader_epoch
                assert set(after.isr) & set(before.isr) or str(after.key) in self.hopeless
                if set(before.current) & set(before.isr) - set(after.replicas):
                    assert len(after.isr) >= max(1, min(floor, len(after.replicas)))
                self.last[after.key] = after
        self.changes_seen = len(self.world.changes)
        self.hopeless.clear()

    @invariant()
    def effects_follow_one_another(self) -> None:
        """Epochs grow, so that brokers act; a replica is dropped only once it is off the list."""
        for effect in self.world.effects[self.effects_seen :]:
            if isinstance(effect, Publish):
                told = effect.partition
                before = self.told.get(told.key)
                # Leaders hear nothing of a new order alone, and must know the epoch.
                assert before is None or told.partition_epoch >= before.partition_epoch + effect.lead
                assert before is None or told.leader_epoch >= before.leader_epoch + effect.lead
                self.told[told.key] = told
            elif isinstance(effect, DropReplica):
                now = self.told[TopicPartition(effect.topic, effect.partition)]
                assert not set(effect.brokers) & set(now.replicas)
        self.effects_seen = len(self.world.effects)

    def teardown(self) -> None:
        """When all brokers live and all replicas catch up, everything ends at its target."""
        settle(self.world)
        for name, target in {**self.target, **self.queued}.items():
            assert self.world.replicas(name) == target
            assert self.world.wanted(name) is None
            assert set(self.world[name].isr) == set(target)


def check(now: Partition) -> None:
    """KIP-455's algebra, and a leader and an ISR that make sense."""
    assert now.replicas
    assert now.isr
    assert len(set(now.replicas)) == len(now.replicas)
    assert len(set(now.isr)) == len(now.isr)
    assert set(now.isr) <= set(now.replicas)
    assert now.leader == NO_LEADER or now.leader in now.isr
    assert not set(now.adding) & set(now.removing)
    assert now.replicas == now.next + now.removing
    assert set(now.adding) <= set(now.next)
    assert now.current
    assert now.next


def settle(world: World) -> None:
    """Every broker comes back and every replica catches up, until nothing moves."""
    for broker in sorted(world.state.brokers):
        world.start(broker)
    for _ in range(8):
        for now in list(world.state.all_partitions()):
            assert now.leader != NO_LEADER
            world.isr(str(now.key), now.replicas)


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
