"""Who may use Cruise Control's API: its own users by Basic authentication, and the clients of `/v1`.

The roles are Cruise Control's. A VIEWER sees the cluster, its tasks and the reviews; a USER all GET requests
but two that start something; an ADMIN may do everything.
"""

import hmac
from base64 import b64decode
from binascii import Error as NotBase64Error
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

from starlette.requests import Request

from server.api.access import Access, role_error
from server.api.shared.errors import HttpError
from server.api.shared.roles import Identity, Role


class ClientRole(IntEnum):
    """What a client may do. A role includes the roles before it."""

    VIEWER = 1
    USER = 2
    ADMIN = 3


class User(NamedTuple):
    """A user of the file `cruisecontrol.users.file`."""

    name: str
    password: bytes
    role: ClientRole

    @property
    def identity(self) -> Identity:
        """Its name and role in the rest of the server."""
        return Identity(f"User:{self.name}", identity_role(self.role))


class Client(NamedTuple):
    """A client: its name for the records, and its role here."""

    identity: Identity
    role: ClientRole


Users = Callable[[], Sequence[User]]
"""Returns the users at this moment. Called for each request: it must be fast."""


class CruiseControlAccess:
    """Authenticates requests. Without `users` the clients of `/v1` are those of this API."""

    def __init__(self, access: Access, users: Users | None = None) -> None:
        self._access, self._users = access, users

    def client(self, request: Request) -> Client:
        """Return the client. Raises HttpError."""
        if self._users is not None:
            scheme, _, value = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "basic":
                return _by_password(self._users(), value)
            if not self._access.takes_credentials:
                raise HttpError(401, "not allowed: show a user of cruisecontrol.users.file (Basic)")
        return client_of(self._access.identity(request))

    def passed_on(self, identity: Identity) -> Client:
        """Return the client that another instance has authenticated, with its role in the file of users."""
        users = () if self._users is None else self._users()
        roles = [user.role for user in users if user.identity.principal == identity.principal]
        client = client_of(identity)
        return client._replace(role=min([client.role, *roles]))


def client_of(identity: Identity) -> Client:
    """Return the client of `/v1` with the role that it has here."""
    return Client(identity, ClientRole.ADMIN if identity.role is Role.OPERATOR else ClientRole.USER)


def identity_role(role: ClientRole) -> Role:
    """Return the role in the rest of the server."""
    return Role.OPERATOR if role is ClientRole.ADMIN else Role.VIEWER


def require_role(client: Client, needed: ClientRole, what: str) -> None:
    """Raise HttpError if the client's role does not permit `what`, such as `POST /rebalance`."""
    if client.role < needed:
        raise role_error(client.identity.principal, client.role.name, what, needed.name)


def _by_password(users: Sequence[User], encoded: str) -> Client:
    try:
        name, _, password = b64decode(encoded.strip(), validate=True).partition(b":")
    except (NotBase64Error, ValueError):
        name, password = b"", b""
    found: User | None = None
    # All users are compared, so that the time does not depend on which one is shown.
    for user in users:
        same_name = hmac.compare_digest(user.name.encode(), name)
        if hmac.compare_digest(user.password, password) and same_name:
            found = user
    if found is None:
        raise HttpError(401, "not allowed: no such user, or another password")
    return Client(found.identity, found.role)
