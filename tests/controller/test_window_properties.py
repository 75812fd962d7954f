"""Large and small plans in simulated time: limits are always kept, free capacity is used, all moves end."""

import heapq
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.machine import decide
from controller.messages.event import AnyEvent
from controller.messages.events import AlterPartition, AlterReassignments, Continue, IsrChange
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Reorder
from controller.model.cluster import Partition, Replicas
from controller.model.limits import NO_LIMITS, PlanLimits
from controller.scheduling.limits import Capacity, LimitKind
from controller.state.state import Decision, State
from planner.model.step_table import Move, steps_of
from planner.waves import Load, first_fit
from tests.builders import InMemoryController, key, partition, planned_steps
from tests.examples import examples

BROKERS = range(1, 13)


class Simulation:
    """A controller whose replicas take a random time to get in sync; each event is one instant."""

    def __init__(self, limits: PlanLimits, seed: int) -> None:
        controller = InMemoryController(BROKERS).with_limits(**limits._asdict())
        self.state: State = controller.state
        self.limits = limits
        self.random = random.Random(seed)
        self.now = 0.0
        self.arrivals: list[tuple[float, str]] = []
        self.known: set[str] = set()
        self.targets: dict[str, Replicas] = {}
        self.own: dict[str, PlanLimits] = {}
        """By topic, each of which is a job."""
        self.filled = self.observed = 0.0

    def submit(self, name: str, size: int, own: PlanLimits = NO_LIMITS) -> None:
        """Submit a plan that moves each partition of a new topic to random brokers, with its own limits."""
        rows = []
        controller = InMemoryController(())
        controller.state = self.state
        made = []
        for number in range(size):
            made.append(partition(f"{name}-{number}", self.random.sample(BROKERS, 3)))
            target = tuple(self.random.sample(BROKERS, 3))
            self.targets[f"{name}-{number}"] = target
            rows.append(AlterRow(number, target))
        controller.with_partitions(*made)
        self.own[name] = own
        self.decide(AlterReassignments([AlterTopic(name, rows)], limits=own))

    def decide(self, event: AnyEvent) -> None:
        """Decide the event with its follow-up events, then check the limits."""
        events = [event]
        while events:
            d = Decision(self.state)
            for _ in decide(d, events.pop()):
                pass
            if d.more:
                events.append(Continue())
            self.check()
        for name in map(str, self.state.in_flight):
            if name not in self.known:
                self.known.add(name)
                heapq.heappush(self.arrivals, (self.now + self.random.random() * 10, name))

    def step(self) -> None:
        """Let the next replicas get in sync."""
        when, name = heapq.heappop(self.arrivals)
        self._account(when - self.now)
        self.now = when
        self.known.discard(name)
        now = self.state.cluster.partitions[key(name).topic][key(name).partition]
        change = IsrChange(now.topic, now.partition, now.leader_epoch, now.replicas, now.partition_epoch)
        self.decide(AlterPartition(now.leader, -1, [change]))

    def check(self) -> None:
        """Count the steps in flight from the partitions and compare with the limits."""
        flying = [self.state.cluster.partitions[t][n] for t, n in self.state.in_flight]
        movements = [p for p in flying if p.adding]
        check_limits(movements, self.limits)
        for topic, own in self.own.items():
            check_limits([p for p in movements if p.topic == topic], own)

    def _account(self, seconds: float) -> None:
        waiting = len(self.state.orders.reassignments) - len(self.state.in_flight)
        if waiting > 20 * self.limits.partitions:
            self.observed += seconds
            self.filled += (
                seconds
                * self.state.backlog.usage.taken(Capacity(LimitKind.PARTITIONS))
                / self.limits.partitions
            )


def check_limits(movements: list[Partition], limits: PlanLimits) -> None:
    """Check that these movements, all or those of a job, keep the limits."""
    assert len(movements) <= limits.partitions
    incoming = Counter(broker for p in movements for broker in p.adding)
    assert max(incoming.values(), default=0) <= limits.per_broker
    adding = [len(p.adding) for p in movements]
    assert sum(adding) <= limits.replicas
    assert max(adding, default=0) <= limits.per_partition
    outgoing = Counter[int]()
    for p in movements:
        outgoing[p.leader] += len(p.adding)
    assert all(outgoing[b] <= max(limits.per_broker, largest(movements, b)) for b in outgoing)


