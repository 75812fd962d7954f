"""From numbers of replicas for a class of partitions to the replica list of each partition."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from controller.scheduling.steps import Replicas
from planner.proposals.class_flow import Placement
from planner.proposals.goal import Row


def deal(placements: Iterable[Placement], rack_of: Mapping[int, str]) -> Iterator[tuple[Row, frozenset[int]]]:
    """Yield each row with its new set of replicas.

    The replicas of a class are laid out by rack, then broker, and dealt to the rows in turn. A broker has at most as many as
    there are rows, so no row gets it twice, and the rows differ by at most one in each rack. Rows that get more new replicas
    than others of their class are the smallest ones.
    """
    for placement in placements:
        rows, old = placement.partitions.rows, placement.partitions.replicas
        hands: list[set[int]] = [set() for _ in rows]
        dealt = 0
        for broker in sorted(placement.replicas, key=lambda each: (rack_of[each], each)):
            for _ in range(placement.replicas[broker]):
                hands[dealt % len(rows)].add(broker)
                dealt += 1
        most_new_first = sorted(hands, key=lambda hand: -len(hand - old))
        smallest_first = sorted(rows, key=lambda row: (row.bytes, row.topic, row.partition))
        for row, hand in zip(smallest_first, most_new_first, strict=True):
            yield row, frozenset(hand)


def ordered(sets: Sequence[tuple[Row, frozenset[int]]], leaders: Counter[int]) -> dict[Row, Replicas]:
    """Return the replica list of each row: the leader, kept replicas in their old order, new ones by id.

    The preferred leader stays if it keeps its replica. Otherwise the broker with the fewest preferred leaders takes over.
    `leaders` counts those of the other partitions, and is brought up to date.
    """
    for row, members in sets:
        if row.replicas[0] in members:
            leaders[row.replicas[0]] += 1
    lists = {}
    for row, members in sorted(sets, key=lambda each: each[0][:2]):
        kept = [broker for broker in row.replicas if broker in members]
        new = sorted(members.difference(kept))
        chosen = row.replicas[0]
        if chosen not in members:
            chosen = min(kept or new, key=lambda broker: (leaders[broker], broker))
            leaders[chosen] += 1
        lists[row] = (chosen, *(broker for broker in [*kept, *new] if broker != chosen))
    return lists
