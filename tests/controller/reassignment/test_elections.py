"""Jobs that elect preferred leaders (Job.elects), as those that demote brokers."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.messages.events import AlterReassignments, Continue
from controller.messages.job_events import AlterRow, AlterTopic, Prune, RollBackJob
from controller.model.cluster import Ending
from controller.reassignment.phases import Phase
from tests.builders import InMemoryController, key, partition
from tests.examples import examples


def three(**limits: int) -> InMemoryController:
    """Three partitions that broker 1 leads."""
    names = ("foo-0", "foo-1", "foo-2")
    return (
        InMemoryController()
        .with_partitions(*(partition(name, [1, 2, 3]) for name in names))
        .with_limits(**limits)
    )


def leaders(controller: InMemoryController) -> list[int]:
    return [each.leader for each in controller.state.cluster.all_partitions()]


def endings(controller: InMemoryController, job: int = 1) -> dict[str, Ending]:
    return {str(name): row.ending for name, row in controller.state.orders.finished[job].items()}


def roll_back(controller: InMemoryController, job: int = 1) -> int:
    number: int = controller.do(RollBackJob(job)).reply.job
    return number


def test_an_order_alone_keeps_the_leader() -> None:
    controller = three()
    controller.alter({"foo-0": [2, 3, 1]})
    assert controller["foo-0"].leader == 1


def test_a_job_that_elects_moves_the_leadership() -> None:
    controller = three()
    controller.alter({"foo-0": [2, 3, 1], "foo-1": [3, 2, 1]}, elects=True)
    assert leaders(controller) == [2, 3, 1]
    assert controller["foo-0"].leader_epoch == 1
    assert endings(controller) == {"foo-0": Ending.DONE, "foo-1": Ending.DONE}


def test_its_rollback_restores_order_and_leader() -> None:
    controller = three()
    controller.alter({"foo-0": [2, 3, 1]}, elects=True)
    assert roll_back(controller) == 2
    assert (controller.replicas("foo-0"), controller["foo-0"].leader) == ((1, 2, 3), 1)
    assert controller.state.orders.jobs[2].elects


def test_elections_obey_limit_l() -> None:
    controller = three(leaders=1)
    rows = [AlterRow(number, (2, 3, 1)) for number in range(3)]
    controller.decide(AlterReassignments([AlterTopic("foo", rows)], elects=True))
    seen = [leaders(controller).count(2)]
    while seen[-1] < 3:
        controller.decide(Continue())
        seen.append(leaders(controller).count(2))
    assert seen == list(range(seen[0], 4))


def test_a_preferred_leader_that_does_not_lead_is_elected_without_a_change_of_the_list() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2], leader=2))
    controller.alter({"foo-0": [1, 2]}, elects=True)
    assert (controller["foo-0"].leader, endings(controller)) == (1, {"foo-0": Ending.DONE})
    assert controller.state.orders.jobs[1].total == 1


def test_it_is_elected_in_a_large_request_too() -> None:
    names = [f"foo-{number}" for number in range(120)]
    controller = InMemoryController().with_partitions(*(partition(name, [1, 2], leader=2) for name in names))
    controller.alter({name: [1, 2] for name in names}, elects=True)
    assert set(leaders(controller)) == {1}
    assert set(endings(controller).values()) == {Ending.DONE}


def test_without_elects_such_a_row_changes_nothing() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2], leader=2))
    controller.alter({"foo-0": [1, 2]})
    assert (controller["foo-0"].leader, controller.state.orders.jobs) == (2, {})


def test_a_partition_waits_until_its_successor_is_in_sync() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2], isr=(1,)))
    controller.alter({"foo-0": [2, 1]}, elects=True)
    assert controller.phase("foo-0") is Phase.WAITING
    assert controller.waiting_reason("foo-0") == "not in sync: broker 2, which is to lead the partition"
    controller.isr("foo-0", [1, 2])
    assert (controller.replicas("foo-0"), controller["foo-0"].leader) == ((2, 1), 2)


def test_a_rollback_waits_for_the_broker_that_was_demoted() -> None:
    controller = three()
    controller.alter({"foo-0": [2, 3, 1]}, elects=True)
    controller.stop(1)
    roll_back(controller)
    assert controller.waiting_reason("foo-0") == "offline: broker 1, which is to lead the partition"
    controller.start(1)
    controller.isr("foo-0", [2, 3, 1])
    assert (controller.replicas("foo-0"), controller["foo-0"].leader) == ((1, 2, 3), 1)


def test_a_rollback_ends_the_time_of_the_job() -> None:
    controller = three()
    controller.alter({"foo-0": [2, 3, 1]}, elects=True, until_ms=5_000)
    assert controller.state.orders.jobs[1].until_ms == 5_000
    roll_back(controller)
    assert controller.state.orders.jobs[1].until_ms == 0


def test_a_job_that_is_to_be_rolled_back_is_not_pruned() -> None:
    controller = three()
    controller.alter({"foo-0": [2, 3, 1]}, elects=True, until_ms=5_000)
    controller.alter({"foo-1": [2, 3, 1]})
    controller.alter({"foo-2": [2, 3, 1]})
    controller.do(Prune(10**15, 0))
    assert list(controller.state.orders.jobs) == [1, 3]


def test_a_change_of_a_person_takes_its_partition_out_of_the_rollback() -> None:
    controller = three()
    controller.alter({"foo-0": [2, 3, 1], "foo-1": [2, 3, 1]}, elects=True, until_ms=5_000)
    controller.alter({"foo-1": [3, 2, 1]})
    roll_back(controller)
    assert [controller.replicas(name) for name in ("foo-0", "foo-1")] == [(1, 2, 3), (3, 2, 1)]


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_a_rollback_restores_each_order_and_leader(seed: int) -> None:
    """Whatever is handed over, in any limits, with the job complete or not."""
    rng = random.Random(seed)
    controller = InMemoryController()
    names = [f"foo-{number}" for number in range(8)]
    for name in names:
        controller.with_partitions(partition(name, rng.sample(range(1, 7), rng.randint(1, 4))))
    if rng.random() < 0.5:
        controller.with_limits(leaders=1, partitions=2)
    before = {name: (controller.replicas(name), controller[name].leader) for name in names}
    demoted = set(rng.sample(range(1, 7), 2))
    targets = {}
    for name in names:
        others = [each for each in controller.replicas(name) if each not in demoted]
        if others and controller.replicas(name)[0] in demoted:
            rng.shuffle(others)
            targets[name] = others + [each for each in controller.replicas(name) if each in demoted]
    controller.alter(targets, elects=True)
    for name, target in targets.items():
        assert (controller.replicas(name), controller[name].leader) == (tuple(target), target[0])
        assert key(name) in controller.state.orders.finished[1]
    if targets:
        roll_back(controller)
    assert {name: (controller.replicas(name), controller[name].leader) for name in names} == before
