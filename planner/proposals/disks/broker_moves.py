"""The moves of one broker, and the changes of its directories."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.proposals.disks.held import BrokerDirs, HeldReplica
from planner.proposals.disks.result import DirChange, DirMove, LeftReplica


class BrokerMoves(NamedTuple):
    """Replicas that move with the positions of their targets, and what is told of the directories.

    `least` and `most` are bytes by position; None where nothing is wanted.
    """

    moves: Sequence[tuple[HeldReplica, int]]
    least: Sequence[int | None]
    most: Sequence[int | None]
    bound: int = 0
    left: Sequence[LeftReplica] = ()
    short: Sequence[str] = ()
    notes: Sequence[str] = ()


def moves_of(held: BrokerDirs, found: BrokerMoves) -> Iterator[DirMove]:
    """Yield the moves."""
    for each, target in found.moves:
        yield DirMove(*each.partition, held.broker.id, held.paths[each.place], held.paths[target], each.size)


def changes_of(held: BrokerDirs, found: BrokerMoves) -> Iterator[DirChange]:
    """Yield the directories, before and after."""
    size = len(held.paths)
    replicas, gains, losses, moved = [0] * size, [0] * size, [0] * size, [0] * size
    for each in held.replicas:
        if each.place >= 0:
            replicas[each.place] += 1
    for each, target in found.moves:
        losses[each.place] += 1
        gains[target] += 1
        moved[each.place] -= each.size
        moved[target] += each.size
    for place, (path, total, used) in enumerate(zip(held.paths, held.totals, held.used, strict=True)):
        yield DirChange(
            held.broker.id,
            path,
            None if held.unlimited else total or None,
            used if total else None,
            used + moved[place] if total else None,
            replicas[place],
            replicas[place] + gains[place] - losses[place],
            gains[place],
            losses[place],
            found.least[place],
            found.most[place],
            held.dirs[place].cordoned,
        )
