"""The replication factor that each partition is to have."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from planner.proposals.problem.arrays import Flags, Ints
    from planner.proposals.problem.table import Columns

MOST_NAMED = 20
"""Most topics with two factors that are named."""


class TopicFactor(NamedTuple):
    """A replication factor, and a regular expression of the whole names of topics that are to have it."""

    factor: int
    topics: str

    def __str__(self) -> str:
        return f"{self.factor}:{self.topics}"


def wanted_factors(
    columns: "Columns", factor: int | None, factors: Sequence[TopicFactor], chosen: "Flags"
) -> tuple["Ints", list[str]]:
    """Return the factor of each partition, and what is wrong with the factors of topics.

    It is the given one for the chosen partitions, or that of their topic, else the present one.
    """
    import numpy as np

    if factor is not None:
        return np.where(chosen, np.int32(factor), columns.lengths), []
    of_topic, reasons, twice = np.zeros(len(columns.topics), np.int32), list[str](), list[str]()
    found: dict[int, TopicFactor] = {}
    numbers = np.unique(columns.topic[chosen]).tolist() if factors else []
    for each in factors:
        pattern = re.compile(each.topics)
        mine = [number for number in numbers if pattern.fullmatch(columns.topics[number])]
        if not mine:
            reasons.append(f"no topic of the cluster is chosen by rf {each}")
        twice += [
            f"topic {columns.topics[number]} has two factors: rf {other} and rf {each}"
            for number in mine
            if (other := found.setdefault(number, each)).factor != each.factor
        ]
        of_topic[mine] = each.factor
    wanted = of_topic[columns.topic]
    return np.where(chosen & (wanted > 0), wanted, columns.lengths), [*reasons, *twice[:MOST_NAMED]]
