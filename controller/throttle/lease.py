"""Which entries of a list, and which rates, a lease owns, and how a config gets from its value to the desired one.

Pure functions, for configs that the core owns (`controller.throttle.direct`) and for those of an upstream
(`controller.throttle.delegated`). Entries that someone else set stay. A rate that someone else set, or changed while
the lease lasted, is theirs.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from controller.model.configs import Lease, list_items

EVERY_REPLICA = "*"


def owned_by(lease: Lease | None) -> list[str]:
    """The entries or rates that the lease owns; none without a lease."""
    return [] if lease is None else lease.owned


def set_by_others(value: str | None, lease: Lease | None) -> bool:
    """Whether the rate was set by someone else, who keeps it."""
    return value is not None and value not in owned_by(lease)


def others_entries(value: str | None, lease: Lease | None) -> list[str]:
    """The entries of the list that someone else set."""
    owned = set(owned_by(lease))
    return [entry for entry in list_items(value) if entry not in owned]


def union(value: str | None, desired: str) -> str:
    """The list with the desired entries that it lacks at its end. `*` covers all replicas already."""
    if not value or value == EVERY_REPLICA:
        return value or desired
    there = list_items(value)
    return ",".join(there + [entry for entry in list_items(desired) if entry not in there])


class ListChange(NamedTuple):
    """Entries to append to a list and to subtract from it, and the entries that the lease owns until both are done."""

    append: Sequence[str]
    subtract: Sequence[str]
    owned: Sequence[str]


def change_list(
    value: str | None, lease: Lease | None, desired: str, subtracted: Collection[str]
) -> ListChange:
    """How a list whose entries are changed one by one gets to the desired ones.

    Entries that are set and not owned do their work, and stay when the lease ends. Entries that are owned and not
    desired are subtracted whatever the value shows, since a read may be older than the append. Only those whose
    subtraction was acknowledged (`subtracted`), and that the value does not show, are not owned any more.
    """
    there, wanted = set(list_items(value)), list_items(desired)
    append = [] if EVERY_REPLICA in there else [entry for entry in wanted if entry not in there]
    keep = set(wanted)
    owned = [entry for entry in owned_by(lease) if entry in keep or entry in there or entry not in subtracted]
    subtract = [entry for entry in owned if entry not in keep]
    return ListChange(append, subtract, list(dict.fromkeys([*owned, *append])))