def largest(movements: list[Partition], broker: int) -> int:
    """Return the adding replicas of the largest step that the broker leads.

    A single step may exceed the limit.
    """
    return max(len(p.adding) for p in movements if p.leader == broker)


limits = st.builds(
    PlanLimits,
    per_partition=st.integers(1, 3),
    partitions=st.integers(1, 30),
    leaders=st.integers(1, 10),
    replicas=st.integers(3, 40),
    per_broker=st.integers(1, 6),
)


@settings(max_examples=examples(25), deadline=None)
@given(
    limits,
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(1, 30), st.just(NO_LIMITS) | limits), min_size=1, max_size=6),
)
def test_limits_hold_and_everything_arrives(
    limits: PlanLimits, seed: int, jobs: list[tuple[int, PlanLimits]]
) -> None:
    simulation = Simulation(limits, seed)
    for number, (size, own) in enumerate(jobs):
        simulation.submit(f"plan{number}", size, own)
        for _ in range(min(5, len(simulation.arrivals))):
            simulation.step()
    while simulation.arrivals:
        simulation.step()
    assert not simulation.state.orders.reassignments
    for name, target in simulation.targets.items():
        assert simulation.state.cluster.partitions[key(name).topic][key(name).partition].replicas == target


@pytest.mark.parametrize("per_broker", [4, 2_147_483_647])
def test_the_limit_is_used_up_while_enough_steps_are_ready(per_broker: int) -> None:
    simulation = Simulation(PlanLimits(per_partition=1, partitions=10, per_broker=per_broker), seed=7)
    simulation.submit("big", 300)
    for number in range(10):
        simulation.submit(f"small{number}", 5)
    while simulation.arrivals:
        simulation.step()
    assert simulation.filled / simulation.observed >= 0.95
    assert not simulation.state.orders.reassignments


def crowding() -> dict[str, tuple[Replicas, Replicas]]:
    """Return current and target replicas by partition. Many share one broker, which should always be busy."""
    rng = random.Random(1)
    others = range(1, 12)
    rows = {}
    for number in range(300):
        target = (12, rng.choice(others)) if rng.random() < 0.4 else tuple(rng.sample(others, 2))
        rows[f"foo-{number}"] = (tuple(rng.sample(others, 2)), target[:: rng.choice((1, -1))])
    return rows


def rounds(
    rows: dict[str, tuple[Replicas, Replicas]], limits: PlanLimits, waves: dict[str, list[int]]
) -> int:
    """Return the number of rounds until the plan is done, if each step takes one round."""
    controller = InMemoryController(BROKERS).with_limits(**limits._asdict())
    controller.with_partitions(*(partition(name, current) for name, (current, _) in rows.items()))
    controller.do(Pause(None, True))
    controller.alter({name: target for name, (_, target) in rows.items()})
    controller.do(Reorder(1, [planned_steps(controller, name, its) for name, its in waves.items()]))
    controller.do(Pause(None, False))
    count = 0
    while controller.state.in_flight:
        controller.catch_up()
        count += 1
    return count


def test_the_planners_order_keeps_a_crowded_broker_busy() -> None:
    rows, limits = crowding(), PlanLimits(per_partition=1, partitions=20, per_broker=5)
    moves = [Move("foo", n, now, to, now, now[0]) for n, (now, to) in enumerate(rows.values())]
    steps = [
        (name, step) for name, move in zip(rows, moves, strict=True) for step in steps_of(move, BROKERS, 1)
    ]
    placed = first_fit(
        (Load(name, step.adding, step.source, step.leader_movement) for name, step in steps), limits
    )
    waves: dict[str, list[int]] = {}
    for (name, _), wave in zip(steps, placed, strict=True):
        waves.setdefault(name, []).append(wave)
    assert rounds(rows, limits, waves) < rounds(rows, limits, {})
