"""The next step of one partition on its way to a target (KIP-435, "Calculating a Reassignment Step").

Pure: broker ids in, broker ids out. The rules are the KIP's, with what it leaves open decided in docs/how-it-works.md.
"""

from collections.abc import Container
from typing import NamedTuple

Replicas = tuple[int, ...]

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
    smaller of the two lists, and keeps `min_isr` members in sync where brokers allow it.
    """
    missing = [r for r in target if r not in current]
    excess = [r for r in current if r not in target]
    ready = [r for r in missing if r in live]
    if len(ready) == len(missing) and len(missing) <= limit and len(excess) <= limit:
        return target
    if target[0] not in current and target[0] in live:
        swap = _Swap(add=ready[:1], drop=[])
    else:
        swap = _swap(current, target, ready, _leaving_order(excess, isr, leader), limit)
        swap = _keep_floor(current, target, isr, ready, swap, min_isr)
    if not swap.add and not swap.drop:
        return None
    members = {*current, *swap.add}.difference(swap.drop)
    ordered = [r for r in target if r in members] + [r for r in excess if r in members]
    return tuple(ordered)


def _leaving_order(excess: list[int], isr: Container[int], leader: int) -> list[int]:
    """Replicas out of sync go first, the leader goes last."""
    return sorted(excess, key=lambda r: (r == leader, r in isr))


def _swap(current: Replicas, target: Replicas, ready: list[int], excess: list[int], limit: int) -> _Swap:
    """Rule 4: as many in as out, so that the list never gets shorter than the shorter of the two."""
    drop = excess[:limit]
    add = ready[: max(0, min(len(drop) + len(target) - len(current), limit))]
    spare = len(current) + len(add) - min(len(current), len(target))
    return _Swap(add, drop[: max(0, spare)])


def _keep_floor(
    current: Replicas,
    target: Replicas,
    isr: Container[int],
    ready: list[int],
    swap: _Swap,
    min_isr: int,
) -> _Swap:
    """Rule 5: those in sync that stay, and those added, reach min ISR, beyond the limit if need be."""
    floor = max(1, min(min_isr, len(target)))
    drop = list(swap.drop)
    staying = sum(r in isr and r not in drop for r in current)
    add = ready[: max(len(swap.add), floor - staying)]
    while drop and staying + len(add) < floor:
        staying += drop.pop() in isr
    return _Swap(add, drop)
