"""The error of a plan that cannot be used."""

from collections.abc import Callable, Sequence
from typing import ParamSpec

P = ParamSpec("P")

MOST_FAULTS = 1_000
"""Most wrong entries of a plan that are named; all of them are counted."""


class PlanError(Exception):
    """The plan, the snapshot or the installation cannot be used.

    The text is one line with the fault and the remedy. `faults` has a line for each wrong entry of a plan, if
    they are several.
    """

    def __init__(self, text: str, faults: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.faults = faults


class Faults:
    """The wrong entries of a plan: a person who corrects it wants to know all of them at once."""

    def __init__(self) -> None:
        self._named: list[tuple[int, str]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, number: int, describe: Callable[P, str], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Count a wrong entry, with its place in the plan. `describe` is called for the first ones only."""
        self._count += 1
        if len(self._named) < MOST_FAULTS:
            self._named.append((number, describe(*args, **kwargs)))

    def check(self) -> None:
        """Raise PlanError if there are some. It names them in the order of the plan."""
        named = [text for _, text in sorted(self._named)]
        if self._count == 1:
            raise PlanError(named[0])
        if self._count:
            raise PlanError(f"{self._count:,} entries are wrong, the first: {named[0]}", named)
