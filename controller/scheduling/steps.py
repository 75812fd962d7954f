"""The step rule: the next replica list on the way to a target (KIP-435, "Calculating a Reassignment Step").

Pure functions over broker ids. docs/how-it-works.md defines what the KIP leaves open. The planner and the
controller share the rule: what a step is, when it may drop replicas, and who leads after it.
"""

from collections.abc import Container
from typing import NamedTuple

Replicas = tuple[int, ...]

NO_LEADER = -1
UNLIMITED = 2_147_483_647


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
    min_isr: int = 1,
    limit: int = UNLIMITED,
) -> Replicas | None:
    """Return the next replica list, `target` itself for the last step, or None if no step is possible now.

    `limit` bounds the replicas added, and those dropped, in one step. The result never has fewer members than
    the smaller of `current` and `target`. It drops replicas only if it `may_drop` them once the added ones
    are in sync. A step that only changes the leader has the members of `current`, in the order of `target`.
    """
    missing = [r for r in target if r not in current]
    excess = [r for r in current if r not in target]
    ready = [r for r in missing if r in live]
    in_sync = {r for r in current if r in isr and r in live}
    if ready and preferred_leader(target, limit) in in_sync - {leader}:
        swap = _Swap(add=[], drop=[])  # Unload the old leader before more data is copied.
    else:
        if max(len(missing), len(excess)) <= limit:
            in_target = len(missing) + sum(r in in_sync for r in target)
            if ready == missing and (not excess or keeps_up(in_target, len(target), min_isr)):
                return target
        if target[0] in ready:
            swap = _Swap(add=ready[:1], drop=[])  # It takes over as soon as it is in sync.
        else:
            swap = _swap(current, target, ready, _leaving_order(excess, in_sync, leader), limit)
        swap = _keep_floor(current, target, in_sync, ready, swap, min_isr)
        if not swap.add and not swap.drop:
            # No replica may be dropped before more are in sync: add what is possible.
            swap = _Swap(add=ready[:limit], drop=[])
        if not swap.add and not swap.drop:
            return None
    members = {*current, *swap.add}.difference(swap.drop)
    ordered = [r for r in target if r in members] + [r for r in excess if r in members]
    return tuple(ordered)


def keeps_up(in_sync: int, members: int, min_isr: int) -> bool:
    """Return whether `in_sync` of `members` satisfy min ISR. In a shorter list all must be in sync."""
    return in_sync >= max(1, min(min_isr, members))


def may_drop(in_sync: int, members: int, target: int, min_isr: int, *, loses: bool) -> bool:
    """Return whether a step may drop replicas when `in_sync` of the `members` of its list are in sync.

    They must satisfy min ISR for a list of the length of the target. If the step `loses` a replica in sync,
    they must also satisfy it for its own list, which may be longer.
    """
    return keeps_up(in_sync, target, min_isr) and (not loses or keeps_up(in_sync, members, min_isr))


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


def _swap(current: Replicas, target: Replicas, ready: list[int], excess: list[int], limit: int) -> _Swap:
    """Add as many replicas as are dropped: the list never becomes shorter than the shorter of the two."""
    drop = excess[:limit]
    add = ready[: max(0, min(len(drop) + len(target) - len(current), limit))]
    spare = len(current) + len(add) - min(len(current), len(target))
    return _Swap(add, drop[: max(0, spare)])


def _keep_floor(
    current: Replicas,
    target: Replicas,
    in_sync: Container[int],
    ready: list[int],
    swap: _Swap,
    min_isr: int,
) -> _Swap:
    """Add more or drop less, so that the replicas in sync that stay and the added ones satisfy min ISR.

    This may add more than the limit. A list that is still longer than the target keeps the full min ISR, even
    if the target is shorter than that.
    """
    floor = max(1, min(min_isr, len(target)))
    drop = list(swap.drop)
    staying = sum(r in in_sync and r not in drop for r in current)
    add = ready[: max(len(swap.add), floor - staying)]
    while drop:
        left, members = staying + len(add), len(current) + len(add) - len(drop)
        if may_drop(left, members, len(target), min_isr, loses=any(r in in_sync for r in drop)):
            break
        staying += drop.pop() in in_sync
    return _Swap(add, drop)
