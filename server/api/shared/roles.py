"""Roles of the API's clients, and what the names and roles were granted for."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple


class Role(IntEnum):
    """What a client may do. A role includes the roles before it."""

    VIEWER = 1
    """Read."""
    OPERATOR = 2
    """Submit, change and cancel; everything that the API offers."""

    @property
    def label(self) -> str:
        """The name of the role in files, answers and messages."""
        return self.name.lower()


class Identity(NamedTuple):
    """A client: the principal that jobs and the audit log record, such as `User:ann`, and its role."""

    principal: str
    role: Role
    via: str = ""
    """Id of the instance that has passed the request on; empty if it arrived here."""


class Grants(NamedTuple):
    """The identities of clients that show credentials."""

    tokens: Sequence[tuple[bytes, Identity]] = ()
    """Bearer tokens."""
    certificates: Mapping[str, Identity] | None = None
    """By the subject of a client certificate, `CN=ann,O=Example`. None: every trusted certificate is an
    operator."""


class Granted(NamedTuple):
    """Who may use the API, without what they show."""

    users: str
    """The users of this machine who need nothing else, in words; empty if there are none."""
    grants: Sequence[tuple[Identity, str]] = ()
    """Identities, each with what it shows: `token` or `certificate`."""
    any_certificate: bool = False
    """Whoever has a certificate that the authority has signed is an operator."""


CurrentGrants = Callable[[], Grants]
"""Returns the grants at this moment. Called for each request: it must be fast."""
