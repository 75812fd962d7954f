"""The step rule: the next replica list on the way to a target (KIP-435, "Calculating a Reassignment Step").

Pure functions over broker ids. docs/how-it-works.md defines what the KIP leaves open. The planner and the
controller share the rule: what a step is, when it may drop replicas, and who leads after it.
"""

from collections.abc import Collection, Container, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from controller.model.limits import UNLIMITED
from controller.model.replicas import NO_LEADER, Replicas


class StepLists(NamedTuple):
    """The replica lists of a partition while a step is in flight."""

    replicas: Replicas
    """The list after the step, followed by the replicas that it removes."""
    adding: Replicas
    removing: Replicas


@lru_cache(maxsize=65_536)
def step_lists(current: Replicas, following: Replicas) -> StepLists:
    """Return the lists of a step from `current` to `following`.

    Equal arguments share one result, to save memory.
    """
    adding = tuple(r for r in following if r not in current)
    removing = tuple(r for r in current if r not in following)
    return StepLists(following + removing, adding, removing)


class _Swap(NamedTuple):
    add: list[int]
    drop: list[int]


def next_step(
    current: Replicas,
    target: Replicas,
    *,
    isr: Container[int],
    live: Container[int],
    leader: int,
    original: Replicas,
    min_isr: int = 1,
    limit: int = UNLIMITED,
) -> Replicas | None:
    """Return the next replica list, `target` itself for the last step, or None if no step is possible now.

    `original` is the list before the reassignment. `limit` bounds the replicas added, and those dropped, in
    one step. The step drops replicas only if it `may_drop` them once the added ones are in sync. A step that
    only changes the leader has the members of `current`, in the order of `target`.
    """
    missing = [r for r in target if r not in current]
    excess = [r for r in current if r not in target]
    ready = [r for r in missing if r in live]
    in_sync = {r for r in current if r in isr and r in live}
    if ready and preferred_leader(target, limit) in in_sync - {leader}:
        swap = _Swap(add=[], drop=[])  # Unload the old leader before more data is copied.
    else:
        if ready == missing and max(len(missing), len(excess)) <= limit:
            if may_drop(current, target, target, original, in_sync.union(missing), min_isr):
                return target
            swap = _Swap(add=missing, drop=[])  # As in Kafka: nothing is dropped before the rest may be.
        elif target[0] in ready:
            swap = _Swap(add=ready[:1], drop=[])  # It takes over as soon as it is in sync.
        else:
            leaving = _leaving_order(excess, in_sync, leader)
            swap = _swap(current, _least(target, original, in_sync), ready, leaving, limit)
        swap = _keep_floor(current, target, original, in_sync, ready, swap, min_isr)
        swap = swap if swap.add or swap.drop else _Swap(add=ready[:limit], drop=[])  # what is possible
        if not swap.add and not swap.drop:
            return None
    members = {*current, *swap.add}.difference(swap.drop)
    ordered = [r for r in target if r in members] + [r for r in excess if r in members]
    return tuple(ordered)


def keeps_up(in_sync: int, members: int, min_isr: int) -> bool:
    """Return whether `in_sync` of `members` satisfy min ISR. In a shorter list all must be in sync."""
    return in_sync >= max(1, min(min_isr, members))


def may_drop(
    current: Replicas,
    following: Collection[int],
    target: Replicas,
    original: Replicas,
    in_sync: Container[int],
    min_isr: int,
) -> bool:
    """Return whether a step from `current` may end at `following`, without the replicas that it drops.

    The rule is that of Kafka 4.3 (PartitionReassignmentReplicas, KAFKA-19975) for the reassignment from
    `original` to `target`: all replicas that it adds are in sync, and if it lowers the replication factor,
    all of the target. So no replica in sync is dropped without another one for it. A dead replica that was
    there before and stays does not delay the others. A step may have added a part of the target only; the
    list is then not shorter than before.

    In addition, the step keeps min ISR (KIP-435): for a list of the length of the target, and if it loses a
    replica in sync, for its own list.
    """
    dropped = [r for r in current if r not in following]
    if not dropped:
        return True
    lagging = [r for r in target if r not in in_sync]
    if any(r in following and r not in original for r in lagging):
        return False
    if lagging and len(target) < len(original) and len(following) < min(len(current), len(original)):
        return False
    staying = sum([r in in_sync for r in following])
    if not keeps_up(staying, len(target), min_isr):
        return False
    return keeps_up(staying, len(following), min_isr) or not any(r in in_sync for r in dropped)


def _least(target: Replicas, original: Replicas, in_sync: Container[int]) -> int:
    """Return how many replicas a list must have that drops some."""
    lowers = len(target) < len(original)
    return len(original) if lowers and any(r not in in_sync for r in target) else len(target)


def preferred_leader(target: Replicas, limit: int) -> int:
    """Return who leads as soon as it is in sync, to unload the old leader (KIP-435).

    NO_LEADER without limit R, as in Kafka.
    """
    return target[0] if limit < UNLIMITED else NO_LEADER


def leader_after(
    current: Replicas,
    following: Replicas,
    *,
    isr: Container[int],
    live: Container[int],
    leader: int,
    preferred: int,
) -> int:
    """Return who leads after the step to `following`; the step moves leadership if that is not `leader`.

    The replicas that the step adds count as in sync; those that lag now count as lagging. `preferred` leads
    if it can, else `leader`, else the first that can; NO_LEADER if none can.
    """
    able = [r for r in following if r in live and (r in isr or r not in current)]
    if preferred in able:
        return preferred
    return leader if leader in able else next(iter(able), NO_LEADER)


def _leaving_order(excess: list[int], in_sync: Container[int], leader: int) -> list[int]:
    """Sort the replicas to drop: those out of sync first, the leader last."""
    return sorted(excess, key=lambda r: r in in_sync and 1 + (r == leader))


def _swap(current: Replicas, least: int, ready: list[int], excess: list[int], limit: int) -> _Swap:
    """Add as many replicas as are dropped.

    The list becomes shorter only if it has more than the `least` members.
    """
    drop = excess[:limit]
    add = ready[: max(0, min(len(drop) + least - len(current), limit))]
    spare = len(current) + len(add) - min(len(current), least)
    return _Swap(add, drop[: max(0, spare)])


def _keep_floor(
    current: Replicas,
    target: Replicas,
    original: Replicas,
    in_sync: set[int],
    ready: list[int],
    swap: _Swap,
    min_isr: int,
) -> _Swap:
    """Add more or drop less, so that the step may drop its replicas. This may add more than the limit."""
    floor = max(1, min(min_isr, len(target)))
    drop = list(swap.drop)
    staying = sum(r in in_sync and r not in drop for r in current)
    add = ready[: max(len(swap.add), floor - staying)]
    while drop:
        following = {*current, *add}.difference(drop)
        if may_drop(current, following, target, original, in_sync.union(add), min_isr):
            break
        drop.pop()
    return _Swap(add, drop)


class Step(NamedTuple):
    """A step, counted from 1: its final replicas, and the leader before (`source` of data) and after it."""

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
    """Yield the steps, with at most `limit` replicas each.

    They end before the target if the partition has to wait.
    """
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
