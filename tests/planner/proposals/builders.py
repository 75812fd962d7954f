"""Small clusters to propose plans for."""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from planner.model.snapshot import Broker, Load, Partition, Snapshot, packed
from planner.proposals.problem import table
from planner.proposals.problem.factors import wanted_factors
from planner.proposals.problem.goal import Goal, Problem, ProposalError, problem_of
from planner.proposals.problem.table import Table, columns_of
from planner.proposals.result import Proposal


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


def loaded(snapshot: Snapshot, *rates: float | None) -> Snapshot:
    """Return the cluster in which producers write so many bytes per second to each partition.

    Consumers read twice as much. The busy hour and the mean are like the last minutes.
    """
    partitions = {
        key: row._replace(load=None if rate is None else Load(*(rate, 2 * rate) * 3))
        for (key, row), rate in zip(snapshot.partitions.items(), rates, strict=True)
    }
    return snapshot._replace(partitions=partitions)


def failing(
    snapshot: Snapshot, offline: Container[int] = (), behind: Mapping[int, Container[int]] | None = None
) -> Snapshot:
    """Return the cluster with offline brokers, and with replicas of partitions foo-N out of the ISR.

    As in Kafka, offline brokers are not in the ISR.
    """
    nodes = {each: node._replace(live=each not in offline) for each, node in snapshot.brokers.items()}
    partitions = {}
    for key, row in snapshot.partitions.items():
        out = (behind or {}).get(row.partition, ())
        isr = tuple(each for each in row.isr if each not in offline and each not in out)
        partitions[key] = row._replace(isr=isr or row.isr[-1:])
    return Snapshot(nodes, partitions)


def table_of(
    snapshot: Snapshot,
    factor: int | None,
    topics: Callable[[str], bool],
    moving: Collection[tuple[str, int]],
) -> tuple[Table, list[tuple[int, str]]]:
    """Return the table of a snapshot, and the rows that cannot change."""
    columns = columns_of(snapshot, moving)
    chosen = table.rows_of_topics(columns, topics)
    factors, _ = wanted_factors(columns, factor, (), chosen)
    return table.table_of(snapshot.brokers, columns, factors, chosen)


def padded(*lists: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return lists of broker positions as rows of a matrix."""
    width = max(map(len, lists))
    return np.array([[*each, *[-1] * (width - len(each))] for each in lists], np.int64)


def applied(problem: Problem, proposal: Proposal) -> Problem:
    """Return the problem after the plan was carried out."""
    before = [*problem.rows, *problem.fixed]
    partitions = {
        row[:2]: Partition(*row[:2], replicas, replicas, replicas[0], row.bytes)
        for row in before
        for replicas in [proposal.changes.get(row, row.replicas)]
    }
    nodes = {node.id: Broker(node.id, node.rack) for node in problem.nodes}
    free = {row[:2] for row in problem.rows}
    moving = partitions.keys() - free
    return problem_of(Snapshot(nodes, partitions), problem.goal, moving=moving)


def carried_out(snapshot: Snapshot, found: Proposal) -> Snapshot:
    """Return the cluster after the plan: new replicas have the size of their leader's."""
    changes = {row[:2]: replicas for row, replicas in found.changes.items()}
    rows = {}
    for key, row in snapshot.partitions.items():
        new = changes.get(key, row.replicas)
        sizes = tuple(row.size_on(broker) for broker in new)
        rows[key] = row._replace(replicas=new, isr=new, leader=new[0], packed_sizes=packed(sizes))
    return snapshot._replace(partitions=rows)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a cluster of 3 to 8 brokers and a goal that fits it."""
    count = draw(st.integers(3, 8))
    racks = draw(st.sampled_from(["-", "a", "ab", "abc"]))
    letters = "".join(racks[each % len(racks)] for each in range(count))
    ids = st.lists(st.integers(1, count), min_size=1, max_size=4, unique=True)
    lists = draw(st.lists(ids, min_size=1, max_size=12))
    sizes = draw(st.dictionaries(st.integers(0, 11), st.integers(0, 50)))
    snapshot = cluster(letters, *lists, sizes=sizes)
    drain = draw(st.frozensets(st.integers(1, count), max_size=2))
    goal = Goal(
        drain=drain,
        factor=draw(st.sampled_from([None, None, 1, 2, 3])),
        even_counts=draw(st.booleans()),
        repair_racks=draw(st.booleans()),
        even_leaders=draw(st.booleans()),
        receive_nothing=draw(st.frozensets(st.integers(1, count), max_size=1)),
        by=draw(st.sampled_from(["replicas", "bytes", "both"])),
        tolerance=draw(st.sampled_from([Fraction(0), Fraction(1, 10)])),
    )
    try:
        return problem_of(snapshot, goal)
    except ProposalError:
        return draw(problems())
