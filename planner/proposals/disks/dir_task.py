"""One broker whose directories are to be evened out, as numbers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Targets = Mapping[int, int]
"""The directory of each replica that moves."""


class DirTask(NamedTuple):
    """The directories of a broker, by position, in bytes, and the replicas that may move."""

    used: Sequence[int]
    least: Sequence[int]
    most: Sequence[int]
    room: Sequence[int]
    """What may arrive in all. What leaves is not counted: a copy needs its room before that."""
    sizes: Sequence[int]
    homes: Sequence[int]
    """The directory of each replica."""
    is_strict: bool = True
    """No directory gets above `most`, and one that holds more before gets no more. Otherwise one may, if
    others come nearer to their ranges by more than that."""

    def distance(self, place: int, used: int) -> int:
        """Return how far a directory that uses so much is outside of its range."""
        return max(0, used - self.most[place], self.least[place] - used)

    def outside(self, used: Sequence[int]) -> int:
        """Return how far all directories together are outside of their ranges."""
        return sum(self.distance(place, each) for place, each in enumerate(used))

    def limit(self, place: int) -> int:
        """Return what a directory may use at most."""
        return max(self.most[place], self.used[place]) + (0 if self.is_strict else self.room[place])

    def copied(self, targets: Targets) -> int:
        """Return the bytes that these moves copy."""
        return sum(self.sizes[item] for item in targets)

    def used_after(self, targets: Targets) -> list[int]:
        """Return what each directory uses after these moves."""
        used = list(self.used)
        for item, place in targets.items():
            used[self.homes[item]] -= self.sizes[item]
            used[place] += self.sizes[item]
        return used

    def bytes_bound(self, outside: int) -> int:
        """Return a number of bytes that no moves undercut after which `outside` is not exceeded.

        Each byte that moves leaves one directory and arrives in one. So what all have above their ranges
        together, and what they lack, become less by one at most.
        """
        over = sum(max(0, used - most) for used, most in zip(self.used, self.most, strict=True))
        under = sum(max(0, least - used) for used, least in zip(self.used, self.least, strict=True))
        return max(0, max(over, under) - outside, (over + under - outside + 1) // 2)
