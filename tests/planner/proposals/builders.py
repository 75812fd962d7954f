"""Small clusters to propose plans for."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from planner.proposals.goal import Goal, Problem, ProposalError, Row, problem_of
from planner.snapshot import Broker, Partition, Snapshot


def brokers(racks: str) -> dict[int, Broker]:
    """Return brokers 1, 2, …, one for each letter, which names its rack; `-` is no rack."""
    return {
        number: Broker(number, None if rack == "-" else rack) for number, rack in enumerate(racks, start=1)
    }


def cluster(racks: str, *lists: Sequence[int], sizes: Mapping[int, int] | None = None) -> Snapshot:
    """Return a cluster with the partitions foo-0, foo-1, … on these replicas."""
    partitions = {
        ("foo", number): Partition(
            "foo", number, tuple(each), tuple(each), each[0], (sizes or {}).get(number, 1)
        )
        for number, each in enumerate(lists)
    }
    return Snapshot(brokers(racks), partitions)


def row(*replicas: int, factor: int = 0, number: int = 0, size: int = 1) -> Row:
    """Return the partition foo-`number`."""
    return Row("foo", number, replicas, factor or len(replicas), size)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a cluster of 3 to 8 brokers and a goal that fits it."""
    count = draw(st.integers(3, 8))
    racks = draw(st.sampled_from(["-", "a", "ab", "abc"]))
    letters = "".join(racks[each % len(racks)] for each in range(count))
    ids = st.lists(st.integers(1, count), min_size=1, max_size=4, unique=True)
    snapshot = cluster(letters, *draw(st.lists(ids, min_size=1, max_size=12)))
    drain = draw(st.frozensets(st.integers(1, count), max_size=2))
    goal = Goal(
        drain=drain,
        factor=draw(st.sampled_from([None, None, 1, 2, 3])),
        even_counts=draw(st.booleans()),
        repair_racks=draw(st.booleans()),
        even_leaders=draw(st.booleans()),
        receive_nothing=draw(st.frozensets(st.integers(1, count), max_size=1)),
    )
    try:
        return problem_of(snapshot, goal)
    except ProposalError:
        return draw(problems())
