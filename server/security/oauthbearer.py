"""SASL OAUTHBEARER, the server's side (RFC 7628, KIP-255; Kafka: OAuthBearerSaslServer).

A token that is not valid is answered with a JSON document, not with an error. The client confirms it with one
byte, and gets the same document as the message of the error then.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from server.security.mechanisms import InvalidTokenError, RefusedError

OAUTHBEARER = "OAUTHBEARER"

CONFIRMATION = b"\x01"

LARGEST = 64 * 1024
"""Bytes of a message at most. A token is checked on the event loop, before the client is known."""

_NAME = r"(?:[^=,\x00\x80-\U0010ffff]|=2C|=3D)+"
_PAIRS = r"(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*"
_FIRST = re.compile(rf"n,(?:a=(?P<authorized>{_NAME}))?,\x01(?P<pairs>{_PAIRS})\x01")
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")


class BearerToken(NamedTuple):
    """A valid token: its principal, and its expiry in milliseconds since the epoch."""

    principal: str
    expires_ms: int


class TokenRefusedError(Exception):
    """The token is not valid. `scope` are the required scopes if the token lacks one, as the client gets them."""

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.scope = scope


Validate = Callable[[str], BearerToken]
"""Returns the token of a compact serialization. Raises TokenRefusedError."""


def principal_in(claims: Mapping[str, Any], name: str) -> str:
    """Return the principal in the claim of this name. Raises TokenRefusedError."""
    principal = claims.get(name)
    if not isinstance(principal, str) or not principal.strip():
        raise TokenRefusedError(f"there is no text in the claim {name}")
    try:
        principal.encode()
    except UnicodeEncodeError as error:
        # JSON can have half of a surrogate pair. Neither records nor the audit log could keep such a name.
        raise TokenRefusedError(f"the claim {name} is no text in UTF-8") from error
    return principal


class BearerExchange:
    """Implements `server.security.mechanisms.Exchange`."""

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._error: str | None = None
        self.user: str | None = None
        self.expires_ms: int | None = None

    def evaluate(self, token: bytes) -> bytes:
        if self._error is not None and token == CONFIRMATION:
            raise RefusedError(self._error)
        self._error = None
        if len(token) > LARGEST:
            raise InvalidTokenError(
                f"an OAUTHBEARER message of {len(token)} bytes, where {LARGEST} are allowed"
            )
        authorized, value = parsed(token)
        try:
            valid = self._validate(value)
        except TokenRefusedError as error:
            self._error = error_document(error.scope)
            return self._error.encode()
        if authorized and authorized != valid.principal:
            raise RefusedError(
                f"Authentication failed: Client requested an authorization id ({authorized}) that is different"
                f" from the token's principal name ({valid.principal})"
            )
        self.user, self.expires_ms = valid
        return b""


def error_document(scope: str | None) -> str:
    """Return the document for an invalid token; byte for byte that of Kafka, which clients show."""
    if scope is None:
        return '{"status":"invalid_token"}'
    return f'{{"status":"insufficient_scope", "scope":"{scope}"}}'


def parsed(token: bytes) -> tuple[str, str]:
    """Return the authorization id, which may be empty, and the bearer token of a message. Raises InvalidTokenError.

    As in Kafka, the last of several bearer tokens counts, and an authorization id has no escapes.
    """
    first = _FIRST.fullmatch(token.decode(errors="replace"))
    if first is None:
        raise InvalidTokenError("an invalid first OAUTHBEARER message")
    pairs = dict(pair.split("=", 1) for pair in first["pairs"].split("\x01") if pair)
    match = _AUTH.fullmatch(pairs.get("auth", ""))
    if match is None or match["scheme"].lower() != "bearer":
        raise InvalidTokenError("an OAUTHBEARER message without a bearer token")
    return first["authorized"] or "", match["token"]
