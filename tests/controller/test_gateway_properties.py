"""Properties of a gateway whose Kafka other clients use too, under losses, deletions and outages."""

from collections import defaultdict
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from common.error_codes import ErrorCode
from controller.gateway.events import Unreachable
from controller.messages.events import AlterReassignments, Stalled
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Prioritize, Queue, RollBackJob
from controller.model.cluster import Ending, TopicPartition
from controller.model.errors import Outcome
from controller.model.replicas import Replicas
from tests.builders import key, outcomes
from tests.controller.kraft import Gateway
from tests.examples import examples

NAMES = ("foo-0", "foo-1", "bar-0")
LONGEST_LAG_MS = 40_000
REFUSALS = {
    ErrorCode.NONE,
    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
}


class Site:
    """A gateway, its Kafka, and the expected results.

    `promised` is the final replica list of each partition; a partition that other clients changed has no
    entry. `been` holds the lists without a reassignment in progress, in order. `since` is the first index in
    `been` at which the reassignment may have ended.
    """

    def __init__(self, step: int, together: int, waits_for_added: bool) -> None:
        partitions = zip(NAMES, LISTS, strict=True)
        self.gateway = Gateway(*partitions, waits_for_added=waits_for_added)
        self.gateway.default("reassignment.max.concurrent.replica.movements.per.partition", str(step))
        self.gateway.default("reassignment.max.concurrent.partition.movements", str(together))
        self.promised = {key(name): replicas for name, replicas in zip(NAMES, LISTS, strict=True)}
        self.touched: set[TopicPartition] = set()
        self.been: dict[TopicPartition, list[Replicas]] = defaultdict(list)
        self.since: dict[TopicPartition, int] = defaultdict(int)
        self.reported: set[tuple[int, TopicPartition]] = set()
        self.frozen_ms = 0
        self.note()

    # ---- requests ----

    def order(self, name: str, target: Replicas) -> None:
        self.begin(name)
        if self.heard(self.gateway.alter({name: target})[name]):
            self.promise(key(name), target)

    def queue(self, name: str, target: Replicas) -> None:
        self.begin(name)
        topic, number = key(name)
        event = Queue([AlterTopic(topic, [AlterRow(number, target)])], append=True)
        if self.heard(outcomes(self.gateway.do(event).reply)[name]):
            self.promise(key(name), target)

    def cancel(self, name: str, _: Replicas) -> None:
        wanted = self.gateway.reassignment_of(name)
        if self.heard(self.gateway.alter({name: None})[name]):
            self.taken_back(key(name), None if wanted is None else wanted.original)

    def cancel_everything(self, _: str, __: Replicas) -> None:
        originals = {each.key: each.original for each in self.gateway.state.orders.reassignments.values()}
        for name, outcome in outcomes(self.gateway.do(AlterReassignments(None)).reply).items():
            if self.heard(outcome):
                self.taken_back(key(name), originals.get(key(name)))

    def roll_back(self, _: str, target: Replicas) -> None:
        state = self.gateway.state
        job = list(state.orders.jobs)[-target[0] :][:1] or [0]
        for name in NAMES:
            self.begin(name)
        before = dict(state.orders.reassignments)
        self.gateway.do(RollBackJob(job[0]))
        for each in map(key, NAMES):
            pending, wanted = state.orders.pending.get(each), state.orders.reassignments.get(each)
            if pending is None and wanted is not None:
                self.promise(each, wanted.target)
            elif pending is None and each in before:
                self.promise(each, before[each].original)

    def pause(self, _: str, target: Replicas) -> None:
        self.gateway.do(Pause(None, len(target) == 1))

    def pause_job(self, _: str, target: Replicas) -> None:
        self.gateway.do(Pause(target[0], len(target) == 1))

    def prioritize(self, _: str, target: Replicas) -> None:
        self.gateway.do(Prioritize(target[0], target[-1]))

    def limit(self, _: str, target: Replicas) -> None:
        name = "reassignment.max.concurrent.replica.movements.per.partition"
        self.gateway.default(name, str(target[0]) if len(target) > 1 else None)

    def stall(self, name: str, _: Replicas) -> None:
        self.gateway.do(Stalled([key(name)]))

    # ---- changes by other clients ----

    def move(self, name: str, target: Replicas) -> None:
        self.touch(key(name))
        self.gateway.kafka.alter(key(name), target)

    def stop_move(self, name: str, _: Replicas) -> None:
        self.touch(key(name))
        self.gateway.kafka.alter(key(name), None)

    def delete(self, name: str, _: Replicas) -> None:
        for each in [each for each in self.gateway.kafka.replicas if each.topic == key(name).topic]:
            self.touch(each)
            self.gateway.kafka.delete(each)

    def make(self, name: str, target: Replicas) -> None:
        topic = key(name).topic
        for each in (each for each in NAMES if key(each).topic == topic):
            if key(each) not in self.gateway.kafka.replicas:
                self.gateway.kafka.create(each, target)

    # ---- events of the cluster ----

    def deliver(self, _: str, __: Replicas) -> None:
        self.gateway.deliver()

    def lose_requests(self, _: str, __: Replicas) -> None:
        self.gateway.lose_requests()

    def lose_answers(self, _: str, __: Replicas) -> None:
        self.gateway.lose_answers()

    def poll(self, _: str, __: Replicas) -> None:
        self.gateway.poll()

    def poll_on(self, _: str, target: Replicas) -> None:
        self.gateway.deliver()
        for _look in range(target[0]):
            self.gateway.now_ms += 750
            self.gateway.poll()

    def wait(self, _: str, target: Replicas) -> None:
        self.gateway.now_ms += target[0] * 1_000

    def catch_up(self, name: str, _: Replicas) -> None:
        if key(name) in self.gateway.kafka.replicas:
            self.gateway.kafka.catch_up(key(name))

    def arrive(self, name: str, target: Replicas) -> None:
        for broker in target:
            if key(name) in self.gateway.kafka.replicas:
                self.gateway.kafka.arrive(key(name), broker)

    def catch_up_all(self, _: str, __: Replicas) -> None:
        self.gateway.catch_up()

    def restart(self, _: str, target: Replicas) -> None:
        self.gateway.lose_requests()
        self.gateway = self.gateway.successor()

    def down(self, _: str, target: Replicas) -> None:
        if not self.gateway.kafka.down:
            self.gateway.kafka.down.add(target[0])

    def up(self, _: str, __: Replicas) -> None:
        self.gateway.kafka.down.clear()

    def lag(self, _: str, __: Replicas) -> None:
        self.freeze(self.gateway.kafka.freeze)

    def lag_one(self, _: str, __: Replicas) -> None:
        self.freeze(self.gateway.kafka.freeze_one)

    def freeze(self, what: Callable[[], None]) -> None:
        kafka = self.gateway.kafka
        if kafka.lagging is None and kafka.behind is None:
            self.frozen_ms = self.gateway.now_ms
        what()

    def publish(self, _: str, __: Replicas) -> None:
        self.gateway.kafka.publish()

    def lead(self, name: str, target: Replicas) -> None:
        if key(name) in self.gateway.kafka.replicas:
            self.gateway.kafka.lead(key(name), target[0])

    def outage(self, _: str, __: Replicas) -> None:
        self.gateway.do(Unreachable("connection refused"))

    # ---- recorded and checked state ----

    def heard(self, outcome: Outcome) -> bool:
        assert outcome.error in REFUSALS
        return outcome.ok

    def promise(self, name: TopicPartition, target: Replicas) -> None:
        if name not in self.touched:
            self.promised[name] = target

    def taken_back(self, name: TopicPartition, original: Replicas | None) -> None:
        """Promise the original again.

        Without an original, an external move or a waiting entry was cancelled.
        """
        assert original is not None or name in self.touched
        if original is not None:
            self.promise(name, original)

    def touch(self, name: TopicPartition) -> None:
        self.touched.add(name)
        self.promised.pop(name, None)

    def begin(self, name: str) -> None:
        """Prepare for an order: the present list may already be its target."""
        state = self.gateway.state
        if key(name) not in state.orders.reassignments and key(name) not in state.orders.pending:
            self.since[key(name)] = max(0, len(self.been[key(name)]) - 1)

    def note(self) -> None:
        kafka = self.gateway.kafka
        for name, replicas in kafka.replicas.items():
            been = self.been[name]
            if not kafka.moves(name) and been[-1:] != [replicas]:
                been.append(replicas)

    def check(self) -> None:
        self.note()
        state = self.gateway.state
        # After a restart, a step's cost is unknown until a poll shows its partition, which may be deleted.
        # Others may move a partition without adding or removing replicas: that is listed, but is no step.
        known = {each for each in state.in_flight if state.cluster.partition(*each) is not None}
        assert set(state.backlog.costs) == known | state.gateway.external
        for job, rows in state.orders.finished.items():
            for name, row in rows.items():
                if (job, name) not in self.reported:
                    self.reported.add((job, name))
                    if row.ending in {Ending.DONE, Ending.ROLLED_BACK}:
                        since = 0 if name in self.touched else self.since[name]
                        assert row.target in self.been[name][since:]
        for name, wanted in state.orders.reassignments.items():
            assert not wanted.blocked or name in self.touched
        if self.gateway.now_ms - self.frozen_ms > LONGEST_LAG_MS:
            self.gateway.kafka.publish()

    def do(self, what: Callable[["Site", str, Replicas], None], name: str, target: Replicas) -> None:
        what(self, name, target)
        self.check()

    def calm(self) -> None:
        """Start all brokers, publish all metadata and wait: every reassignment must end."""
        gateway, kafka = self.gateway, self.gateway.kafka
        kafka.down.clear()
        kafka.publish()
        state = gateway.state
        gateway.do(Pause(None, False))
        for job in list(state.orders.jobs):
            gateway.do(Pause(job, False))
        still = 0
        for _ in range(400):
            gateway.now_ms += 750
            gateway.catch_up()
            for name, wanted in list(state.orders.reassignments.items()):
                if wanted.blocked:
                    gateway.alter({str(name): wanted.target})
            self.check()
            busy = (
                state.orders.reassignments
                or state.orders.pending
                or state.gateway.steps
                or state.gateway.missing_since
                or state.gateway.sighted_keys()
            )
            still = 0 if busy or state.gateway.external else still + 1
            if still == 3:
                break

    def ended(self) -> None:
        state, kafka = self.gateway.state, self.gateway.kafka
        assert (
            state.orders.reassignments,
            state.orders.pending,
            state.gateway.steps,
            state.gateway.tracking,
        ) == ({}, {}, {}, {})
        assert (state.gateway.external, len(state.backlog.costs), state.orders.open) == (set(), 0, {})
        assert not any(map(kafka.moves, kafka.replicas))
        assert {each.key: each.replicas for each in state.cluster.all_partitions()} == kafka.replicas
        for name, replicas in self.promised.items():
            assert kafka.replicas[name] == replicas
        assert all(job.ended_ms for job in state.orders.jobs.values())


