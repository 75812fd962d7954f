"""Who may use the API: whoever can reach it on this machine, or shows a token or a client certificate.

`/v1` acts with reassignd's own rights, so a web page must not be able to reach it by way of someone's browser: what
another site sends (Origin) and names that merely resolve to this machine (Host) are refused.
"""

import hmac
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from server.api.errors import ApiError
from server.http import PEER


class Access:
    """What a request must show. `token` and `certificates`: either is enough. Neither: the peer must be local."""

    def __init__(self, token: str | None = None, *, certificates: bool = False, local: bool = True) -> None:
        self._token = None if token is None else token.encode()
        self._certificates = certificates
        self._local = local

    def principal(self, request: Request) -> str:
        """Who asks, as a job remembers it. Raises ApiError."""
        _check_origin(request)
        if self._certificates:
            name: str = request.scope.get("extensions", {}).get(PEER, "")
            if name:
                return f"User:{name}"
        if self._token is not None:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token):
                return "User:token"
        if self._token is not None or self._certificates:
            raise ApiError(401, f"not allowed: show {' or '.join(self._ways())}")
        if self._local and not is_local(request.url.hostname or ""):
            raise ApiError(
                403, f"not allowed for the host {request.url.hostname!r}: use 127.0.0.1 or localhost"
            )
        return "User:local"

    def _ways(self) -> Iterable[str]:
        if self._token is not None:
            yield "the token of http.token.file (authorization: Bearer ...)"
        if self._certificates:
            yield "a client certificate"


def _check_origin(request: Request) -> None:
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise ApiError(403, f"not allowed from a page of {origin[:80]}")


def is_local(host: str) -> bool:
    """The name or address leads to this machine and no other."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
