"""Moves that empty log directories of one broker into its others."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from math import floor

from common.units import in_bytes
from common.wording import counted, some
from planner.proposals.disks.broker_moves import BrokerMoves
from planner.proposals.disks.exact import Effort
from planner.proposals.disks.goal import DiskGoal
from planner.proposals.disks.held import BrokerDirs, HeldReplica
from planner.proposals.disks.packing import Receivers, pack
from planner.proposals.disks.result import LeftReplica

MOST_NAMED = 20
"""Most replicas of a directory without a place that get a line of their own."""


def emptied(held: BrokerDirs, sources: Collection[int], goal: DiskGoal, effort: Effort) -> BrokerMoves:
    """Return the moves of one broker; `sources` are the positions of the directories to be emptied."""
    open_ = [place for place in held.open if place not in sources]
    receivers = Receivers(
        [held.used[each] for each in open_],
        [held.totals[each] for each in open_],
        [max(0, floor(goal.to * held.totals[each]) - held.used[each]) for each in open_],
    )
    replicas = held.movable(sources)
    targets = pack([each.size for each in replicas], receivers, effort)
    moves = [(replicas[item], open_[place]) for item, place in sorted(targets.items())]
    most = [floor(goal.to * total) if place in open_ else None for place, total in enumerate(held.totals)]
    without = [each for item, each in enumerate(replicas) if item not in targets]
    names = _Names(held, [held.paths[each] for each in open_], receivers.rooms, f"{float(100 * goal.to):g} %")
    return BrokerMoves(
        moves,
        [None] * len(most),
        most,
        sum(each.size for each, _ in moves),
        [*held.left(sources), *names.left(without)],
        names.short(without),
        names.notes(sources),
    )


class _Names:
    """Lines about replicas of a broker that have no place; `rooms` are those of the other directories."""

    def __init__(self, held: BrokerDirs, paths: Sequence[str], rooms: Sequence[int], level: str) -> None:
        self._held, self._level = held, level
        self._largest = max(rooms, default=0)
        self._where = paths[rooms.index(self._largest)] if rooms else None

    def left(self, without: Sequence[HeldReplica]) -> list[LeftReplica]:
        """Return the replicas with a reason each."""
        reason = f"no other directory of the broker has room for them below {self._level}"
        return [LeftReplica(*each.partition, self._held.broker.id, reason) for each in without]

    def short(self, without: Sequence[HeldReplica]) -> list[str]:
        """Return a line for each directory that is not emptied, and for each replica that fits nowhere."""
        by_place: dict[int, list[HeldReplica]] = defaultdict(list)
        for each in without:
            by_place[each.place].append(each)
        lines = []
        for place, replicas in sorted(by_place.items()):
            size = in_bytes(sum(each.size for each in replicas))
            who = some([f"{topic}-{number}" for (topic, number), *_ in replicas])
            lines.append(
                f"broker {self._held.broker.id}: {self._held.paths[place]} keeps"
                f" {counted(len(replicas), 'replica')} ({size}) for which the other directories have no room"
                f" below {self._level}: {who}"
            )
            too_large = [each for each in replicas if each.size > self._largest]
            lines += [self._too_large(each) for each in too_large[:MOST_NAMED]]
        return lines

    def _too_large(self, replica: HeldReplica) -> str:
        (topic, number), size = replica.partition, in_bytes(replica.size)
        largest = "none may receive anything"
        if self._where is not None:
            largest = f"the largest room is {in_bytes(self._largest)}, in {self._where}"
        return f"{topic}-{number} on broker {self._held.broker.id} has {size}, which fits nowhere: {largest}"

    def notes(self, sources: Collection[int]) -> list[str]:
        """Return a line for the directories that get nothing."""
        closed = self._held.closed(besides=sources)
        return [f"broker {self._held.broker.id}: these get nothing: {some(closed)}"] if closed else []
