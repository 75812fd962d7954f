from planner.proposals.problem.goal import CountRange
from planner.proposals.result import BrokerChange, Load, Proposal


def proposal(moves: int, bound: int, *brokers: BrokerChange) -> Proposal:
    return Proposal({}, moves, 0, 0, 0, 0, brokers, (), 0, bound)


def broker(replicas: int, wanted: CountRange | None) -> BrokerChange:
    return BrokerChange(1, None, Load(0, 0, 0), Load(replicas, 0, 0), 0, 0, wanted)


def test_moves_are_proven_if_they_equal_the_bound() -> None:
    assert proposal(3, 3).fewest_moves_proven
    assert not proposal(4, 3).fewest_moves_proven


def test_a_broker_outside_of_its_range_is_uneven() -> None:
    inside, outside, free = broker(5, CountRange(4, 5)), broker(6, CountRange(4, 5)), broker(6, None)
    assert proposal(0, 0, inside, outside, free).uneven == (outside,)
