"""The table of routes, from which both the routes and the OpenAPI document are made."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from server.api.call import Handle


class Parameter(NamedTuple):
    """A query parameter; `kind` is "integer" or "boolean". None as default means that it is not there."""

    name: str
    kind: str
    default: Any
    doc: str
    low: int = 0
    high: int = 2**31 - 1


class Endpoint(NamedTuple):
    """A method on a path. `takes` and `gives` name components of `server.api.schemas`; `takes` is the body."""

    method: str
    path: str
    summary: str
    handle: Handle
    gives: str
    takes: str | None = None
    query: Sequence[Parameter] = ()
    status: int = 200
    lines: bool = False
    """The answer is one JSON object a line."""


OFFSET = Parameter("offset", "integer", 0, "How many to leave out.")
LIMIT = Parameter("limit", "integer", 100, "How many to list at most.", 0, 10_000)
