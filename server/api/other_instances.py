"""The other instances, for `/v1`: the port to them, and the client of a request that one of them passes on.

The other instance has authenticated the client, perhaps by a certificate or as a local user, which this
instance cannot see. It signs the client's name and role, with the method and the path, by the secret of the
instances. The signature is valid for a short time.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64Error
from collections.abc import Callable
from typing import Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from server.api.shared.errors import HttpError
from server.api.shared.roles import Identity, Role


class OtherInstances(Protocol):
    """The other instances; see `server.api.proxy.ActiveProxy`."""

    def client_of(self, request: Request, /) -> Identity | None:
        """Return the client of a request that was passed on; None for other requests. Raises HttpError."""
        ...

    async def may_answer(self) -> bool:
        """Return whether this instance is active, after its lease was renewed if it has lapsed."""
        ...

    async def answer(
        self, request: Request, identity: Identity, refusal: Callable[[], str] = str, /
    ) -> Response:
        """Return the answer of the active instance. Raises HttpError.

        `refusal` is called while the answer lasts. Its text, if it is not empty, ends the answer.
        """
        ...


HEADER = "reassignd-peer"
"""Header of requests that were passed on. They are not passed on again."""

VALID_MS = 30_000
"""How far the clocks of two instances may differ, with the time on the way."""

_LABEL = b"reassignd http identity"


class _Claims(msgspec.Struct, frozen=True):
    principal: str
    role: str
    instance: str
    time_ms: int


class IdentitySigner:
    """Signs and verifies. `clock` returns milliseconds since 1970."""

    def __init__(self, instance: str, secret: bytes, clock: Callable[[], int]) -> None:
        self._instance, self._clock = instance, clock
        self._key = hmac.digest(secret, _LABEL, "sha256")

    def sign(self, identity: Identity, method: str, target: str) -> str:
        """Return the value of the header for a request; `target` is its path with the query."""
        claims = _Claims(identity.principal, identity.role.label, self._instance, self._clock())
        text = msgspec.json.encode(claims)
        return f"{urlsafe_b64encode(text).decode()}.{self._mac(text, method, target)}"

    def verify(self, value: str, method: str, target: str) -> Identity:
        """Return the client of a request. Raises HttpError."""
        encoded, _, mac = value.partition(".")
        try:
            text = urlsafe_b64decode(encoded.encode())
        except (NotBase64Error, ValueError):
            text = b""
        if not hmac.compare_digest(mac.encode(), self._mac(text, method, target).encode()):
            raise HttpError(
                403, f"not allowed: the header {HEADER} was not signed with the secret of this instance"
            )
        claims = msgspec.json.decode(text, type=_Claims)
        late = abs(self._clock() - claims.time_ms)
        if late > VALID_MS:
            raise HttpError(
                403, f"not allowed: the clocks of this instance and {claims.instance} differ by {late} ms"
            )
        return Identity(claims.principal, Role[claims.role.upper()], claims.instance)

    def _mac(self, text: bytes, method: str, target: str) -> str:
        signed = b"\0".join((text, method.encode(), target.encode()))
        return hmac.digest(self._key, signed, "sha256").hex()
