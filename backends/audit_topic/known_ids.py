"""A set of ids that are mostly consecutive, as a few ranges."""

from bisect import bisect_right


class KnownIds:
    """Remembers ids. A million consecutive ids take one range."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        """Inclusive. Ranges neither overlap nor touch."""

    def add(self, number: int) -> bool:
        """Add the id; return whether it is new."""
        at = bisect_right(self._starts, number)
        if at and number <= self._ends[at - 1]:
            return False
        joins_left = at > 0 and self._ends[at - 1] == number - 1
        joins_right = at < len(self._starts) and self._starts[at] == number + 1
        if joins_left and joins_right:
            self._ends[at - 1] = self._ends.pop(at)
            self._starts.pop(at)
        elif joins_left:
            self._ends[at - 1] = number
        elif joins_right:
            self._starts[at] = number
        else:
            self._starts.insert(at, number)
            self._ends.insert(at, number)
        return True
