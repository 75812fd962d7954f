"""The client of a request that another instance passes on: its name and role, signed with the secret of the peers.

The other instance has authenticated the client, perhaps by a certificate or as a local user, which this instance
cannot see. The signature is over the method and the path, and is valid for a short time.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64Error
from collections.abc import Callable

import msgspec

from server.api.errors import HttpError
from server.api.roles import Identity, Role

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


class PeerIdentity:
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
