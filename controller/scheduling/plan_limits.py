"""The limits of a plan, by the letters that docs/how-it-works.md gives them (KIP-435's, and B)."""

from typing import NamedTuple

from common.plan_errors import PlanError
from controller.scheduling.steps import UNLIMITED


class PlanLimits(NamedTuple):
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
        return {letter.lower(): limit for letter, limit in zip(MEANING, self, strict=True)}


MEANING = {
    "R": "replicas of one partition in one step",
    "P": "partitions that move at once",
    "L": "leader movements at once",
    "C": "replicas that move at once",
    "B": "replicas that move to, or from, one broker at once",
}
"""Letter -> what it limits, in the order of the fields of `PlanLimits`."""

LETTERS = dict(zip(PlanLimits._fields, MEANING, strict=True))
"""Field of `PlanLimits` -> its letter in KIP-435 and docs/how-it-works.md."""


def parse_limits(text: str) -> PlanLimits:
    """`r=1,p=20` as limits. Raises PlanError naming the part that is wrong."""
    values = dict.fromkeys(map(str.lower, MEANING), UNLIMITED)
    for part in filter(None, text.split(",")):
        letter, _, value = part.strip().partition("=")
        if letter not in values:
            raise PlanError(f"'{part}' is none of r=, p=, l=, c=, b=")
        if not value.isdecimal() or not 1 <= int(value) <= UNLIMITED:
            raise PlanError(f"'{part}': expected an integer in [1, {UNLIMITED}]")
        values[letter] = int(value)
    return PlanLimits(*values.values())
