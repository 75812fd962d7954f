"""Which record gives way if there are too many: no client drives out those of others."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar


class Owned(Protocol):
    """A record of a client."""

    @property
    def principal(self) -> str:
        """Whose it is."""
        ...


R = TypeVar("R", bound=Owned)


def first_of_most(records: Sequence[R], added: str) -> R:
    """Return the first record of the principal that has the most, with one that is added for `added`."""
    [(most, _)] = Counter([*(each.principal for each in records), added]).most_common(1)
    return next(each for each in records if each.principal == most)
