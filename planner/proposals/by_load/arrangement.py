"""A plan that is changed replica by replica, with the loads of all brokers.

A replica is a *place*: its position in the flattened matrix of sets. `home` has the brokers before the plan.
"""

import numpy as np

from planner.proposals.by_load.task import Task
from planner.proposals.problem.arrays import Flags, Ints, Rates
from planner.proposals.problem.table import per_broker


class Arrangement:
    """Only `place` and `remove` change the sets, the loads and the room."""

    def __init__(self, task: Task, sets: Ints) -> None:
        self._task, self._layout = task, task.given.layout
        self.sets = sets.copy()
        self.width = sets.shape[1]
        self.home = task.remainder.old
        self.loads = task.carried(sets)
        """The loads of each broker."""
        arriving = np.where(sets == self.home, -1, sets)
        self.room = task.given.room - per_broker(arriving, task.given.bytes, self._layout.size)
        self.ranges = task.ranges
        self.open = (task.movable | (task.remainder.sets < 0)).ravel()
        """The places at which replicas may change."""
        self._bytes = task.given.bytes

    def weights(self, places: Ints, brokers: Ints) -> Rates:
        """Return the loads of the replicas if they are on these brokers."""
        rows, columns = np.divmod(places, self.width)
        loads = self._task.new[rows]
        at = self._task.bytes_at
        if at >= 0:
            loads[:, at] = np.where(
                self.home[rows, columns] == brokers, self._task.own[rows, columns], self._bytes[rows]
            )
        return loads

    def copied(self, places: Ints, brokers: Ints) -> Ints:
        """Return the bytes that are copied if the replicas are on these brokers."""
        rows, columns = np.divmod(places, self.width)
        copied: Ints = np.where(self.home[rows, columns] == brokers, 0, self._bytes[rows])
        return copied

    def _racks_open(self, row: int, source: int) -> Flags:
        if source >= 0 and self._task.remainder.racks_are_fixed:
            own: Flags = np.arange(len(self._layout.brokers_of)) == self._layout.rack[source]
            return own
        factor = int(self._task.given.factor[row])
        members = self.sets[row]
        racks = len(self._layout.brokers_of)
        held = np.bincount(self._layout.rack[members[members >= 0]], minlength=racks)
        least, most = self._layout.least[factor], self._layout.most[factor]
        if source < 0:
            lacking: Flags = held < least
            free: Flags = held < most
            return lacking if lacking.any() else free
        rack = self._layout.rack[source]
        result: Flags = (held < most) & (held[rack] > least[rack])
        result[rack] = True
        return result

    def may_be(self, place: int, target: int) -> bool:
        """Whether the replica, or a new one at an empty place, may be on the broker instead."""
        row, column = divmod(place, self.width)
        members, old = self.sets[row].tolist(), self.home[row].tolist()
        if target in members:
            return False
        if target in old:
            if old[column] != target or self._task.remainder.stays[row, column] != target:
                return False
        elif not self._layout.receives[target] or self._bytes[row] > self.room[target]:
            return False
        return not self._layout.shared or bool(
            self._racks_open(row, members[column])[self._layout.rack[target]]
        )

    def partners(self, broker: int) -> Ints:
        """Return the brokers that exchange replicas with this one, itself included."""
        scope = self._task.remainder.scope
        return np.flatnonzero(self._layout.usable & (scope == scope[broker]))

    def remove(self, place: int) -> int:
        """Take a replica away. Return its broker."""
        row, column = divmod(place, self.width)
        broker = int(self.sets[row, column])
        self._count(place, broker, -1)
        self.sets[row, column] = -1
        return broker

    def place(self, place: int, broker: int) -> None:
        """Put a replica at an empty place."""
        row, column = divmod(place, self.width)
        self.sets[row, column] = broker
        self._count(place, broker, 1)

    def move(self, place: int, broker: int) -> None:
        """Put a replica on another broker."""
        self.remove(place)
        self.place(place, broker)

    def restore(self, row: int) -> None:
        """Put the replicas of a partition back where they were, which may be against the rack rule.

        Nothing else can be on these brokers.
        """
        changed = np.flatnonzero(self.sets[row] != self._task.remainder.sets[row])
        for column in changed[self.sets[row, changed] >= 0].tolist():
            self.remove(row * self.width + column)
        for column in changed[self._task.remainder.sets[row, changed] >= 0].tolist():
            self.place(row * self.width + column, int(self._task.remainder.sets[row, column]))

    def _count(self, place: int, broker: int, sign: int) -> None:
        row, column = divmod(place, self.width)
        weight = self._task.new[row].copy()
        if self.home[row, column] != broker:
            self.room[broker] -= sign * self._bytes[row]
        elif self._task.bytes_at >= 0:
            weight[self._task.bytes_at] = self._task.own[row, column]
        self.loads[broker] += sign * weight
