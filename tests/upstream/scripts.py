"""Reassignment scripts: what a partition is ordered while brokers are online, offline, returning or lagging.

Each script has one partition, and all scripts run at the same time: brokers 4 and 5 go offline and return for
all of them. Broker 6 receives no data before the last pause, so that moves to it stay in flight.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from controller.model.cluster import Replicas

DEAD, FENCED, LAGGING = 4, 5, 6
"""The broker that is killed and starts again, the one that is stopped without closing its connections, and
the one that receives no data."""

Order = Replicas | None
"""A target; None cancels."""


class Pause(StrEnum):
    """A moment at which the clusters are compared. Its orders are sent before."""

    ONLINE = "online"
    OFFLINE = "offline"
    """DEAD and FENCED are offline."""
    RETURNED = "returned"
    """They are online again and in sync."""
    CAUGHT_UP = "caught up"
    """LAGGING receives data."""


class Unlike(NamedTuple):
    """A deliberate difference from Kafka at some pauses. The reason is a sentence of docs/differences.md."""

    reason: str
    kafka: str
    here: str
    pauses: tuple[Pause, ...] = (Pause.OFFLINE,)
    releases: tuple[str, ...] = ("4.1", "4.3")


NOT_STARTED = "A step that could not complete does not start."
PARTLY = "Replicas with an online target move at once; the others wait."
ORIGINAL_ORDER = "A cancel restores the order."
STAYING = "Kafka 4.1 also waits for a replica that stays and is offline, if the list does not become shorter."
FROM_ORIGINAL = "A new target is reached from the original list."
STUCK = "Kafka 4.3 never completes a move whose new target lacks a replica that it was adding."
NO_ELR = "An ISR has at least one member."

AFTERWARDS = (Pause.OFFLINE, Pause.RETURNED, Pause.CAUGHT_UP)
BEFORE_DATA = (Pause.OFFLINE, Pause.RETURNED)
LAST = (Pause.CAUGHT_UP,)


class Script(NamedTuple):
    """The replicas before, the orders by pause, and how Kafka differs."""

    before: Replicas
    orders: Mapping[Pause, tuple[Order, ...]]
    unlike: tuple[Unlike, ...] = ()


def online(*orders: Order) -> dict[Pause, tuple[Order, ...]]:
    """Orders while all brokers are online."""
    return {Pause.ONLINE: orders}


def offline(*orders: Order) -> dict[Pause, tuple[Order, ...]]:
    """Orders while two brokers are offline."""
    return {Pause.OFFLINE: orders}


def returned(*orders: Order) -> dict[Pause, tuple[Order, ...]]:
    """Orders when they have returned."""
    return {Pause.RETURNED: orders}


SCRIPTS = {
    # All brokers are online.
    "grow": Script((1, 2), online((1, 2, 3))),
    "shrink": Script((1, 2, 3), online((1, 2))),
    "shrink to a follower": Script((1, 2, 3), online((3,))),
    "reorder": Script((1, 2, 3), online((3, 1, 2))),
    "same list": Script((1, 2), online((1, 2))),
    "swap a follower": Script((1, 2), online((1, 3))),
    "swap the leader": Script((1, 2), online((3, 2))),
    "move all replicas, twice": Script((1, 2), online((3, 5), (2, 1))),
    "unknown target": Script((1, 2), online((1, 9))),
    "nothing to cancel": Script((1, 2), online(None)),
    # The added replica lags.
    "grow to a broker that lags": Script((1, 2), online((1, 2, 6))),
    "move to a broker that lags": Script((1, 2), online((6, 2))),
    "shrink to a broker that lags": Script((1, 2, 3), online((6, 3))),
    "cancel a lagging move": Script((1, 2), online((6, 1)) | offline(None)),
    "cancel a lagging move that reorders": Script(
        (1, 2, 3),
        online((6, 3, 2)) | offline(None),
        (Unlike(ORIGINAL_ORDER, "3,2,1 isr 1,2,3", "1,2,3 isr 1,2,3", AFTERWARDS),),
    ),
    "override a lagging move": Script((1, 2), online((1, 6)) | offline((1, 3))),
    "override a lagging move by a shrink": Script(
        (1, 2, 3),
        online((1, 2, 6)) | offline((2, 3)),
        (
            Unlike(STUCK, "2,3 -1 -6 isr 1,2,3 listed 2,3 -1 -6 +6", "2,3 isr 2,3", BEFORE_DATA, ("4.3",)),
            Unlike(STUCK, "2,3 -1 -6 isr 1,2,3,6 listed 2,3 -1 -6 +6", "2,3 isr 2,3", LAST, ("4.3",)),
        ),
    ),
    "override a lagging move by the original": Script(
        (1, 2),
        online((6, 1)) | offline((1, 2)),
        (
            Unlike(STUCK, "1,2 -6 isr 1,2 listed 1,2 -6 +6", "1,2 isr 1,2", BEFORE_DATA, ("4.3",)),
            Unlike(STUCK, "1,2 -6 isr 1,2,6 listed 1,2 -6 +6", "1,2 isr 1,2", LAST, ("4.3",)),
        ),
    ),
    "override by another move that lags": Script(
        (1, 2),
        online((3, 6)) | offline((2, 6)),
        (
            Unlike(
                FROM_ORIGINAL,
                "2,6 -1 -3 isr 1,2,3 listed 2,6 -1 -3 +3 +6",
                "2,6 -1 isr 1,2 listed 2,6 -1 +6",
                (Pause.OFFLINE, Pause.RETURNED),
            ),
            Unlike(
                STUCK,
                "2,6 -1 -3 isr 1,2,3,6 listed 2,6 -1 -3 +3 +6",
                "2,6 isr 2,6",
                (Pause.CAUGHT_UP,),
                ("4.3",),
            ),
        ),
    ),
    # A replica that stays is offline.
    "grow with a dead replica": Script(
        (4, 1, 2),
        offline((4, 1, 2, 3)),
        (
            Unlike(
                STAYING,
                "4,1,2,3 isr 1,2,3 listed 4,1,2,3 +3",
                "4,1,2,3 isr 1,2,3",
                (Pause.OFFLINE,),
                ("4.1",),
            ),
        ),
    ),
    "swap with a dead replica": Script(
        (4, 1, 2),
        offline((4, 1, 3)),
        (
            Unlike(
                STAYING, "4,1,3 -2 isr 1,2,3 listed 4,1,3 -2 +3", "4,1,3 isr 1,3", (Pause.OFFLINE,), ("4.1",)
            ),
        ),
    ),
    "shrink to a dead replica": Script((4, 1, 2), offline((4, 2))),
    "shrink to a fenced replica": Script(
        (5, 1, 2),
        offline((1, 5)),
        (Unlike(NOT_STARTED, "1,5 -2 isr 1,2 listed 1,5 -2", "5,1 -2 isr 1,2 listed 1,5 -2"),),
    ),
    "shrink to one of two offline replicas": Script((4, 5, 1, 2), offline((4, 1))),
    "swap while the leader is fenced": Script(
        (5, 1, 2),
        offline((5, 1, 3)),
        (
            Unlike(
                STAYING, "5,1,3 -2 isr 1,2,3 listed 5,1,3 -2 +3", "5,1,3 isr 1,3", (Pause.OFFLINE,), ("4.1",)
            ),
        ),
    ),
    "reorder with a dead replica": Script((1, 2, 4), offline((4, 2, 1))),
    # A replica that leaves is offline.
    "drop a dead replica": Script((4, 1, 2), offline((1, 2))),
    "replace a dead replica": Script((4, 1, 2), offline((3, 1, 2))),
    "replace the fenced leader": Script((5, 1), offline((2, 1))),
    "replace the only replica": Script(
        (4,),
        offline((1,)),
        (Unlike(NO_ELR, "1 -4 isr  listed 1 -4 +1", "-4 isr 4 listed 1 -4 +1"),),
    ),
    # A replica that is added is offline.
    "move to a dead broker": Script(
        (1, 2),
        offline((1, 4)),
        (Unlike(NOT_STARTED, "1,4 -2 isr 1,2 listed 1,4 -2 +4", "1 -2 isr 1,2 listed 1,4 -2 +4"),),
    ),
    "grow to a fenced broker": Script(
        (1, 2),
        offline((1, 2, 5)),
        (Unlike(NOT_STARTED, "1,2,5 isr 1,2 listed 1,2,5 +5", "1,2 isr 1,2 listed 1,2,5 +5"),),
    ),
    "move to a live and a dead broker": Script(
        (1, 2),
        offline((3, 4)),
        (Unlike(PARTLY, "3,4 -1 -2 isr 1,2,3 listed 3,4 -1 -2 +3 +4", "3 -1 isr 1,3 listed 3,4 -1 +4"),),
    ),
    "shrink to a dead broker": Script(
        (1, 2, 3),
        offline((3, 4)),
        (
            Unlike(
                NOT_STARTED,
                "3,4 -1 -2 isr 1,2,3 listed 3,4 -1 -2 +4",
                "3 -1 -2 isr 1,2,3 listed 3,4 -1 -2 +4",
            ),
        ),
    ),
    "cancel a move to a dead broker": Script((1, 2), offline((1, 4), None)),
    # Brokers fail during the move and return.
    "an added replica dies": Script((1, 2), online((4, 6))),
    "the source dies": Script((4, 1), online((2, 6))),
    "cancel without an original in sync": Script((4, 5), online((1, 6)) | offline(None)),
    "cancel when the originals are back": Script((4, 5), online((1, 6)) | returned(None)),
}
