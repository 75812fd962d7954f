"""SASL PLAIN: user name and password in one token (RFC 4616; Kafka: PlainSaslServer)."""

import hmac
from collections.abc import Callable, Mapping

from server.security.mechanisms import OTHER_AUTHORIZATION_ID, InvalidTokenError, RefusedError

PLAIN = "PLAIN"

Passwords = Callable[[], Mapping[str, str]]
"""Returns the current passwords by user."""


class PlainExchange:
    """Implements `server.security.mechanisms.Exchange`."""

    expires_ms = None

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords
        self.user: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        parts = token.decode(errors="replace").split("\0")
        if len(parts) != 3:
            raise InvalidTokenError(f"a PLAIN token of {len(parts)} parts, where 3 are expected")
        authorization_id, user, password = parts
        if not user or not password:
            raise InvalidTokenError("a PLAIN token without a user name or password")
        # Unknown users are compared too, so that the time does not tell whether a user exists.
        known = self._passwords().get(user, "")
        if not hmac.compare_digest(known.encode(), password.encode()) or not known:
            raise RefusedError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", user):
            raise RefusedError(OTHER_AUTHORIZATION_ID)
        self.user = user
        return b""
