"""The rules of ownership: which entries of a list and which rates a lease owns, and how lists are changed.

The functions are pure. They are used for configs that the controller owns (`controller.throttle.direct`) and
for the configs of an upstream (`controller.throttle.delegated`). Entries that someone else set are never
removed. A rate that someone else set, or changed during the lease, is never changed.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from controller.model.configs import MAX_VALUE_BYTES, Lease, fitting, list_items

EVERY_REPLICA = "*"


def owned_by(lease: Lease | None) -> list[str]:
    """Return the entries or rates that the lease owns; none without a lease."""
    return [] if lease is None else lease.owned


def set_by_others(value: str | None, lease: Lease | None) -> bool:
    """Whether someone else has set the rate."""
    return value is not None and value not in owned_by(lease)


def others_entries(value: str | None, lease: Lease | None) -> list[str]:
    """Return the entries of the list that someone else has set."""
    owned = set(owned_by(lease))
    return [entry for entry in list_items(value) if entry not in owned]


def union(value: str | None, desired: str) -> str:
    """Return the list with the missing desired entries appended that fit. `*` already covers all replicas."""
    if value == EVERY_REPLICA:
        return value
    if not value and len(desired) <= MAX_VALUE_BYTES:
        return desired
    current = list_items(value)
    present = set(current)
    missing = [entry for entry in list_items(desired) if entry not in present]
    return ",".join(current + fitting(missing, _room(value)))


class ListChange(NamedTuple):
    """Entries to append to a list and to subtract from it, and those that the lease owns until then."""

    append: Sequence[str]
    subtract: Sequence[str]
    owned: Sequence[str]
    omitted: int = 0
    """Desired entries that do not fit into the list."""


def change_list(
    value: str | None, lease: Lease | None, desired: str, subtracted: Collection[str]
) -> ListChange:
    """Compute the changes from the value to the desired entries.

    Desired entries that someone else has set are not owned, so they remain when the lease ends. Owned entries
    that are no longer desired are subtracted even if the value does not contain them: the value may have been
    read before they were appended. An entry is no longer owned when its subtraction was acknowledged
    (`subtracted`) and the value does not contain it. Entries are appended before others are subtracted, so those
    that do not fit yet are appended when the value is read again.
    """
    current, wanted = set(list_items(value)), list_items(desired)
    missing = [] if EVERY_REPLICA in current else [entry for entry in wanted if entry not in current]
    append = fitting(missing, _room(value))
    kept, gone = set(wanted), set(subtracted)
    owned = [entry for entry in owned_by(lease) if entry in kept or entry in current or entry not in gone]
    subtract = fitting(entry for entry in owned if entry not in kept)
    owned = list(dict.fromkeys([*owned, *append]))
    return ListChange(append, subtract, owned, len(missing) - len(append))


def _room(value: str | None) -> int:
    """Return the bytes that a list appended to this one may have."""
    return MAX_VALUE_BYTES - len(value) - 1 if value else MAX_VALUE_BYTES
