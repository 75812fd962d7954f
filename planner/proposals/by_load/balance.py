"""Sets of replicas with which several loads of brokers are in their ranges, for few bytes.

Small problems are solved as integer programs. For larger ones a linear program says what brokers give and
take, replicas are chosen and dealt by that, and exchanges bring the last brokers into their ranges.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from planner.proposals.by_load.arrangement import Arrangement
from planner.proposals.by_load.choosing import leaving
from planner.proposals.by_load.dealing import Hand, Table, deal, places_of
from planner.proposals.by_load.exact import MOST_CHOICES, choices_of, exact_sets
from planner.proposals.by_load.exchange import Exchange, let_stay
from planner.proposals.by_load.prices import Quotas, held_by, move_cost, proven_bytes, quotas_of
from planner.proposals.by_load.task import Items, Task, items_of, task_of
from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.goal import Problem, ProposalError
from planner.proposals.problem.loads import replica_loads, tolerance_of
from planner.proposals.solver.byte_balance import room_left
from planner.proposals.solver.class_flow import Input, aligned

HEAVY = 0.01
"""From this part of a fair share, a replica is heavy."""
WIDTHS = 128
"""Steps of a fair share in which ranges are widened for a budget."""
MOST_ROUNDS = 12
"""How often a plan is improved by planning again from its result."""
BETTER = 1e-6
"""A plan is better if its brokers are by so many fair shares less outside of their ranges."""


NEAR_BOUND = 1.001
"""An integer program is not worth its time for a plan with at most so many times the proven bytes."""


class Balanced(NamedTuple):
    """New sets, and what is known about all plans within the ranges."""

    sets: Ints
    bytes_bound: int
    estimate: int
    """The bytes of the linear program, which divides replicas; 0 if it was not solved."""
    violation: float
    """By how many fair shares brokers are outside of their ranges."""


def within_budget(
    problem: Problem, given: Input, fits: Callable[[Ints], bool]
) -> tuple[Balanced, Fraction | None]:
    """Return the sets, and by how much all ranges were widened, in fair shares, until the plan `fits`.

    That is None if no width suffices.
    """
    found = balanced_sets(problem, given)
    if fits(found.sets):
        return found, Fraction(0)
    low, high, best = 0, WIDTHS, None
    while high - low > 1 or best is None:
        middle = high if best is None and low + 1 >= high else (low + high) // 2
        wider = balanced_sets(_widened(problem, Fraction(middle, WIDTHS)), given)
        if fits(wider.sets):
            high, best = middle, wider
        elif middle == high:
            return found, None
        else:
            low = middle
    return best, Fraction(high, WIDTHS)


def _widened(problem: Problem, more: Fraction) -> Problem:
    """Return the problem with larger tolerances."""
    tolerances = {load: tolerance_of(problem.goal, load) + more for load in problem.goal.loads}
    return problem._replace(goal=problem.goal._replace(tolerance_of=tolerances))


def narrowed(problem: Problem, part: Fraction) -> Problem:
    """Return the problem with a part of the tolerances of replicas."""
    goal = problem.goal
    narrower = {load: tolerance_of(goal, load) * part for load in replica_loads(goal)}
    return problem._replace(goal=goal._replace(tolerance_of={**goal.tolerance_of, **narrower}))


def balanced_sets(problem: Problem, given: Input, *, exact: bool = True) -> Balanced:
    """Return the sets. A further balance of the result changes nothing. Raises ProposalError.

    With `exact`, small problems are solved as integer programs.
    """
    first = _once(problem, given, exact=exact)
    sets, state = first.sets, problem
    for _ in range(MOST_ROUNDS):
        state = state.after(sets)
        again = given.at(sets, room_left(given, sets))
        better = _once(state, again, exact=exact)
        if np.array_equal(better.sets, sets):
            break
        sets = aligned(given.lists, better.sets)
        first = first._replace(violation=better.violation)
    required = int((given.required * given.bytes).sum())
    _, copied = given.cost(sets)
    bound = max(required, first.bytes_bound) if first.violation <= 0 else required
    return first._replace(sets=sets, bytes_bound=min(bound, copied))


def _once(problem: Problem, given: Input, *, exact: bool) -> Balanced:
    """Return a plan for a state; the state itself if no plan is better."""
    task = task_of(problem, given)
    present = task.remainder.sets
    complete = not task.remainder.holes.any()
    before = task.violation(present) if complete else np.inf
    if before <= 0:
        return Balanced(aligned(given.lists, present), 0, 0, 0.0)
    items, scopes = items_of(task)
    if not len(items.row):
        return Balanced(aligned(given.lists, present), 0, 0, before)
    sets, bound, estimate = _by_prices(task, items, scopes)
    if exact and choices_of(task, items) <= MOST_CHOICES and not _is_near(task, sets, bound):
        sets = exact_sets(task, items, sets)
    if (sets >= 0).sum() < task.given.factor.sum():
        raise ProposalError(["no place was found for some replicas: the disks or racks leave no room"])
    after = task.violation(sets)
    if after > before - BETTER:
        return Balanced(aligned(given.lists, present), 0, 0, before)
    return Balanced(sets, bound, estimate, after)


def _is_near(task: Task, sets: Ints, bound: int) -> bool:
    """Whether all brokers are in their ranges, and hardly any bytes can be saved."""
    _, copied = task.given.cost(sets)
    return task.violation(sets) <= 0 and copied <= bound * NEAR_BOUND


class _Scope(NamedTuple):
    """Brokers that exchange replicas, and their items."""

    brokers: Ints
    items: Items
    places: Ints


def _by_prices(task: Task, items: Items, scopes: Ints) -> tuple[Ints, int, int]:
    """Return sets by linear programs, the proven bound of bytes, and the bytes of the programs."""
    layout, plan = task.given.layout, Arrangement(task, task.remainder.sets)
    places = places_of(plan, items)
    bound, estimate = 0.0, 0.0
    for each in np.unique(scopes).tolist():
        mine = np.flatnonzero(scopes == each)
        brokers = np.flatnonzero((task.remainder.scope == each) & layout.usable)
        if layout.receives[brokers].any():
            proven, cost = _arrange(task, plan, _Scope(brokers, items.of(mine), places[mine]))
            bound, estimate = bound + proven, estimate + cost
    unit = float(items.cost.mean()) if len(items.cost) else 1.0
    Exchange(plan, np.flatnonzero(layout.usable), np.flatnonzero(layout.receives), unit).solve()
    let_stay(plan)
    dropped = (task.remainder.sets != task.remainder.stays).any()
    return plan.sets, 0 if dropped else int(bound * (1 - 1e-9)), int(estimate)


def _arrange(task: Task, plan: Arrangement, scope: _Scope) -> tuple[float, float]:
    """Change the plan of a scope by linear programs. Return proven bytes and those of the first program.

    A heavy replica cannot be divided as the program does it. So the heavy ones find their places first, and
    another program evens out what is left by the others.
    """
    size = task.given.layout.size
    start = task.settled + held_by(scope.items, size)
    quotas = quotas_of(task, scope.items, scope.brokers, start)
    if quotas is None:
        return 0.0, 0.0
    bound = max(0.0, proven_bytes(task, scope.items, scope.brokers, quotas.prices, task.settled))
    heavy = (scope.items.new / task.ranges.share[scope.brokers].mean(axis=0)).max(axis=1) > HEAVY
    if not heavy.any():
        _deal(task, plan, scope, quotas, np.ones(len(heavy), np.bool_))
        return bound, quotas.estimate
    _deal(task, plan, scope, quotas, heavy)
    light = _Scope(scope.brokers, scope.items.of(~heavy), scope.places[~heavy])
    rest = quotas_of(task, light.items, scope.brokers, plan.loads)
    if rest is not None:
        _deal(task, plan, light, rest, np.ones(len(light.places), np.bool_))
    return bound, quotas.estimate


def _deal(task: Task, plan: Arrangement, scope: _Scope, quotas: Quotas, chosen: Flags) -> None:
    """Let the chosen replicas leave, and deal them. What finds no place stays where it is, if it may."""
    items = scope.items
    leaves = leaving(items, quotas.part, task.ranges.share) & chosen
    for place in scope.places[leaves & (items.broker >= 0)].tolist():
        plan.remove(place)
    receivers = scope.brokers[task.given.layout.receives[scope.brokers]]
    hand = Hand(scope.places[leaves], quotas.classes[leaves], move_cost(items)[leaves])
    wanted = quotas.loads[receivers]
    table = Table(receivers, wanted, task.ranges.share[receivers], quotas.arriving[:, receivers])
    for place in deal(plan, hand, table):
        home = int(plan.home.ravel()[place])
        if home >= 0 and plan.may_be(place, home):
            plan.place(place, home)
        elif plan.sets.ravel()[place] < 0:
            plan.restore(place // plan.width)
