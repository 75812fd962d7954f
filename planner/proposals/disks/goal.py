"""What moves between log directories are to achieve."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from controller.model.disks import BrokerDir
from planner.model.snapshot import TOPIC_PARTITION


class DiskGoal(NamedTuple):
    """Even out the log directories of each broker, or empty some of them."""

    brokers: frozenset[int] = frozenset()
    """Whose directories are evened out; none stands for all brokers."""
    empty: tuple[BrokerDir, ...] = ()
    """Directories that are to hold no replica. Then none are evened out."""
    tolerance: Fraction = Fraction(1, 10)
    """Allowed deviation from the mean of how full the directories of a broker are, as a fraction of it."""
    headroom: Fraction = Fraction(1, 10)
    """Share of a directory that stays free when directories are evened out."""
    to: Fraction = Fraction(4, 5)
    """How full a directory may be that receives replicas of one that is emptied."""
    topics: Callable[[str], bool] = lambda _: True
    partitions: frozenset[TOPIC_PARTITION] | None = None
    """Those of the topics whose replicas may move; None: all of them."""
    strict_sizes: bool = False
    """Refuse brokers of which the size of a replica is not known."""
    allow_unknown: bool = False
    """Take the directories of a broker that reports the size of none as equally large, with room for all."""
    allow_partial: bool = False
    """Accept moves that leave replicas, for which there is no room elsewhere, in an emptied directory."""

    def may_move(self, topic: str, partition: int) -> bool:
        """Whether replicas of the partition may move."""
        return self.topics(topic) and (self.partitions is None or (topic, partition) in self.partitions)
