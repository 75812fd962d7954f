"""The next step of one partition on its way to a target (KIP-435, "Calculating a Reassignment Step").

Pure: broker ids in, broker ids out. The rules are the KIP's, with what it leaves open decided in docs/how-it-works.md.
The planner and the controller share them: what a step is, when it may drop replicas, and who leads after it.
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
    """The replica list to go to next, `target` itself on the last step; None when nothing can change now.

    `limit` bounds the replicas added, and those dropped, in one step. The answer never has fewer members than the
    smaller of the two lists. It drops replicas only if it `may_drop` them when those that it adds are in sync. A step that only changes the leader has the members of `current`, in the order of `target`.
    """
    missing = [r for r in target if r not in current]
    excess = [r for r in current if r not in target]
    ready = [r for r in missing if r in live]
    in_sync = {r for r in current if r in isr and r in live}
    if ready and preferred_leader(target, limit) in in_sync - {leader}:
        swap = _Swap(add=[], drop=[])
    else:
        if max(len(missing), len(excess)) <= limit:
            in_target = len(missing) + sum(r in in_sync for r in target)
            if ready == missing and (not excess or keeps_up(in_target, len(target), min_isr)):
                return target
        if target[0] in ready:
            swap = _Swap(add=ready[:1], drop=[])
        else:
            swap = _swap(current, target, ready, _leaving_order(excess, in_sync, leader), limit)
        swap = _keep_floor(current, target, in_sync, ready, swap, min_isr)
        if not swap.add and not swap.drop:
            # Nothing may go before more is in sync: let come what can.
            swap = _Swap(add=ready[:limit], drop=[])
        if not swap.add and not swap.drop:
            return None
    members = {*current, *swap.add}.difference(swap.drop)
    ordered = [r for r in target if r in members] + [r for r in excess if r in members]
    return tuple(ordered)


def keeps_up(in_sync: int, members: int, min_isr: int) -> bool:
    """Whether a list with so many members, `in_sync` of them in sync, has min ISR, as far as its length lets it."""
    return in_sync >= max(1, min(min_isr, members))


def may_drop(in_sync: int, members: int, target: int, min_isr: int, *, loses: bool) -> bool:
    """Whether a step to a list with so many members, `in_sync` of them in sync, may end by dropping the others.

    They are as many as min ISR asks of a list of the length of the target; if the step `loses` a replica in sync,
    also as many as it asks of this list, which may be longer.
    """
    return keeps_up(in_sync, target, min_isr) and (not loses or keeps_up(in_sync, members, min_isr))


def preferred_leader(target: Replicas, limit: int) -> int:
    """Who leads as soon as it can, to unload the old leader (KIP-435); nobody in Kafka's own single step."""
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
    """Who leads after the step to `following`; the step moves leadership if that is not `leader`.

    What the step adds is in sync by then, and what lags lags on. `preferred` leads if it can, else `leader`, else the
    first that can; NO_LEADER if none can.
    """
    able = [r for r in following if r in live and (r in isr or r not in current)]
    if preferred in able:
        return preferred
    return leader if leader in able else next(iter(able), NO_LEADER)


def _leaving_order(excess: list[int], in_sync: Container[int], leader: int) -> list[int]:
    """Replicas out of sync go first, the leader goes last."""
    return sorted(excess, key=lambda r: r in in_sync and 1 + (r == leader))


def _swap(current: Replicas, target: Replicas, ready: list[int], excess: list[int], limit: int) -> _Swap:
    """As many in as out, so that the list never gets shorter than the shorter of the two."""
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
    """Those in sync that stay, and those added, reach min ISR, beyond the limit if need be; else less is dropped.

    A list that is still longer than the target keeps all of min ISR, even if the target cannot.
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
