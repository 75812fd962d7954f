from collections import defaultdict
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.error_codes import ErrorCode
from controller.execution import direct_steps
from controller.model.cluster import NO_LEADER, Reassignment, Replicas
from controller.model.errors import DONE
from controller.model.limits import PlanLimits
from controller.modes import EMBEDDED
from controller.reassignment.phases import TABLE, Phase, Trigger, fire
from controller.reassignment.reassignments import Order
from controller.scheduling.limits import Cost
from controller.state.state import Decision, StepExecutor
from tests.builders import InMemoryController, key, partition
from tests.examples import examples

TO = (4, 5, 6)


def waiting() -> InMemoryController:
    controller = InMemoryController(live=(1, 2, 3)).with_partitions(partition("foo-0", (1, 2, 3)))
    controller.alter({"foo-0": (1, 2, 4)})
    return controller


def test_a_partition_without_a_reassignment_is_idle() -> None:
    assert InMemoryController().with_partitions(partition("foo-0", (1, 2, 3))).phase("foo-0") is Phase.IDLE


def test_a_partition_whose_step_is_in_flight_is_moving() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    controller.alter({"foo-0": TO})
    assert controller.phase("foo-0") is Phase.MOVING


def test_a_partition_whose_broker_is_offline_waits_with_a_reason() -> None:
    controller = waiting()
    assert controller.phase("foo-0") is Phase.WAITING
    assert controller.waiting_reason("foo-0") == "offline: broker 4"


def test_a_partition_without_capacity_for_its_step_is_queued() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    controller.put(Reassignment("foo", 0, (1, 2, 3), TO))
    assert controller.phase("foo-0") is Phase.QUEUED


@pytest.mark.parametrize(
    ("trigger", "error"),
    [
        (Trigger.CANCEL, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (Trigger.START, ErrorCode.NONE),
        (Trigger.PROGRESS, ErrorCode.NONE),
    ],
)
def test_a_transition_outside_of_the_table_is_refused_and_changes_nothing(
    trigger: Trigger, error: ErrorCode
) -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    d = Decision(controller.state)
    assert fire(d, controller["foo-0"], trigger).error is error
    assert (d.changes, d.effects) == ([], [])


def test_a_step_in_flight_is_not_started_again() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    controller.alter({"foo-0": TO})
    d = Decision(controller.state)
    assert fire(d, controller["foo-0"], Trigger.START) == DONE
    assert d.changes == []


def test_every_phase_can_be_ordered_and_all_but_idle_can_be_cancelled() -> None:
    assert {phase for phase, trigger in TABLE if trigger is Trigger.ORDER} == set(Phase)
    assert {phase for phase, trigger in TABLE if trigger is Trigger.CANCEL} == {*Phase} - {Phase.IDLE}


DIRECT: StepExecutor = direct_steps
STUBBORN = cast(StepExecutor, SimpleNamespace(**{**vars(direct_steps), "can_turn": lambda *_: False}))


class Walk:
    """One partition, any trigger at any time, any live brokers and ISRs: the reachable phases."""

    def __init__(self) -> None:
        self.controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
        self.executor = DIRECT
        self.reached: dict[tuple[Phase, Trigger], set[Phase]] = defaultdict(set)

    def fire(self, trigger: Trigger, target: Replicas = ()) -> None:
        before = self.controller.phase("foo-0")
        self.controller.state.mode = replace(EMBEDDED, executor=self.executor)
        fire(Decision(self.controller.state, 1), self.controller["foo-0"], trigger, Order(target, 1))
        self.reached[before, trigger].add(self.controller.phase("foo-0"))

    def order_again(self) -> None:
        wanted = self.controller.reassignment_of("foo-0")
        self.fire(Trigger.ORDER, self.controller["foo-0"].replicas if wanted is None else wanted.target)

    def change_isr(self, picks: Random) -> None:
        now = self.controller["foo-0"]
        isr = tuple(picks.sample(now.replicas, picks.randint(1, len(now.replicas))))
        self.controller.put(now._replace(isr=isr, leader=picks.choice([NO_LEADER, *isr])))

    def crowd(self, picks: Random) -> None:
        """Another step takes or releases the only capacity, and the executor can turn steps, or not."""
        self.executor = picks.choice([DIRECT, STUBBORN])
        backlog = self.controller.state.backlog
        backlog.change_limits(picks.choice([PlanLimits(partitions=1), PlanLimits(1, 1), PlanLimits()]))
        if picks.random() < 0.5:
            backlog.charge(key("bar-0"), Cost((6,), 5, False))
        else:
            backlog.release(key("bar-0"))

    def others(self, picks: Random) -> None:
        """Someone else begins to move the partition, or has ended it."""
        now, state = self.controller["foo-0"], self.controller.state
        if now.key in state.gateway.external:
            state.gateway.discard_external(now.key)
            self.controller.put(now._replace(replicas=now.current, adding=(), removing=()))
        elif self.controller.phase("foo-0") in {Phase.IDLE, picks.choice([Phase.IDLE] * 9 + [Phase.QUEUED])}:
            adding = tuple(r for r in picks.sample(range(1, 7), 2) if r not in now.replicas)
            if adding:
                state.gateway.add_external(now.key)
                self.controller.put(now._replace(replicas=adding + now.replicas, adding=adding))

    def step(self, picks: Random) -> None:
        """Anything."""
        happening = picks.randrange(8)
        if happening == 0:
            self.fire(Trigger.ORDER, tuple(picks.sample(range(1, 7), picks.randint(1, 4))))
        elif happening == 1:
            self.order_again()
        elif happening == 2:
            self.controller.state.cluster.live ^= {picks.randint(1, 6)}
        elif happening == 3:
            self.change_isr(picks)
        elif happening == 4:
            self.crowd(picks)
        elif happening == 5:
            self.others(picks)
        else:
            self.fire(
                picks.choice(
                    [
                        Trigger.CANCEL,
                        Trigger.START,
                        Trigger.PROGRESS,
                        Trigger.PROGRESS,
                        Trigger.STALL,
                        Trigger.PLAN,
                        Trigger.PLAN,
                    ]
                )
            )


@settings(max_examples=examples(50))
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_every_transition_leads_to_a_phase_of_the_table(picks: Random, steps: int) -> None:
    walk = Walk()
    for _ in range(steps):
        walk.step(picks)
    for (before, trigger), after in walk.reached.items():
        allowed = TABLE[before, trigger].to if (before, trigger) in TABLE else {before}
        assert after <= allowed


def test_all_transitions_of_the_table_are_reachable() -> None:
    walk, picks = Walk(), Random(3)
    for _ in range(20_000):
        walk.step(picks)
    assert {pair: walk.reached[pair] for pair in TABLE} == {pair: TABLE[pair].to for pair in TABLE}
