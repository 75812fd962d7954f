"""Even out preferred leaders by reordering replica lists. No data moves.

A broker with too many leaders hands one over along a shortest path of brokers: each hop changes the leader of one partition
that has a replica on both. When no path is left, the leaders are as even as the replica lists allow.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping

from controller.scheduling.steps import Replicas
from planner.proposals.goal import Row


def even_out(
    lists: Mapping[Row, Replicas], fixed: Mapping[int, int], brokers: frozenset[int]
) -> dict[Row, Replicas]:
    """Return the lists with leaders spread evenly over `brokers`. `fixed` counts the leaders of other partitions."""
    return _Leaders(lists, fixed, brokers).solve()


class _Leaders:
    def __init__(
        self, lists: Mapping[Row, Replicas], fixed: Mapping[int, int], brokers: frozenset[int]
    ) -> None:
        self._lists, self._brokers = dict(lists), brokers
        self._counts = Counter({broker: fixed.get(broker, 0) for broker in brokers})
        self._led: dict[int, dict[int, dict[Row, None]]] = defaultdict(lambda: defaultdict(dict))
        """Leader → other replica → partitions, in order."""
        for row, replicas in lists.items():
            self._counts[replicas[0]] += 1
            self._index(row, replicas)
        total = sum(self._counts[broker] for broker in brokers)
        self._least, rest = divmod(total, max(1, len(brokers)))
        self._most = self._least + (rest > 0)

    def solve(self) -> dict[Row, Replicas]:
        # A path from a broker above the most to one below the least mends both, so these paths come first.
        for accepts in (self._lacks, self._has_room):
            for broker in sorted(self._brokers):
                while self._counts[broker] > self._most and self._hand_over(broker, accepts):
                    pass
        for broker in sorted(self._brokers):
            while self._counts[broker] < self._least and self._take_over(broker):
                pass
        return self._lists

    def _lacks(self, broker: int) -> bool:
        return self._counts[broker] < self._least

    def _has_room(self, broker: int) -> bool:
        return self._counts[broker] < self._most

    def _take_over(self, broker: int) -> bool:
        """Find any broker above the least that can hand a leader over to this one."""
        donors = sorted(self._brokers, key=lambda each: (-self._counts[each], each))
        return any(
            self._hand_over(donor, lambda each: each == broker)
            for donor in donors
            if self._counts[donor] > self._least
        )

    def _hand_over(self, start: int, accepts: Callable[[int], bool]) -> bool:
        """Move a leader from `start` to the nearest broker that accepts it; prefer the emptiest of the nearest."""
        came_from = {start: start}
        frontier = deque([start])
        while frontier:
            reached = []
            for broker in frontier:
                for other in sorted(self._led[broker]):
                    if self._led[broker][other] and other not in came_from and other in self._brokers:
                        came_from[other] = broker
                        reached.append(other)
            ends = [broker for broker in reached if accepts(broker)]
            if ends:
                self._shift(min(ends, key=lambda each: (self._counts[each], each)), came_from)
                return True
            frontier = deque(reached)
        return False

    def _shift(self, end: int, came_from: Mapping[int, int]) -> None:
        self._counts[end] += 1
        while came_from[end] != end:
            leader = came_from[end]
            row = next(iter(self._led[leader][end]))
            replicas = self._lists[row]
            for other in replicas[1:]:
                del self._led[leader][other][row]
            self._lists[row] = (end, *(broker for broker in replicas if broker != end))
            self._index(row, self._lists[row])
            end = leader
        self._counts[end] -= 1

    def _index(self, row: Row, replicas: Replicas) -> None:
        for other in replicas[1:]:
            self._led[replicas[0]][other][row] = None
