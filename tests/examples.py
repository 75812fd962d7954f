"""How many examples property tests run.

A fifth of what they state, so that the tests of a working day are quick. `REASSIGND_EXAMPLES=all` runs all of
them, and a number runs that many: `REASSIGND_EXAMPLES=20000 pytest --timeout 0
tests/controller/test_properties.py`.
"""

import os
from collections.abc import Sequence
from random import Random
from typing import TypeVar

Case = TypeVar("Case")

ALL = "all"
QUICK = 5
"""A property that fails for one input in a hundred is found by the run of all examples."""


def examples(stated: int) -> int:
    """The number of examples in this run."""
    wanted = os.environ.get("REASSIGND_EXAMPLES")
    if wanted is None:
        return min(stated, max(stated // QUICK, QUICK))
    return stated if wanted == ALL else int(wanted)


def some(cases: Sequence[Case], seed: str, share: int = QUICK) -> Sequence[Case]:
    """One in `share` of the cases, by the seed; all where the environment says how many examples."""
    if "REASSIGND_EXAMPLES" in os.environ:
        return cases
    return Random(seed).sample(cases, len(cases) // share)
