"""Bring the last brokers into their ranges, and let replicas stay that need not move.

A broker outside of a range gives a replica away, takes one, or exchanges one, whatever brings both brokers
nearest to their ranges for the bytes that it copies. Replicas that move anyway cost nothing.
"""

import numpy as np

from planner.proposals.by_load.arrangement import Arrangement
from planner.proposals.problem.arrays import Ints, Rates

CANDIDATES = 128
"""Most replicas of a broker that are considered."""
PARTNERS = 8
"""Most brokers that are considered as partners."""
TRIES = 32
"""Candidates that are tried, in order of value."""
LEAST_GAIN = 1e-9
STEPS = 2
"""Steps for each broker. Another plan from the result brings more than many steps."""
LEAST_STEPS = 100


class Exchange:
    """Improves an arrangement. `unit` are the bytes of a mean replica."""

    def __init__(self, plan: Arrangement, usable: Ints, receivers: Ints, unit: float) -> None:
        self._plan, self._usable, self._receivers = plan, usable, receivers
        self._unit = max(1.0, unit)

    def solve(self) -> None:
        """Change the arrangement until no broker is outside of a range, or nothing helps."""
        stuck: set[int] = set()
        plan = self._plan
        for _ in range(max(LEAST_STEPS, STEPS * len(self._usable))):
            excess = plan.ranges.outside(plan.loads[self._usable], self._usable)
            excess[[each in stuck for each in self._usable.tolist()]] = 0
            if excess.max(initial=0.0) <= 0:
                return
            worst = int(self._usable[int(excess.argmax())])
            if self._single(worst) or self._pair(worst):
                stuck.clear()
            else:
                stuck.add(worst)

    def _single(self, broker: int) -> bool:
        """Move one replica from or to the broker."""
        found = []
        partners = self._plan.partners(broker)
        if len(mine := self._candidates(broker, broker)):
            found.append(self._valued(mine, partners[np.isin(partners, self._receivers)]))
        if broker in self._receivers:
            theirs = (self._candidates(other, broker) for other in self._others(broker))
            found += [self._valued(each, np.array([broker])) for each in theirs if len(each)]
        if not found:
            return False
        value, places, targets = (np.concatenate(each) for each in zip(*found, strict=True))
        for number in np.argsort(-value, kind="stable")[:TRIES].tolist():
            if value[number] <= 0:
                return False
            if self._plan.may_be(int(places[number]), int(targets[number])):
                self._plan.move(int(places[number]), int(targets[number]))
                return True
        return False

    def _valued(self, places: Ints, targets: Ints) -> tuple[Rates, Ints, Ints]:
        """Return the value of moving each of the places to each target."""
        plan = self._plan
        sources = plan.sets.ravel()[places]
        out = plan.weights(places, sources)
        pairs = np.repeat(places, len(targets)), np.tile(targets, len(places))
        into = plan.weights(*pairs)
        before = self._before(sources)
        left = before - plan.ranges.outside(plan.loads[sources] - out, sources)
        there = self._before(pairs[1]) - plan.ranges.outside(plan.loads[pairs[1]] + into, pairs[1])
        gain = np.repeat(left, len(targets)) + there
        cost = plan.copied(*pairs) - np.repeat(plan.copied(places, sources), len(targets))
        same = np.repeat(sources, len(targets)) == pairs[1]
        return self._value(np.where(same, 0.0, gain), cost), *pairs

    def _value(self, gain: Rates, cost: Rates) -> Rates:
        """Return the gain for each replica that it costs; that of what hardly gains anything is 0."""
        least = max(LEAST_GAIN, 0.05 * float(gain.max(initial=0.0)))
        return np.where(gain > least, gain / (0.05 + np.maximum(0, cost) / self._unit), 0.0)

    def _before(self, brokers: Ints) -> Rates:
        return self._plan.ranges.outside(self._plan.loads[brokers], brokers)

    def _others(self, broker: int) -> list[int]:
        """Return the brokers that could spare most of what this one lacks."""
        plan = self._plan
        lacks = plan.loads[broker] < plan.ranges.least[broker]
        return self._first_partners(broker, self._relative * lacks) if lacks.any() else []

    def _candidates(self, source: int, broker: int) -> Ints:
        """Return replicas of the source with loads that are nearest to what is too much or lacks."""
        plan = self._plan
        places = np.flatnonzero((plan.sets == source).ravel() & plan.open)
        if len(places) <= CANDIDATES:
            return places
        load = plan.loads[broker]
        least, most, share = (each[broker] for each in plan.ranges)
        wanted = np.where(load > most, load - most, np.where(load < least, least - load, 0)) / share
        weights = plan.weights(places, np.full(len(places), source)) / share
        distance = np.abs(weights - wanted).sum(axis=1)
        moving = plan.home.ravel()[places] != source
        half = CANDIDATES // 2
        near = [
            each[np.argsort(distance[each], kind="stable")[:half]]
            for each in (np.flatnonzero(moving), np.flatnonzero(~moving))
        ]
        return places[np.sort(np.concatenate(near))]

    def _pair(self, broker: int) -> bool:
        """Exchange a replica of the broker for one of another broker."""
        mine = self._candidates(broker, broker)
        if broker not in self._receivers or not len(mine):
            return False
        receivers = set(self._receivers.tolist())
        return any(
            self._exchange(broker, other, mine) for other in self._partners(broker) if other in receivers
        )

    def _partners(self, broker: int) -> list[int]:
        """Return brokers in order of how much they differ from this one."""
        return self._first_partners(broker, np.abs(self._relative - self._relative[broker]))

    @property
    def _relative(self) -> Rates:
        """The loads of all brokers as parts of their fair shares."""
        relative: Rates = self._plan.loads / self._plan.ranges.share
        return relative

    def _first_partners(self, broker: int, values: Rates) -> list[int]:
        """Return the partners of the broker with the highest sums of these values, in order."""
        partners = self._plan.partners(broker)
        order = np.argsort(-values[partners].sum(axis=1), kind="stable")
        return [each for each in partners[order].tolist() if each != broker][:PARTNERS]

    def _exchange(self, broker: int, other: int, mine: Ints) -> bool:
        plan = self._plan
        theirs = self._candidates(other, broker)
        if not len(theirs):
            return False
        at, to = np.full(len(mine), broker), np.full(len(mine), other)
        back, here = np.full(len(theirs), other), np.full(len(theirs), broker)
        first = plan.loads[broker] - plan.weights(mine, at)[:, None] + plan.weights(theirs, here)[None]
        second = plan.loads[other] + plan.weights(mine, to)[:, None] - plan.weights(theirs, back)[None]
        ours = plan.ranges.outside(first, np.array(broker)) + plan.ranges.outside(second, np.array(other))
        gain = float(self._before(np.array([broker, other])).sum()) - ours
        cost = (plan.copied(mine, to) - plan.copied(mine, at))[:, None]
        cost = cost + (plan.copied(theirs, here) - plan.copied(theirs, back))[None]
        value = self._value(gain, cost).ravel()
        for number in np.argsort(-value, kind="stable")[:TRIES].tolist():
            if value[number] <= 0:
                return False
            if self._swap(int(mine[number // len(theirs)]), int(theirs[number % len(theirs)])):
                return True
        return False

    def _swap(self, place: int, other: int) -> bool:
        plan = self._plan
        if place // plan.width == other // plan.width:
            return False
        source, target = (int(plan.sets.ravel()[each]) for each in (place, other))
        if not plan.may_be(place, target) or not plan.may_be(other, source):
            return False
        plan.move(place, target)
        plan.move(other, source)
        return True


def let_stay(plan: Arrangement) -> None:
    """Let replicas return to where they are now if no broker gets outside of a range by that."""
    moved = np.flatnonzero(((plan.sets != plan.home) & (plan.home >= 0) & (plan.sets >= 0)).ravel())
    now, home = plan.sets.ravel()[moved], plan.home.ravel()[moved]
    out, into = plan.weights(moved, now), plan.weights(moved, home)
    room = (plan.loads[home] + into <= plan.ranges.most[home]).all(axis=1)
    spare = (plan.loads[now] - out >= plan.ranges.least[now]).all(axis=1)
    possible = np.flatnonzero(room & spare)
    for number in possible[np.lexsort((possible, -plan.copied(moved, now)[possible]))].tolist():
        there, back = int(now[number]), int(home[number])
        fits = (plan.loads[back] + into[number] <= plan.ranges.most[back]).all()
        spared = (plan.loads[there] - out[number] >= plan.ranges.least[there]).all()
        if fits and spared and plan.may_be(int(moved[number]), back):
            plan.move(int(moved[number]), back)
