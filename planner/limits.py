"""The limits of a plan, by the letters that docs/how-it-works.md gives them (KIP-435's, and B)."""

from typing import NamedTuple

from planner.errors import PlanError
from planner.steps import UNLIMITED


class Limits(NamedTuple):
    """R, P, L, C and B; each at least 1."""

    per_partition: int = UNLIMITED
    partitions: int = UNLIMITED
    leaders: int = UNLIMITED
    replicas: int = UNLIMITED
    per_broker: int = UNLIMITED

    @property
    def step(self) -> int:
        """The replicas that one step may add: none is planned that a limit would not let run alone."""
        return min(self.per_partition, self.replicas, self.per_broker)

    def by_letter(self) -> dict[str, int]:
        """`{"r": …, "p": …, "l": …, "c": …, "b": …}`."""
        return dict(zip(LETTERS, self, strict=True))


LETTERS = {
    "r": "replicas of one partition in a step",
    "p": "partitions moving at once",
    "l": "leader movements at once",
    "c": "replicas moving at once",
    "b": "replicas into, and out of, each broker at once",
}
"""Letter -> what it limits, in the order of the fields of `Limits`."""


def parse_limits(text: str) -> Limits:
    """`r=1,p=20` as limits. Raises PlanError naming the part that is wrong."""
    values = dict.fromkeys(LETTERS, UNLIMITED)
    for part in filter(None, text.split(",")):
        letter, _, value = part.strip().partition("=")
        if letter not in values:
            raise PlanError(f"'{part}' is none of r=, p=, l=, c=, b=")
        if not value.isdecimal() or not 1 <= int(value) <= UNLIMITED:
            raise PlanError(f"'{part}': expected an integer in [1, {UNLIMITED}]")
        values[letter] = int(value)
    return Limits(*values.values())
