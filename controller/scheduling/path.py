"""All steps of one partition towards its target (KIP-435), with the brokers that are live now, and where they end.

It assumes that the replicas that a step adds are in sync when it ends, that lagging replicas stay out of sync, and
that offline brokers stay offline.
"""

from collections.abc import Container, Iterator
from functools import partial
from typing import NamedTuple

from controller.scheduling.steps import (
    NO_LEADER,
    UNLIMITED,
    Replicas,
    leader_after,
    next_step,
    preferred_leader,
)


class Step(NamedTuple):
    """A step, counted from 1: its final replica list, and the leader before (`source` of the data) and after it."""

    number: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas
    source: int
    leader: int

    @property
    def leader_movement(self) -> bool:
        """Whether the step changes the leader."""
        return self.leader != self.source


def steps_to(
    current: Replicas,
    target: Replicas,
    *,
    isr: Replicas,
    live: Container[int],
    leader: int,
    original: Replicas,
    min_isr: int = 1,
    limit: int = UNLIMITED,
) -> Iterator[Step]:
    """Yield the steps, with at most `limit` replicas each. They end before the target if the partition has to wait."""
    rule = partial(next_step, live=live, original=original, min_isr=min_isr, limit=limit)
    number = 0
    while current != target and (leader != NO_LEADER or set(current) == set(target)):
        following = rule(current, target, isr=isr, leader=leader)
        if following is None:
            return
        number += 1
        adding = tuple(r for r in following if r not in current)
        removing = tuple(r for r in current if r not in following)
        source, preferred = leader, preferred_leader(target, limit)
        leader = leader_after(current, following, isr=isr, live=live, leader=source, preferred=preferred)
        isr = tuple(r for r in following if r in isr or r in adding)
        yield Step(number, following, adding, removing, source, leader)
        current = following


def why_short(target: Replicas, *, live: Container[int], leader: int) -> str:
    """Return why the steps end before the target. `leader` is that of the partition now."""
    if offline := [broker for broker in target if broker not in live]:
        return "offline: " + ", ".join(f"broker {broker}" for broker in offline)
    return "the partition has no leader" if leader == NO_LEADER else "too few replicas would be in sync"
