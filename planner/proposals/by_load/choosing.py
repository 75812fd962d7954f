"""Which replicas leave a broker, so that it gives the parts of classes that the linear program says.

Classes that leave as a whole do so. Of those that leave in part, a linear program over single replicas
chooses the cheapest ones with the same loads in all. Its vertices divide at most as many replicas as there
are loads; these are rounded to the nearest loads.
"""

from itertools import product

import numpy as np

from planner.proposals.by_load.linear import LinearProgram
from planner.proposals.by_load.prices import move_cost
from planner.proposals.by_load.task import Items
from planner.proposals.problem.arrays import Flags, Ints, Rates

MOST_WINDOW = 4_000
"""Most replicas among which a program chooses; of more, it sees every second one, third one, …"""
NEAR = 1e-6
GRIDS = 2**12, 2**6
"""Steps of the largest load in which loads of replicas are counted; the second if the solver fails with the
first. Nearly equal replicas become equal: on them it could go around in circles."""
TINY = 1e-300
PENALTY = 1e6
"""What a fair share beside the wanted loads costs, in mean replicas."""


def leaving(items: Items, part: Rates, share: Rates) -> Flags:
    """Return which items leave their brokers; holes do. `part` is that of their classes."""
    result: Flags = part >= 1 - NEAR
    divided = np.flatnonzero((part > NEAR) & ~result)
    brokers = items.broker[divided]
    order = np.argsort(brokers, kind="stable")
    divided, starts = divided[order], np.flatnonzero(np.diff(brokers[order], prepend=-2))
    for mine in np.split(divided, starts[1:]) if len(divided) else []:
        wanted = (items.home[mine] * part[mine, None]).sum(axis=0)
        window = mine[:: -(-len(mine) // MOST_WINDOW)]
        result[window[_chosen(items.of(window), wanted, share[items.broker[mine[0]]])]] = True
    return result


def _chosen(items: Items, wanted: Rates, share: Rates) -> Flags:
    """Return the cheapest items whose loads together are nearest to those that are wanted."""
    cost, scaled = move_cost(items), items.home / share
    solved = (_solved(cost, scaled, wanted / share, steps) for steps in GRIDS)
    values = next((each for each in solved if each is not None), np.zeros(len(cost)))
    result: Flags = values >= 1 - NEAR
    return _rounded(result, np.flatnonzero((values > NEAR) & ~result), scaled, wanted / share)


def _solved(cost: Rates, scaled: Rates, wanted: Rates, steps: int) -> Rates | None:
    """Return which part of each item is taken; None if the solver finds nothing."""
    program = LinearProgram()
    unit = max(1.0, float(cost.mean()))
    step = np.maximum(scaled.max(axis=0), TINY) / steps
    rounded = np.rint(scaled / step) * step
    taken = program.add_variables(cost / unit, 1.0)
    slack = program.add_variables(np.full(2 * len(wanted), PENALTY), np.inf).reshape(-1, 2)
    for load, target in enumerate(wanted.tolist()):
        program.constrain(
            np.append(taken, slack[load]), np.append(rounded[:, load], [1.0, -1.0]), target, target
        )
    solved = program.solve()
    return None if solved is None else solved.values[: len(cost)]


def _rounded(taken: Flags, divided: Ints, scaled: Rates, wanted: Rates) -> Flags:
    """Take those of the divided items with which the loads are nearest."""
    divided = divided[: 2 * len(wanted)]
    rest = wanted - scaled[taken].sum(axis=0)
    choices = np.array(list(product((False, True), repeat=len(divided))), np.bool_)
    missed = np.abs(rest - choices.astype(np.float64) @ scaled[divided]).sum(axis=1)
    result = taken.copy()
    result[divided] = choices[int(missed.argmin())]
    return result
