from planner.model.snapshot import Snapshot
from planner.proposals.outcome import outcome
from planner.proposals.problem.goal import CountRange, Goal, problem_of
from planner.proposals.result import BrokerChange, BrokerLoad, Proposal
from planner.proposals.solver.solve import solve
from tests.planner.proposals.builders import cluster


def drained(snapshot: Snapshot) -> Proposal:
    problem = problem_of(snapshot, Goal(drain=frozenset({1})))
    return outcome(problem, solve(problem))


def test_the_effect_on_each_broker_is_summed() -> None:
    first, _, third = drained(cluster("---", (1, 2), (2, 3), sizes={0: 5, 1: 7})).brokers
    assert (first.before, first.after, first.losses) == (BrokerLoad(1, 1, 5), BrokerLoad(0, 0, 0), 1)
    assert (third.before, third.after, third.gains) == (BrokerLoad(1, 0, 7), BrokerLoad(2, 0, 12), 1)


def test_only_changed_partitions_are_listed() -> None:
    proposal = drained(cluster("---", (1, 2), (2, 3)))
    assert {row.partition: replicas for row, replicas in proposal.changes.items()} == {0: (2, 3)}
    assert (proposal.moves, proposal.leader_changes) == (1, 1)


def test_the_bound_proves_the_moves() -> None:
    proposal = drained(cluster("---", (1, 2), (2, 3)))
    assert (proposal.moves_bound, proposal.bytes_bound, proposal.fewest_moves_proven) == (1, 1, True)


def proposal(moves: int, bound: int, *brokers: BrokerChange) -> Proposal:
    return Proposal({}, moves, 0, 0, 0, 0, brokers, (), 0, bound)


def broker(replicas: int, wanted: CountRange | None) -> BrokerChange:
    return BrokerChange(1, None, BrokerLoad(0, 0, 0), BrokerLoad(replicas, 0, 0), 0, 0, wanted)


def test_moves_are_proven_if_they_equal_the_bound() -> None:
    assert proposal(3, 3).fewest_moves_proven
    assert not proposal(4, 3).fewest_moves_proven


def test_a_broker_outside_of_its_range_is_uneven() -> None:
    inside, outside, free = broker(5, CountRange(4, 5)), broker(6, CountRange(4, 5)), broker(6, None)
    assert proposal(0, 0, inside, outside, free).uneven == (outside,)
