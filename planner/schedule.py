"""Every step of one partition on its way to its target (KIP-435), as far as it gets with today's live brokers.

This is the forecast's view: what a step adds is in sync when the step ends, replicas that lag go on lagging, and
brokers that are offline stay so. `planner.spark` says the same for millions of partitions at once.
"""

from collections.abc import Container, Iterator
from typing import NamedTuple

from planner.steps import UNLIMITED, Replicas, next_step

NO_LEADER = -1


class Move(NamedTuple):
    """One partition as it is, and the replicas it is to have. `bytes` is the size of one replica."""

    topic: str
    partition: int
    current: Replicas
    target: Replicas
    isr: Replicas
    leader: int
    min_isr: int = 1
    bytes: int = 0


class Step(NamedTuple):
    """One step, counted from 1: the list it ends with, and who leads before (`source` of the data) and after it."""

    number: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas
    source: int
    leader: int

    @property
    def leader_movement(self) -> bool:
        """Another broker leads after the step."""
        return self.leader != self.source


def steps_of(move: Move, live: Container[int], limit: int = UNLIMITED) -> Iterator[Step]:
    """The steps of at most `limit` replicas each; the last one is not the target's if the partition has to wait."""
    current, isr, leader = move.current, move.isr, move.leader
    number = 0
    while current != move.target and (leader != NO_LEADER or set(current) == set(move.target)):
        following = next_step(
            current, move.target, isr=isr, live=live, leader=leader, min_isr=move.min_isr, limit=limit
        )
        if following is None:
            return
        number += 1
        adding = tuple(r for r in following if r not in current)
        removing = tuple(r for r in current if r not in following)
        isr = tuple(r for r in following if r in isr or r in adding)
        able = [r for r in isr if r in live]
        source, leader = leader, next_leader(leader, able, move.target[0] if limit < UNLIMITED else NO_LEADER)
        yield Step(number, following, adding, removing, source, leader)
        current = following


def next_leader(leader: int, able: list[int], preferred: int) -> int:
    """Who leads after a step: `preferred` if it is able to, else today's leader, else the first that is able."""
    if preferred in able:
        return preferred
    if leader in able:
        return leader
    return able[0] if able else NO_LEADER
