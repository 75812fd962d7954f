"""Authentication for the API: by the local user of the connection, by a token, or by a client certificate.

Requests that a browser sends for other sites are refused before (`server.http.same_site`).
"""

import hmac
from collections.abc import Collection, Iterable

from starlette.requests import Request

from server.api.errors import HttpError
from server.http.connection import KEY, HttpConnection
from server.http.server import distinguished_name


class Access:
    """What a request needs: the token or a client certificate, where one of these is configured.

    Otherwise the client must run as one of `users` (user ids of this machine); None permits every client.
    """

    def __init__(
        self, token: str | None = None, *, certificates: bool = False, users: Collection[int] | None = None
    ) -> None:
        self._token = None if token is None else token.encode()
        self._certificates = certificates
        self.users = users

    def principal(self, request: Request) -> str:
        """Return the client's name, which jobs record. Raises HttpError."""
        connection: HttpConnection | None = request.scope.get("state", {}).get(KEY)
        if self._certificates and connection is not None and connection.certificate:
            name = distinguished_name(connection.certificate)
            if name:
                return f"User:{name}"
        if self._token is not None:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token):
                return "User:token"
        if self._token is not None or self._certificates:
            raise HttpError(401, f"not allowed: show {' or '.join(self._credentials())}")
        if self.users is not None:
            self._check_user(connection)
        return "User:local"

    def _check_user(self, connection: HttpConnection | None) -> None:
        user = None if connection is None else connection.user()
        if user is None or user not in (self.users or ()):
            raise HttpError(
                403,
                f"not allowed for {'an unknown user' if user is None else f'user {user}'} of this machine: /v1 is open to the "
                "user that runs reassignd, and to root; for others set http.token.file",
            )

    def _credentials(self) -> Iterable[str]:
        if self._token is not None:
            yield "the token of http.token.file (authorization: Bearer ...)"
        if self._certificates:
            yield "a client certificate"
