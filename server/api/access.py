"""Who may use the API: a user of this machine who may, or whoever shows a token or a client certificate.

That no web page reaches it by way of somebody's browser is seen to before (`server.http.same_site`).
"""

import hmac
from collections.abc import Collection, Iterable

from starlette.requests import Request

from server.api.errors import HttpError
from server.http.connection import KEY, HttpConnection
from server.http.server import distinguished_name


class Access:
    """What a request must show: `token` or one of `certificates`, either is enough.

    Without both, its sender must be one of `users`, by their ids on this machine. None: whoever can connect may.
    """

    def __init__(
        self, token: str | None = None, *, certificates: bool = False, users: Collection[int] | None = None
    ) -> None:
        self._token = None if token is None else token.encode()
        self._certificates = certificates
        self.users = users
        """Who may without showing anything; None: whoever can connect."""

    def principal(self, request: Request) -> str:
        """Who asks, as a job remembers it. Raises ApiError."""
        connection: HttpConnection | None = request.scope.get("state", {}).get(KEY)
        if self._certificates and connection is not None and connection.certificate:
            name = distinguished_name(connection.certificate)
            if name:
                return f"User:{name}"
        if self._token is not None:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token):
                return "User:token"
        if self._token is not None or self._certificates:
            raise HttpError(401, f"not allowed: show {' or '.join(self._ways())}")
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

    def _ways(self) -> Iterable[str]:
        if self._token is not None:
            yield "the token of http.token.file (authorization: Bearer ...)"
        if self._certificates:
            yield "a client certificate"
