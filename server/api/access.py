"""Authentication for the API: by the local user of the connection, by a token, or by a client certificate.

Requests that a browser sends for other sites are refused before (`server.http.refusals`).
"""

import hmac
import pwd
from collections.abc import Collection, Iterable
from functools import lru_cache

from starlette.requests import Request

from server.api.shared.errors import HttpError
from server.api.shared.roles import CurrentGrants, Granted, Grants, Identity, Role
from server.http.connection import KEY, HttpConnection
from server.security.subjects import distinguished_name

UNKNOWN_USER = "Local:unknown"
"""The principal of a client on this machine whose user is not known."""


class Access:
    """What a request needs: a token or a client certificate, where one of these is configured.

    Otherwise the client must run as one of `users` (user ids of this machine); None permits every client.
    Local users have the role operator.
    """

    def __init__(
        self,
        grants: CurrentGrants | None = None,
        *,
        certificates: bool = False,
        users: Collection[int] | None = None,
    ) -> None:
        self._grants = grants
        self._certificates = certificates
        self.users = users

    @property
    def takes_credentials(self) -> bool:
        """Whether clients show a token or a certificate, instead of being local users."""
        return self._grants is not None or self._certificates

    def identity(self, request: Request) -> Identity:
        """Return the client's principal and role. Raises HttpError."""
        connection: HttpConnection | None = request.scope.get("state", {}).get(KEY)
        if not self.takes_credentials:
            return self._local(connection)
        grants = Grants() if self._grants is None else self._grants()
        subject = self._subject(connection)
        found = _by_certificate(grants, subject) or _by_token(grants, request)
        if found is not None:
            return found
        if subject:
            raise HttpError(
                403, f"not allowed: http.access.file has no line for the certificate {subject[:200]}"
            )
        raise HttpError(401, f"not allowed: show {' or '.join(self._credentials())}")

    def granted(self) -> Granted:
        """Return who may use the API now."""
        if not self.takes_credentials:
            if self.users is None:
                return Granted("all users of this machine")
            return Granted(f"of this machine: {', '.join(sorted(map(_user_name, self.users)))}")
        grants = Grants() if self._grants is None else self._grants()
        by_certificate = (grants.certificates or {}).values() if self._certificates else ()
        return Granted(
            "",
            [
                *((identity, "token") for _, identity in grants.tokens),
                *((identity, "certificate") for identity in by_certificate),
            ],
            self._certificates and grants.certificates is None,
        )

    def _subject(self, connection: HttpConnection | None) -> str:
        """Return the subject of the client's certificate; empty without one."""
        if not self._certificates or connection is None or not connection.certificate:
            return ""
        return distinguished_name(connection.certificate)

    def _local(self, connection: HttpConnection | None) -> Identity:
        user = None if connection is None else connection.user()
        if self.users is not None and user not in self.users:
            raise HttpError(
                403,
                f"not allowed for {'an unknown user' if user is None else f'user {user}'} of this "
                "machine: /v1 is open to the "
                "user that runs reassignd, and to root (use sudo); for others set http.access.file",
            )
        return Identity(UNKNOWN_USER if user is None else f"Local:{_user_name(user)}", Role.OPERATOR)

    def _credentials(self) -> Iterable[str]:
        if self._grants is not None:
            yield "a token (authorization: Bearer ..., or --token-file of the commands)"
        if self._certificates:
            yield "a client certificate"


def require_role(identity: Identity, needed: Role, what: str) -> None:
    """Raise HttpError if the client's role does not permit `what`, such as `POST /v1/pause`."""
    if identity.role < needed:
        raise role_error(identity.principal, identity.role.label, what, needed.label)


def role_error(principal: str, role: str, what: str, needed: str) -> HttpError:
    """Return the error of a client whose role does not permit `what`."""
    return HttpError(
        403, f"not allowed for {principal}, which has the role {role}: {what} needs the role {needed}"
    )


def _by_certificate(grants: Grants, subject: str) -> Identity | None:
    if not subject:
        return None
    if grants.certificates is None:
        return Identity(f"User:{subject}", Role.OPERATOR)
    return grants.certificates.get(subject)


def _by_token(grants: Grants, request: Request) -> Identity | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    shown = token.strip().encode()
    found = None
    # All tokens are compared, so that the time does not depend on which one is shown.
    for known, identity in grants.tokens:
        if hmac.compare_digest(shown, known):
            found = identity
    return found


@lru_cache(maxsize=256)
def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
