"""Events of held requests of Cruise Control's API. A reply that is a text says why nothing was changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from controller.messages.event import Event, Requester
from controller.model.held_requests import HeldRequest


@dataclass(frozen=True, slots=True)
class Hold(Event[HeldRequest]):
    """Keep a request until it is approved. It gets its id and its time; the reply has them."""

    request: HeldRequest
    requester: Requester


@dataclass(frozen=True, slots=True)
class DecideHeld(Event[str]):
    """Approve some held requests and discard others: all of them, or none."""

    approved: Sequence[int]
    discarded: Sequence[int]
    reason: str
    requester: Requester


@dataclass(frozen=True, slots=True)
class SubmitHeld(Event[HeldRequest | str]):
    """The requester carries out its request that was approved, once."""

    id: int
    endpoint: str
    requester: Requester
