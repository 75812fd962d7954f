"""Rows of an earlier active instance that the upstream may still execute."""

from typing import NamedTuple

from controller.model.names import Replicas


class Suspect(NamedTuple):
    """The rows of a partition that were not answered when the term of the earlier instance ended."""

    rows: tuple[Replicas | None, ...]
    """The replicas that each row requests, the newest first; None for a cancel. Any of them may arrive: the row of a step,
    of the step that it replaces, and their cancel."""
    claimed_ms: int
    """When this instance became the active one."""
    repeats: int = 0
    """How often the own row was sent again because one of these had arrived late."""
