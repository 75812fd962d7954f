"""Keep the disks of brokers below their headroom: replicas that do not fit are placed on other brokers.

The arriving replicas must fit beside the present ones. Nothing counts as freed before its copy is complete.
"""

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.goal import ProposalError
from planner.proposals.problem.table import per_broker
from planner.proposals.solver.class_flow import Input, new_replicas
from planner.proposals.solver.placement import Placement
from planner.report.units import in_bytes


def within_disks(given: Input, sets: Ints, brokers: Ints) -> Ints:
    """Return sets in which every broker has room for what arrives. Raises ProposalError with a line for each that has not.

    `brokers` are the ids. Counts stay in their ranges if possible; disks come first.
    """
    if (arriving_bytes(given, sets) <= given.room).all():
        return sets
    placement = Placement(given, sets, np.zeros(given.layout.size, np.int64))
    for strict in (True, False):
        for broker in np.flatnonzero(placement.room < 0).tolist():
            _relieve(given, placement, broker, strict=strict)
    if full := np.flatnonzero(placement.room < 0).tolist():
        raise ProposalError([_reason(given, placement, brokers, broker) for broker in full])
    return placement.sets


def arriving_bytes(given: Input, sets: Ints) -> Ints:
    """Return the bytes that arrive at each broker."""
    rows = np.flatnonzero(new_replicas(given.lists, sets))
    new = (sets[rows] >= 0) & ~(sets[rows][:, :, None] == given.lists[rows][:, None, :]).any(axis=2)
    return per_broker(np.where(new, sets[rows], -1), given.bytes[rows], given.layout.size)


def _relieve(given: Input, placement: Placement, broker: int, *, strict: bool) -> None:
    """Place arriving replicas on other brokers, large ones first, each on the broker with the most room."""
    for entry in placement.entries[broker][True][::-1].tolist():
        if placement.room[broker] >= 0:
            return
        targets = np.flatnonzero(_open(given, placement, broker, strict=strict))
        by_room = targets[np.argsort(-placement.room[targets], kind="stable")]
        for target in by_room.tolist():
            if placement.may_change(entry, target):
                placement.apply(entry, broker, target)
                break


def _open(given: Input, placement: Placement, broker: int, *, strict: bool) -> Flags:
    """Return the brokers that may take a replica of this one; with `strict`, only if counts stay in their ranges."""
    places = given.layout.receives & (placement.room > 0)
    if strict and given.ranges is not None:
        places &= placement.counts < given.ranges.most
        places &= placement.counts[broker] > given.ranges.least[broker]
    return places


def _reason(given: Input, placement: Placement, brokers: Ints, broker: int) -> str:
    room = int(given.room[broker])
    arriving = room - int(placement.room[broker])
    return (
        f"no room: broker {brokers[broker]} would receive {in_bytes(arriving)}, but has room for {in_bytes(max(0, room))} "
        "below the headroom of its disks"
    )
