"""The limits R, P, L, C and B (docs/how-it-works.md; the first four are KIP-435's)."""

from typing import NamedTuple

from common.plan_errors import PlanError
from controller.scheduling.steps import UNLIMITED


class PlanLimits(NamedTuple):
    """The limits R, P, L, C and B, in this order; each is at least 1."""

    per_partition: int = UNLIMITED
    partitions: int = UNLIMITED
    leaders: int = UNLIMITED
    replicas: int = UNLIMITED
    per_broker: int = UNLIMITED

    @property
    def step(self) -> int:
        """Maximum number of replicas that a planned step adds: no step needs to exceed a limit."""
        return min(self.per_partition, self.replicas, self.per_broker)

    def by_letter(self) -> dict[str, int]:
        """Return `{"r": …, "p": …, "l": …, "c": …, "b": …}`."""
        return {letter.lower(): limit for letter, limit in zip(MEANING, self, strict=True)}


MEANING = {
    "R": "replicas of one partition in one step",
    "P": "partitions that move at once",
    "L": "leader movements at once",
    "C": "replicas that move at once",
    "B": "replicas that move to, or from, one broker at once",
}
"""Letter -> description, in the order of the fields of `PlanLimits`."""

LETTERS = dict(zip(PlanLimits._fields, MEANING, strict=True))
"""Field of `PlanLimits` -> letter."""


def parse_limits(text: str) -> PlanLimits:
    """Parse limits such as `r=1,p=20`. Raises PlanError that names the invalid part."""
    values = dict.fromkeys(map(str.lower, MEANING), UNLIMITED)
    for part in filter(None, text.split(",")):
        letter, _, value = part.strip().partition("=")
        if letter not in values:
            raise PlanError(f"'{part}' is none of r=, p=, l=, c=, b=")
        if not value.isdecimal() or not 1 <= int(value) <= UNLIMITED:
            raise PlanError(f"'{part}': expected an integer in [1, {UNLIMITED}]")
        values[letter] = int(value)
    return PlanLimits(*values.values())
