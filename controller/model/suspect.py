"""A row of an earlier active instance that the upstream may still execute."""

from typing import NamedTuple

from controller.model.names import Replicas


class Suspect(NamedTuple):
    """The row of a step that was being requested, or of its cancel, when the term of the earlier instance ended."""

    row: Replicas | None
    """The replicas that the row requests; None for a cancel."""
    claimed_ms: int
    """When this instance became the active one."""
    repeats: int = 0
    """How often the own row was sent again because this one had arrived late."""
