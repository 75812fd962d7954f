"""Moves that even out the log directories of one broker: their ranges, and what is told afterwards."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from common.units import in_bytes
from common.wording import some
from planner.proposals.disks.broker_moves import BrokerMoves
from planner.proposals.disks.dir_task import DirTask, Targets
from planner.proposals.disks.evening import even_out
from planner.proposals.disks.exact import Effort, exactly_even
from planner.proposals.disks.goal import DiskGoal
from planner.proposals.disks.held import BrokerDirs, HeldReplica

NEAR_ENOUGH = Fraction(101, 100)
"""Moves that copy at most so many times the bytes that none undercut are not made fewer by a program."""


def evened(held: BrokerDirs, goal: DiskGoal, effort: Effort) -> BrokerMoves:
    """Return the moves of one broker."""
    places = held.open
    replicas = held.movable(places)
    task = _task(held, goal, replicas)
    least, most = (
        [value if place in places else None for place, value in enumerate(values)]
        for values in (task.least, task.most)
    )
    if not task.outside(task.used):
        return BrokerMoves((), least, most, notes=_notes(held))
    targets, bound = _solved(task, effort)
    moves = [(replicas[item], place) for item, place in sorted(targets.items())]
    short = _short(held, task, targets)
    return BrokerMoves(moves, least, most, bound, held.left(places), short, _notes(held))


def _task(held: BrokerDirs, goal: DiskGoal, replicas: Sequence[HeldReplica]) -> DirTask:
    """Return the directories that may receive with their ranges. Others are as they should be."""
    totals, used, places = held.totals, held.used, held.open
    mean = Fraction(sum(used[each] for each in places), max(1, sum(totals[each] for each in places)))
    highest = min(mean * (1 + goal.tolerance), max(mean, 1 - goal.headroom))
    lowest = mean * (1 - goal.tolerance)
    least, most, room = list(used), list(used), [0] * len(used)
    for place in places:
        total = totals[place]
        least[place] = ceil(lowest * total)
        most[place] = max(least[place], floor(highest * total))
        room[place] = max(0, total - ceil(goal.headroom * total) - used[place])
    return DirTask(
        used, least, most, room, [each.size for each in replicas], [each.place for each in replicas]
    )


def _solved(task: DirTask, effort: Effort) -> tuple[Targets, int]:
    """Return moves, and a number of bytes that none undercut after which directories are as even.

    Where replicas are so large that not all ranges can be reached, directories may get above them.
    """
    found, bound = _even(task, effort)
    outside = task.outside(task.used_after(found))
    if outside:
        loose = _even(task._replace(is_strict=False), effort)
        if task.outside(task.used_after(loose[0])) < outside:
            return loose
    return found, bound


def _even(task: DirTask, effort: Effort) -> tuple[Targets, int]:
    found = even_out(task)
    outside = task.outside(task.used_after(found))
    bound = task.bytes_bound(outside)
    proven = not outside and task.copied(found) <= NEAR_ENOUGH * bound
    receivers = sum(room > 0 for room in task.room)
    if proven or not effort.suffices(len(task.sizes) * receivers):
        return found, bound
    return exactly_even(task, found, effort)


def _short(held: BrokerDirs, task: DirTask, targets: Targets) -> list[str]:
    """Return a line for each directory that stays outside of its range."""
    lines, after = [], task.used_after(targets)
    for place, used in enumerate(after):
        if not task.distance(place, used):
            continue
        too_full = used > task.most[place]
        wanted = (
            f"at most {in_bytes(task.most[place])}" if too_full else f"at least {in_bytes(task.least[place])}"
        )
        lines.append(
            f"broker {held.broker.id}: {held.paths[place]} ends with {in_bytes(used)} instead of {wanted}:"
            f" {_why(task, targets, place)}"
        )
    return lines


def _why(task: DirTask, targets: Targets, place: int) -> str:
    own = [size for size, home in zip(task.sizes, task.homes, strict=True) if home == place and size]
    if task.used[place] > task.most[place] and not own:
        return "none of its replicas can move"
    arrived = [0] * len(task.used)
    for item, target in targets.items():
        arrived[target] += task.sizes[item]
    rooms = [
        room - got
        for target, (room, got) in enumerate(zip(task.room, arrived, strict=True))
        if target != place
    ]
    if task.used[place] > task.most[place] and max(rooms, default=0) < min(own):
        return "the other directories have no room for more, with the headroom"
    return "no move or exchange of replicas brings it nearer"


def _notes(held: BrokerDirs) -> list[str]:
    """Return a line for the directories that are left as they are."""
    closed = held.closed()
    return [f"broker {held.broker.id}: left as they are: {some(closed)}"] if closed else []
