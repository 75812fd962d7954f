"""The form of an endpoint. The table of endpoints makes the routes, the OpenAPI document and docs/api.md."""

from typing import NamedTuple

from msgspec import Struct

from server.api.call import Handler
from server.api.roles import Role


class Endpoint(NamedTuple):
    """A method on a path.

    `gives` and `takes` are models (`server.api.models`): `takes` is the request's body, and `gives` the answer. The
    fields of `query` are the query parameters.
    """

    method: str
    path: str
    summary: str
    handle: Handler
    gives: object
    takes: object = None
    query: type[Struct] | None = None
    status: int = 200
    lines: bool = False
    """The answer is one JSON object per line."""
    media_type: str = ""
    """That of an answer in another form than JSON."""
    shared: bool = False
    """The answer is the same for all clients, and one that accepts an older answer gets it (`KeptAnswers`)."""

    changes_nothing: bool = False
    """A POST that only computes an answer from its body."""

    @property
    def role(self) -> Role:
        """The least role that may use the endpoint."""
        return Role.VIEWER if self.method == "GET" or self.changes_nothing else Role.OPERATOR
