"""Where replicas go that have left their brokers.

Of each class, brokers get what the linear program says. Among those that still lack some, a replica goes to
the one that lacks most of what it brings. Heavy replicas come first, so that light ones even out what is
left.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.by_load.arrangement import Arrangement
from planner.proposals.by_load.task import Items
from planner.proposals.problem.arrays import Ints, Rates

NOT_OPEN = -np.inf


class Hand(NamedTuple):
    """Replicas of a scope that are dealt. Arrays have an element for each of them."""

    places: Ints
    classes: Ints
    sizes: Rates
    """In the unit of `arriving`."""


class Table(NamedTuple):
    """The brokers that receive, and what they should get. Arrays have a row, or a column, for each broker."""

    brokers: Ints
    wanted: Rates
    """The loads of each broker in the end."""
    share: Rates
    arriving: Rates
    """By class and broker; it falls as replicas are dealt."""


def deal(plan: Arrangement, hand: Hand, table: Table) -> list[int]:
    """Put a replica at each of the empty places. Return those for which no broker is open."""
    brings = plan.weights(hand.places, np.full(len(hand.places), -1)) / table.share.max(axis=0)
    lack = (table.wanted - plan.loads[table.brokers]) / table.share
    ratio = table.share.max(axis=0) / table.share
    stuck = []
    for number in np.lexsort((hand.places, -brings.sum(axis=1))).tolist():
        place, quota, size = (
            int(hand.places[number]),
            table.arriving[hand.classes[number]],
            hand.sizes[number],
        )
        weight = brings[number] * ratio
        score = (weight * (2 * lack - weight)).sum(axis=1)
        at = _first_open(plan, place, np.where(quota >= size / 2, score, NOT_OPEN), table.brokers)
        if at < 0:
            at = _first_open(plan, place, score, table.brokers)
        if at < 0:
            stuck.append(place)
            continue
        plan.place(place, int(table.brokers[at]))
        quota[at] -= size
        lack[at] -= weight[at]
    return stuck


def _first_open(plan: Arrangement, place: int, score: Rates, brokers: Ints) -> int:
    """Return the position of the broker with the highest score that may have the replica; -1 if none may."""
    for _ in range(len(brokers)):
        at = int(score.argmax())
        if score[at] == NOT_OPEN:
            return -1
        if plan.may_be(place, int(brokers[at])):
            return at
        score[at] = NOT_OPEN
    return -1


def places_of(plan: Arrangement, items: Items) -> Ints:
    """Return the place of each item; that of a hole is an empty one."""
    holes = items.broker < 0
    places: Ints = items.row * plan.width + items.column
    places[holes] = _empty_places(plan, items.row[holes])
    return places


def _empty_places(plan: Arrangement, rows: Ints) -> Ints:
    """Return an empty place for each of the rows, which may occur several times."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    first = np.searchsorted(ordered, ordered)
    turn = np.arange(len(rows)) - first
    empty = np.argsort(plan.sets[ordered] >= 0, axis=1, kind="stable")
    places = np.empty(len(rows), np.int64)
    places[order] = ordered * plan.width + empty[np.arange(len(rows)), turn]
    return places
