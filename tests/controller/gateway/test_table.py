"""The walk sends any poll, answer and order at any time, and records which transition each one takes."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from common.error_codes import ErrorCode
from controller import machine
from controller.gateway import polled, steps
from controller.gateway.events import (
    Submitted,
    UpstreamMove,
    UpstreamPartition,
    UpstreamPolled,
    UpstreamTopic,
)
from controller.gateway.observation import answer_to, observe, observe_settled
from controller.gateway.reconciliation import follow, follow_settled, submitted
from controller.gateway.table import COMMANDS, TABLE, Command, Observation
from controller.messages.effects import Submit
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Queue
from controller.model.cluster import Partition, Reassignment, Replicas, UpstreamStep
from controller.model.errors import DONE, Outcome
from controller.model.replicas import TopicPartition
from controller.model.thresholds import CONFIRMED_AFTER, METADATA_LAG, Discrepancy, Threshold
from controller.model.upstream_step import Stage
from controller.modes import GATEWAY
from controller.state.state import Decision
from tests.builders import InMemoryController, key, partition
from tests.examples import examples

FOO = key("foo-0")
PER_PARTITION = "reassignment.max.concurrent.replica.movements.per.partition"
SHORT = {**dict.fromkeys(CONFIRMED_AFTER, Threshold(2, 1_000)), Discrepancy.NOT_LEADING: Threshold(9, 1_000)}
LOST = Outcome(ErrorCode.REQUEST_TIMED_OUT)
ANSWERS = (DONE, LOST, LOST, Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker"))


class Commands(dict[tuple[Stage, Command], Stage]):
    """The table of commands, and which of its rows were used."""

    def __init__(self) -> None:
        super().__init__(COMMANDS)
        self.used: set[tuple[Stage, Command]] = set()

    def __getitem__(self, pair: tuple[Stage, Command]) -> Stage:
        self.used.add(pair)
        return super().__getitem__(pair)


class Walk:
    """One partition of an upstream that shows and answers anything."""

    def __init__(self, random: Random) -> None:
        self.random, self.controller = (
            random,
            InMemoryController().with_partitions(partition("foo-0", (1, 2))),
        )
        self.state = self.controller.state
        self.state.mode = GATEWAY
        self.rows: list[Submit] = []
        self.reached: dict[tuple[Stage, Observation], set[Stage]] = defaultdict(set)
        self.counts: Counter[tuple[Stage, Observation]] = Counter()
        self.commands = Commands()
        orders = [self.order, self.order, self.shorten, self.cancel, self.queue]
        self.actions = [*[self.poll] * 5, *orders, self.pause, self.limit]

    def successor(self, random: Random) -> "Walk":
        """Return a walk with a new controller that goes on with what this one has reached."""
        other = Walk(random)
        other.reached, other.counts, other.commands = self.reached, self.counts, self.commands
        return other

    @contextmanager
    def recorded(self) -> Iterator[None]:
        with (
            patch.object(polled, "follow", self.follow),
            patch.object(polled, "follow_settled", self.follow_settled),
            patch.object(steps, "COMMANDS", self.commands),
            patch.dict(machine._HANDLERS, {Submitted: self.submitted}),
            patch.dict(CONFIRMED_AFTER, SHORT),
        ):
            yield

    def stage(self) -> Stage:
        step = self.state.gateway.steps.get(FOO)
        return Stage.SETTLED if step is None else step.stage

    def stage_after(self, d: Decision, changes: int) -> Stage:
        """The stage that an action led to: that of the first record after `changes` others."""
        steps = (each for each in d.changes[changes:] if isinstance(each, UpstreamStep))
        return next((step.stage for step in steps), self.stage())

    def follow(
        self,
        d: Decision,
        now: Partition,
        step: UpstreamStep,
        seen: UpstreamPartition,
        move: UpstreamMove | None,
    ) -> None:
        observation = observe(step, now, seen, move, self.outdated(seen))
        changes = len(d.changes)
        follow(d, now, step, seen, move)
        self.counts[step.stage, observation] += 1
        self.reached[step.stage, observation].add(self.stage_after(d, changes))

    def outdated(self, seen: UpstreamPartition) -> bool:
        return self.state.gateway.past.may_show(FOO, seen.replicas, self.controller.now_ms)

    def follow_settled(
        self, d: Decision, now: Partition, wanted: Reassignment | None, move: UpstreamMove | None
    ) -> None:
        expected = now.replicas if wanted is None else steps.expected_replicas(d.state, FOO)
        observation = observe_settled(wanted, expected, now, move)
        follow_settled(d, now, wanted, move)
        if wanted is None or not wanted.blocked:
            self.reached[Stage.SETTLED, observation].add(self.stage())

    def submitted(self, d: Decision, event: Submitted) -> None:
        step = self.state.gateway.steps.get(FOO)
        ((_, replicas, outcome),) = event.rows
        observation = None if step is None else answer_to(step, replicas, outcome)
        changes = len(d.changes)
        submitted(d, event)
        if step is not None and observation is not None:
            self.reached[step.stage, observation].add(self.stage_after(d, changes))

    def take_step(self) -> None:
        """Let anything happen once; then let the answer to a row arrive, mostly."""
        before = len(self.controller.effects)
        self.random.choice(self.actions)()
        self.rows += [each for each in self.controller.effects[before:] if isinstance(each, Submit)]
        while self.rows and self.random.random() < 0.8:
            row = self.rows.pop(0)
            before = len(self.controller.effects)
            self.controller.do(Submitted([(FOO, row.replicas, self.random.choice(ANSWERS))]))
            self.rows += [each for each in self.controller.effects[before:] if isinstance(each, Submit)]

    def poll(self) -> None:
        """Show the same once, or until each threshold of the walk is passed.

        Now and then after a long time.
        """
        self.controller.now_ms += self.random.choice([0, 0, METADATA_LAG.ms])
        seen, moves = min((self.guess() for _ in range(8)), key=self.times_seen)
        event = UpstreamPolled(
            None, [UpstreamTopic("foo", self.state.cluster.topics["foo"].id, {0: seen})], moves
        )
        for _ in range(self.random.choice([1, 3])):
            self.controller.now_ms += 1_000
            self.controller.do(event)
            if self.state.gateway.awaits_answer(FOO):
                break

    def guess(self) -> tuple[UpstreamPartition, dict[TopicPartition, UpstreamMove]]:
        return self.seen(), self.moves()

    def times_seen(self, guess: tuple[UpstreamPartition, dict[TopicPartition, UpstreamMove]]) -> int:
        """How often the walk has had this observation: it prefers rare ones."""
        step, (seen, moves) = self.state.gateway.steps.get(FOO), guess
        if step is None or not step.in_flight:
            return 0
        observation = observe(step, self.controller["foo-0"], seen, moves.get(FOO), self.outdated(seen))
        return self.counts[step.stage, observation]

    def lists(self) -> list[Replicas]:
        """The lists that mean something to the step or to the reassignment, and one that does not."""
        now, wanted = self.controller["foo-0"], self.controller.reassignment_of("foo-0")
        lists = [now.replicas, now.replicas[:1], now.replicas[1:], self.target()]
        if wanted is not None:
            lists += [wanted.target, wanted.original]
        step = self.state.gateway.steps.get(FOO)
        if step is not None:
            lists += [step.base, step.following, step.replaced, step.base[::-1]]
            lists.append(step.following + tuple(r for r in step.base if r not in step.following))
        return [each for each in lists if each]

    def target(self) -> Replicas:
        return tuple(self.random.sample(range(1, 7), self.random.randint(1, 3)))

    def seen(self) -> UpstreamPartition:
        replicas = self.random.choice(self.lists())
        size = max(self.random.randint(1, len(replicas)), self.random.randint(1, len(replicas)))
        isr = tuple(self.random.sample(replicas, size))
        epoch = self.controller["foo-0"].leader_epoch + self.random.choice([0, 0, 1])
        return UpstreamPartition(replicas, isr, self.random.choice(isr), epoch)

    def moves(self) -> dict[TopicPartition, UpstreamMove]:
        if self.random.random() < 0.6:
            return {}
        target, now = self.random.choice(self.lists()), self.controller["foo-0"].current
        adding = tuple(r for r in target if r not in now)
        removing = tuple(r for r in now if r not in target)
        if self.random.random() < 0.2:
            stuck = next(r for r in range(1, 9) if r not in {*now, *target})
            adding, removing = (*adding, stuck), (*removing, stuck)
        return {FOO: UpstreamMove(target + removing, adding, removing)}

    def order(self) -> None:
        self.controller.alter({"foo-0": self.random.choice(self.lists())})

    def cancel(self) -> None:
        self.controller.alter({"foo-0": None})

    def queue(self) -> None:
        self.controller.do(Queue([AlterTopic("foo", [AlterRow(0, self.target())])], append=True))

    def shorten(self) -> None:
        """Order some of the replicas that are in sync."""
        now = self.controller["foo-0"]
        in_sync = [r for r in now.replicas if r in now.isr] or [1]
        self.controller.alter({"foo-0": in_sync[: self.random.randint(1, len(in_sync))]})

    def limit(self) -> None:
        """Allow few replicas in a step, so that some steps only prepare a change of the leader."""
        self.controller.default(PER_PARTITION, self.random.choice(["1", "1", "2", "2", None]))

    def pause(self) -> None:
        self.controller.do(Pause(None, self.random.random() < 0.3))


def expected(pair: tuple[Stage, Observation]) -> set[Stage]:
    """The stages that the table allows; a discrepancy that is not confirmed yet changes nothing."""
    rule = TABLE[pair]
    return {*rule.to, pair[0]} if rule.discrepancy is not None else {*rule.to}


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0), st.integers(1, 40))
def test_every_transition_leads_to_a_stage_of_the_table(seed: int, steps: int) -> None:
    """Seeds, because hypothesis records each choice of its own random numbers, and a step makes hundreds."""
    walk = Walk(Random(seed))
    with walk.recorded():
        for _ in range(steps):
            walk.take_step()
    for pair, stages in walk.reached.items():
        assert stages <= expected(pair)


def test_the_reachable_transitions_are_exactly_those_of_the_table() -> None:
    """Several walks, because the records of ended jobs slow a long one down."""
    table = {pair: expected(pair) for pair in TABLE}
    walk = Walk(Random(0))
    for seed in range(1, 100):
        with walk.recorded():
            for _ in range(1_000):
                walk.take_step()
        if walk.reached == table:
            break
        walk = walk.successor(Random(seed))
    assert walk.reached == table
    assert walk.commands.used == set(COMMANDS)
