"""Properties of the controller that hold after any sequence of events."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from common.error_codes import ErrorCode
from controller.messages.events import (
    AlterConfigs,
    AlterReassignments,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    LogDirFailed,
    RebalanceLeaders,
    ResourceChanges,
    Stalled,
)
from controller.messages.job_events import (
    AlterReply,
    AlterRow,
    AlterTopic,
    Pause,
    Prioritize,
    Prune,
    Queue,
    RollBackJob,
)
from controller.model.cluster import NO_LEADER, Partition, Replicas, ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.state.settings import CLUSTER_DEFAULT
from tests.builders import key, outcomes, partition
from tests.controller.checked import CheckedController
from tests.examples import examples

NAMES = ("foo-0", "foo-1", "foo-2", "bar-0")
names = st.sampled_from(NAMES)
picks = st.randoms(use_true_random=False)
LIMITS = ("per_partition", "partitions", "leaders", "replicas", "per_broker")


class Cluster(RuleBasedStateMachine):
    """Random requests of operators and random events of brokers.

    `original`, `target` and `queued` hold the accepted requests of each partition. `found` and `ordered` hold
    each job's replica lists before the job and its targets.
    """

    def __init__(self) -> None:
        super().__init__()
        self.controller = CheckedController(())
        self.original: dict[str, Replicas] = {}
        self.target: dict[str, Replicas] = {}
        self.queued: dict[str, Replicas] = {}
        self.found: dict[int, dict[str, Replicas]] = {}
        self.ordered: dict[int, dict[str, Replicas]] = {}
        self.brokers = 0

    @initialize(brokers=st.integers(4, 8), min_isr=st.sampled_from([1, 2, 2, 3, 3]), picks=picks)
    def begin(self, brokers: int, min_isr: int, picks: Any) -> None:
        self.brokers = brokers
        self.controller = CheckedController(range(1, brokers + 1))
        for name in NAMES:
            self.controller.with_topic_config("min.insync.replicas", str(min_isr), key(name).topic)
            self.make(name, picks)
        for name in NAMES:
            self.order(name, picks, repeated=False)

    def make(self, name: str, picks: Any) -> None:
        replicas = tuple(picks.sample(range(1, self.brokers + 1), picks.choice([1, 2, 3, 3, 4])))
        live = self.controller.state.cluster.live
        in_sync = tuple(r for r in replicas if r in live)
        leader = in_sync[0] if in_sync else NO_LEADER
        self.controller.with_partitions(partition(name, replicas, isr=in_sync or replicas, leader=leader))
        self.original[name] = self.target[name] = replicas

    def exists(self, name: str) -> bool:
        """Return whether the topic exists and is not being deleted."""
        topic = self.controller.state.cluster.topics.get(key(name).topic)
        return topic is not None and not topic.deleting

    # ---- operators
    # ------------------------------------------------------------------------------------------

    @rule(name=names, picks=picks, repeated=st.booleans())
    def order(self, name: str, picks: Any, repeated: bool) -> None:
        target, other = (tuple(picks.sample(range(1, self.brokers + 1), picks.randint(1, 4))) for _ in "12")
        topic, number = key(name)
        rows = [AlterRow(number, each) for each in ((other, target) if repeated else (target,))]
        idle = not self.exists(name) or self.controller.reassignment_of(name) is None
        before = self.controller.replicas(name) if self.exists(name) else ()
        event = AlterReassignments([AlterTopic(topic, rows)], throttle=picks.choice([0, 1_000]))
        reply = self.controller.do(event).reply
        if not self.exists(name):
            assert outcomes(reply)[name].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif outcomes(reply)[name].ok:
            self.queued.pop(name, None)
            self.original[name] = before if idle else self.original[name]
            self.target[name] = target
            self.took(reply, name, target)

    @rule(name=names, picks=picks)
    def queue(self, name: str, picks: Any) -> None:
        if not self.exists(name):
            return
        target = tuple(picks.sample(range(1, self.brokers + 1), picks.randint(1, 3)))
        before, idle = self.controller.replicas(name), self.controller.reassignment_of(name) is None
        topic, number = key(name)
        reply = self.controller.do(Queue([AlterTopic(topic, [AlterRow(number, target)])], append=True)).reply
        if outcomes(reply)[name].ok:
            self.original[name] = before if idle else self.original[name]
            self.target[name] = target if idle else self.original[name]
            self.queued.update({} if idle else {name: target})
            self.took(reply, name, target)

    def took(self, reply: AlterReply, name: str, target: Replicas) -> None:
        if reply.job:
            self.found[reply.job] = {name: self.original[name]}
            self.ordered[reply.job] = {name: target}

    @rule(name=st.sampled_from([*NAMES, ""]))
    def cancel(self, name: str) -> None:
        """Cancel one partition or everything."""
        topic, number = key(name) if name else ("", 0)
        topics = [AlterTopic(topic, [AlterRow(number, None)])] if name else None
        for each, outcome in outcomes(self.controller.do(AlterReassignments(topics)).reply).items():
            if outcome.ok:
                self.queued.pop(each, None)
                self.target[each] = self.original[each]
            else:
                assert outcome.error in {
                    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                }

    @rule(picks=picks)
    def roll_back(self, picks: Any) -> None:
        """Roll back a job: each partition that is not skipped moves to its replicas from before the job."""
        state = self.controller.state
        job = picks.choice([*state.orders.jobs, 99])
        ours = {str(key_) for key_, w in state.orders.reassignments.items() if w.job == job}
        ended = {str(key_) for key_ in state.orders.finished.get(job, ())} - ours
        withdrawn = {str(key_) for key_, p in state.orders.pending.items() if p.job == job}
        before = {name: self.controller.replicas(name) for name in ours | ended if self.exists(name)}
        idle = {name for name in before if self.controller.reassignment_of(name) is None}
        reply = self.controller.do(RollBackJob(job)).reply
        for name in withdrawn:
            self.queued.pop(name, None)
        skipped = {str(key_) for key_, _ in reply.skipped}
        found = self.found.get(job, {})
        for name in before.keys() - skipped - (withdrawn - ours):
            self.original[name] = before[name] if name in idle else self.original[name]
            if reply.job:
                self.found.setdefault(reply.job, {})[name] = self.ordered[job][name]
                self.ordered.setdefault(reply.job, {})[name] = found[name]
            self.target[name] = found[name]

    @rule(job=st.integers(1, 8), priority=st.integers(-2, 2))
    def prioritize(self, job: int, priority: int) -> None:
        self.controller.do(Prioritize(job, priority))

    @rule(job=st.sampled_from([None, None, 1, 2, 3, 4]), paused=st.booleans())
    def pause(self, job: int | None, paused: bool) -> None:
        self.controller.do(Pause(job, paused))

    @rule(keep=st.integers(0, 3))
    def prune(self, keep: int) -> None:
        self.controller.do(Prune(0, keep))

    @rule(limit=st.sampled_from(LIMITS), value=st.integers(1, 3))
    def limit(self, limit: str, value: int) -> None:
        self.controller.with_limits(**{limit: value})

    @rule()
    def lift_the_limits(self) -> None:
        configs = self.controller.state.settings.configs.get((ResourceType.BROKER, CLUSTER_DEFAULT), {})
        for name in list(configs):
            self.controller.default(name, None)

    @rule(
        topic=st.sampled_from(["foo", "bar"]),
        change=st.sampled_from(
            [("min.insync.replicas", str(n)) for n in (1, 2, 3)]
            + [("unclean.leader.election.enable", each) for each in ("true", "false", "false")]
        ),
    )
    def configure(self, topic: str, change: tuple[str, str]) -> None:
        changes = [ConfigChange(change[0], ConfigOp.SET, change[1])]
        if self.exists(f"{topic}-0"):
            self.controller.do(AlterConfigs([ResourceChanges(ResourceType.TOPIC, topic, changes)]))

    @rule(topic=st.sampled_from(["foo", "bar"]), picks=picks)
    def delete_or_make(self, topic: str, picks: Any) -> None:
        ours = [name for name in NAMES if key(name).topic == topic]
        if topic not in self.controller.state.cluster.topics:
            for name in ours:
                self.make(name, picks)
        elif picks.random() < 0.3:
            self.controller.do(DeleteTopics([topic]))
            for name in ours:
                self.queued.pop(name, None)

    @rule(election=st.sampled_from([ElectionType.PREFERRED, ElectionType.PREFERRED, ElectionType.UNCLEAN]))
    def elect(self, election: ElectionType) -> None:
        self.controller.do(ElectLeaders(election, None))

    @rule()
    def rebalance(self) -> None:
        self.controller.do(RebalanceLeaders(0))

    # ---- brokers
    # --------------------------------------------------------------------------------------------

    @rule(name=names, picks=picks)
    def report_isr(self, name: str, picks: Any) -> None:
        now = self.controller.state.cluster.partition(*key(name))
        if now is not None and now.leader != NO_LEADER:
            able = self.controller.state.cluster.live - self.controller.state.cluster.shutting_down
            others = [r for r in now.replicas if r != now.leader and (r in able or r in now.isr)]
            self.controller.isr(name, (now.leader, *picks.sample(others, picks.randint(0, len(others)))))

    @rule(picks=picks, all_of_them=st.booleans())
    def some_arrive_and_others_lag(self, picks: Any, all_of_them: bool) -> None:
        """Put adding replicas into the ISR while other replicas fall behind."""
        able = self.controller.state.cluster.live - self.controller.state.cluster.shutting_down
        for now in self.controller.flying():
            if now.leader == NO_LEADER:
                continue
            coming = [r for r in now.adding if r in able and r != now.leader]
            arrived = coming if all_of_them else picks.sample(coming, picks.randint(0, len(coming)))
            others = [r for r in now.isr if r not in {*now.adding, now.leader} and picks.random() < 0.6]
            self.controller.isr(str(now.key), (now.leader, *others, *arrived))

    @rule(name=names)
    def catch_up(self, name: str) -> None:
        if self.controller.state.cluster.partition(*key(name)) is not None:
            catch_up(self.controller, name)

    @rule(stalled=st.sets(names, min_size=1))
    def stall(self, stalled: set[str]) -> None:
        """Report steps as stalled: some or all of their adding replicas do not join the ISR."""
        self.controller.do(Stalled([key(name) for name in stalled]))

    @rule(picks=picks)
    def stop(self, picks: Any) -> None:
        self.controller.stop(picks.choice(sorted(self.controller.state.cluster.brokers)))

    @rule(name=names)
    def stop_the_leader(self, name: str) -> None:
        now = self.controller.state.cluster.partition(*key(name))
        if now is not None:
            self.controller.stop(now.leader)

    @rule(name=names, picks=picks)
    def fail_a_disk(self, name: str, picks: Any) -> None:
        now = self.controller.state.cluster.partition(*key(name))
        if now is not None:
            self.controller.do(LogDirFailed(picks.choice(now.replicas), [now.key]))

    @rule(picks=picks)
    def shut_down(self, picks: Any) -> None:
        self.controller.shut_down(picks.choice(sorted(self.controller.state.cluster.brokers)))

    @rule(picks=picks)
    def start(self, picks: Any) -> None:
        self.controller.start(picks.choice(sorted(self.controller.state.cluster.brokers)))

    @rule(picks=picks)
    def restart(self, picks: Any) -> None:
        brokers = sorted(self.controller.state.cluster.brokers)
        self.controller = self.controller.restart(picks.sample(brokers, picks.randint(0, len(brokers))))

    # ---- invariants
    # ----------------------------------------------------------------------------------

    @invariant()
    def partitions_are_sound(self) -> None:
        for now in self.controller.state.cluster.all_partitions():
            check(now)
            assert (self.controller.reassignment_of(str(now.key)) is not None) or not now.moving

    @invariant()
    def what_is_queued_waits_for_a_rollback_only(self) -> None:
        for name in map(str, self.controller.state.orders.pending):
            wanted = self.controller.reassignment_of(name)
            assert wanted is not None
            assert wanted.rolling_back

    @invariant()
    def what_is_done_is_at_its_target_and_what_is_not_is_listed(self) -> None:
        for name in self.queued.keys() - set(map(str, self.controller.state.orders.pending)):
            self.target[name] = self.queued.pop(name)
        for name, target in self.target.items():
            if not self.exists(name):
                continue
            wanted = self.controller.reassignment_of(name)
            if wanted is None:
                assert self.controller.replicas(name) == target
            else:
                assert (wanted.original, wanted.target) == (self.original[name], target)

    @invariant()
    def a_job_has_each_partition_once(self) -> None:
        state = self.controller.state
        for job in state.orders.jobs.values():
            assert job.total == state.orders.open.get(job.id, 0) + len(state.orders.finished.get(job.id, ()))
            assert bool(job.ended_ms) == (job.id not in state.orders.open)

    def teardown(self) -> None:
        """Without offline brokers, lagging replicas and pauses, every reassignment ends at its target."""
        settle(self.controller)
        assert not self.controller.state.orders.reassignments
        assert not any(topic.deleting for topic in self.controller.state.cluster.topics.values())
        for name, target in {**self.target, **self.queued}.items():
            if self.exists(name):
                assert self.controller.replicas(name) == target
                assert set(self.controller[name].isr) == set(target)


def check(now: Partition) -> None:
    """Check the replica sets of KIP-455, the leader and the ISR."""
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


def catch_up(controller: CheckedController, name: str) -> None:
    """Put every live replica into the ISR."""
    now, state = controller[name], controller.state
    if now.leader != NO_LEADER:
        able = state.cluster.live - state.cluster.shutting_down | set(now.isr)
        controller.isr(name, (now.leader, *(r for r in now.replicas if r != now.leader and r in able)))


def settle(controller: CheckedController) -> None:
    """Start all brokers and let all replicas catch up until no step is in flight."""
    controller.do(Pause(None, False))
    for job in list(controller.state.orders.jobs):
        controller.do(Pause(job, False))
    for broker in sorted(controller.state.cluster.brokers):
        controller.start(broker)
    for _ in range(80):
        for now in list(controller.state.cluster.all_partitions()):
            assert now.leader != NO_LEADER
            if controller.state.cluster.partition(*now.key) is not None:
                catch_up(controller, str(now.key))
        if not controller.state.orders.reassignments:
            break


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