LISTS = ((4, 1), (5,), (1, 2, 3))
OURS = (Site.order, Site.queue, Site.cancel, Site.roll_back, Site.stall, Site.pause, Site.pause_job)
SELDOM = (Site.cancel_everything, Site.prioritize, Site.limit, Site.restart, Site.outage, Site.wait)
WORLD = (
    Site.deliver,
    Site.lose_requests,
    Site.lose_answers,
    Site.poll,
    Site.poll_on,
    Site.catch_up,
    Site.arrive,
    Site.catch_up_all,
)
TROUBLE = (Site.down, Site.up, Site.lag, Site.lag_one, Site.publish, Site.lead)
OTHERS = (Site.move, Site.stop_move, Site.delete, Site.make)

TARGETS = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple)
SITES = st.builds(Site, st.integers(1, 3), st.integers(1, 3), st.booleans())


def script(
    *actions: Callable[[Site, str, Replicas], None],
) -> st.SearchStrategy[list[tuple[Callable[[Site, str, Replicas], None], str, Replicas]]]:
    step = st.tuples(st.sampled_from(actions), st.sampled_from(NAMES), TARGETS)
    return st.lists(step, max_size=30)


def play(site: Site, steps: list[tuple[Callable[[Site, str, Replicas], None], str, Replicas]]) -> None:
    for what, name, target in steps:
        site.do(what, name, target)
    site.calm()
    site.ended()


@settings(max_examples=examples(60))
@given(script(*OURS, *OURS, *WORLD, *SELDOM, *TROUBLE), SITES)
def test_without_other_clients_all_reassignments_reach_their_target_and_none_is_blocked(
    steps: list[tuple[Callable[[Site, str, Replicas], None], str, Replicas]], site: Site
) -> None:
    play(site, steps)


@settings(max_examples=examples(60))
@given(script(*OURS, *WORLD, *SELDOM, *TROUBLE, *OTHERS), SITES)
def test_with_other_clients_all_reassignments_end_and_untouched_partitions_reach_their_target(
    steps: list[tuple[Callable[[Site, str, Replicas], None], str, Replicas]], site: Site
) -> None:
    play(site, steps)
