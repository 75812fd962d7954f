"""Notes of a proposal: warnings, and goals that were relaxed for other goals."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from common.units import in_bytes
from common.wording import counted
from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.goal import CountRange, Problem, ProposalError
from planner.proposals.problem.layout import Layout
from planner.proposals.solver.class_flow import Input, moves_of
from planner.proposals.solver.remainder import Shares

MUCH = 2
"""From this ratio of shares on, a rack has a note."""
MOST_NOTES = 20
"""Most brokers that are named."""


def rack_notes(problem: Problem, layout: Layout, factor: Ints) -> list[str]:
    """Name the racks that lose their last broker.

    Raises ProposalError instead if the goal is strict about racks.
    """
    before = {node.rack for node in problem.nodes}
    lost = sorted(before - {node.rack for node in problem.usable})
    if not lost or not layout.shared:
        return []
    fewer = int((factor > layout.racks).sum())
    notes = [
        (
            f"rack {rack} has no broker left: {counted(fewer, 'partition')} with more replicas than the"
            f" {layout.racks} other racks have several in one rack"
        )
        for rack in lost
        if fewer
    ]
    if notes and problem.goal.strict_racks:
        raise ProposalError(notes)
    return notes


def share_notes(problem: Problem, ranges: Mapping[int, CountRange]) -> list[str]:
    """Name the racks whose brokers get several times the replicas of others, for lack of brokers."""
    shares = {
        node.rack: Fraction(ranges[node.id].most) / node.weight
        for node in problem.nodes
        if node.receives and node.id in ranges
    }
    least = min(shares.values(), default=Fraction(0))
    return [
        (
            f"brokers of rack {rack} get {float(share / least):.1f} times the replicas of the least loaded"
            " ones: the rack has fewer"
        )
        for rack, share in sorted(shares.items())
        if least and share >= MUCH * least
    ]


def disk_notes(problem: Problem) -> list[str]:
    """Name the brokers that get nothing because their disks are full up to the headroom."""
    full = [str(node.id) for node in problem.usable if node.room == 0]
    names = ", ".join(full[:MOST_NOTES]) + (", …" if len(full) > MOST_NOTES else "")
    return (
        [f"the disks of these brokers have no room below the headroom, so they get nothing new: {names}"]
        if full
        else []
    )


def least_bytes_note(copied: int, bound: int) -> str:
    """Tell how far a plan with few bytes is from the least."""
    if copied == bound:
        return f"no plan can copy fewer bytes than {in_bytes(copied)}"
    return f"no plan can copy fewer bytes than {in_bytes(bound)}; this one copies {in_bytes(copied)}"


def byte_notes(
    problem: Problem, given: Input, shares: Shares, sets: Ints, bounds: tuple[int, int]
) -> list[str]:
    """Return the additional moves for even bytes, and the brokers that stay outside of their share.

    `bounds` are those of moves and bytes.
    """
    more = moves_of(given.lists, sets) - bounds[0]
    notes = []
    if given.ranges is not None and more > 0:
        notes.append(f"{counted(more, 'move')} more than even counts need, for even bytes")
    outside = list(_uneven(problem, given, shares, sets))
    if bounds[1] and not outside:
        notes.append(f"even bytes need at least {in_bytes(bounds[1])} of copies")
    notes += outside[:MOST_NOTES]
    if len(outside) > MOST_NOTES:
        notes.append(f"and {counted(len(outside) - MOST_NOTES, 'more broker')} with uneven bytes")
    return notes


def _uneven(problem: Problem, given: Input, shares: Shares, sets: Ints) -> Iterator[str]:
    table = problem.table
    held = shares.fixed + given.held(sets)
    outside = given.layout.usable & ((held > shares.most) | (held < shares.least))
    rows = np.flatnonzero(table.free)
    for broker in np.flatnonzero(outside).tolist():
        least, most = int(shares.least[broker]), int(shares.most[broker])
        mine = np.flatnonzero((sets == broker).any(axis=1))
        large = int(mine[given.bytes[mine].argmax()]) if len(mine) else -1
        why = ""
        if large >= 0 and given.bytes[large] > most:
            topic, partition = table.name(int(rows[large]))
            why = f": {topic}-{partition} alone has {in_bytes(int(given.bytes[large]))}"
        yield (
            f"broker {table.brokers[broker]} gets {in_bytes(int(held[broker]))} instead of {in_bytes(least)}"
            f" to {in_bytes(most)}{why}"
        )
