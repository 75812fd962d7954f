"""Places for the replicas of directories that are emptied: the largest first, where least is used then."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planner.proposals.disks.dir_task import Targets
from planner.proposals.disks.exact import Effort, exactly_packed


class Receivers(NamedTuple):
    """The directories that may receive, by position, in bytes."""

    used: Sequence[int]
    totals: Sequence[int]
    rooms: Sequence[int]
    """What may arrive."""


def pack(sizes: Sequence[int], receivers: Receivers, effort: Effort) -> Targets:
    """Return the receiver of each replica that has a place.

    If not all have one when directories get evenly full, room is used up where it is scarcest, and small
    cases are solved exactly.
    """
    found = _packed(sizes, receivers, _emptiest(receivers))
    if len(found) == len(sizes):
        return found
    tight = _packed(sizes, receivers, lambda _, rooms, size, place: rooms[place] - size)
    found = max(found, tight, key=lambda each: (sum(sizes[item] for item in each), len(each)))
    if len(found) == len(sizes):
        return found
    filled = {item: place for item, place in found.items() if sizes[item]}
    missing = [size for item, size in enumerate(sizes) if item not in found]
    if min(missing) <= max(receivers.rooms, default=0) and effort.suffices(len(sizes) * len(receivers.rooms)):
        filled = dict(exactly_packed(sizes, receivers.rooms, filled, effort))
    return {item: place for item, place in found.items() if not sizes[item]} | filled


Rank = Callable[[list[int], list[int], int, int], float]
"""The lowest is chosen: of what is used, the rooms, the size of a replica, and a receiver."""


def _emptiest(receivers: Receivers) -> Rank:
    return lambda used, _, size, place: (used[place] + size) / receivers.totals[place]


def _packed(sizes: Sequence[int], receivers: Receivers, rank: Rank) -> Targets:
    used, rooms, found = list(receivers.used), list(receivers.rooms), dict[int, int]()
    for item in sorted(range(len(sizes)), key=lambda each: (-sizes[each], each)):
        size = sizes[item]
        places = [place for place, room in enumerate(rooms) if size <= room]
        if places:
            chosen = min(places, key=lambda place: (rank(used, rooms, size, place), place))
            found[item] = chosen
            used[chosen] += size
            rooms[chosen] -= size
    return found
