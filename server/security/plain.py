"""SASL PLAIN: user name and password in one token (RFC 4616; Kafka: PlainSaslServer)."""

import hmac
from collections.abc import Callable, Mapping

from server.security.mechanisms import OTHER_AUTHORIZATION_ID, RefusedError

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
            # Kafka stops counting at the fourth.
            count = min(len(parts), 4)
            raise RefusedError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {count}")
        authorization_id, user, password = parts
        for name, value in (("username", user), ("password", password)):
            if not value:
                raise RefusedError(f"Authentication failed: {name} not specified")
        # Unknown users are compared too, so that the time does not tell whether a user exists.
        known = self._passwords().get(user, "")
        if not hmac.compare_digest(known.encode(), password.encode()) or not known:
            raise RefusedError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", user):
            raise RefusedError(OTHER_AUTHORIZATION_ID)
        self.user = user
        return b""
