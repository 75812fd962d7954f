"""SASL mechanisms, the server's side.

The module has what a login asks of a mechanism, PLAIN and OAUTHBEARER, and the messages of SCRAM.

PLAIN: RFC 4616; Kafka: PlainSaslServer. OAUTHBEARER: RFC 7628, KIP-255; Kafka: OAuthBearerSaslServer. SCRAM
is in `server.security.scram`, which imports scramp; a relay reads its first message without that.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol


class RefusedError(Exception):
    """The login is refused with this message, which the client gets (Kafka: SaslAuthenticationException)."""


class InvalidTokenError(Exception):
    """The login is refused. The client does not get the message, only that its credentials are invalid.

    So it does not learn whether a user exists (Kafka: SaslException).
    """


class Exchange(Protocol):
    """The server's side of one login."""

    @property
    def user(self) -> str | None:
        """The name of the user when the login is complete, else None."""
        ...

    @property
    def expires_ms(self) -> int | None:
        """When the credentials expire, in milliseconds since the epoch.

        It is None if they do not expire, or if that is not known yet.
        """
        ...

    def evaluate(self, token: bytes, /) -> bytes:
        """Take the client's next token; return the answer. Raises RefusedError or InvalidTokenError."""
        ...


NewExchange = Callable[[], Exchange]
"""Begins a login with one mechanism."""

_NAME = r"(?:[^=,\x00\x80-\U0010ffff]|=2C|=3D)+"
"""A user name in a message of OAUTHBEARER or SCRAM."""

OTHER_AUTHORIZATION_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


PLAIN = "PLAIN"

Passwords = Callable[[], Mapping[str, str]]
"""Returns the current passwords by user."""


class PlainExchange:
    """Implements `Exchange`."""

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


OAUTHBEARER = "OAUTHBEARER"

CONFIRMATION = b"\x01"

LARGEST_TOKEN = 64 * 1024
"""Bytes of a message at most. A token is checked on the event loop, before the client is known."""

_PAIRS = r"(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*"
_BEARER = re.compile(rf"n,(?:a=(?P<authorized>{_NAME}))?,\x01(?P<pairs>{_PAIRS})\x01")
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")


class BearerToken(NamedTuple):
    """A valid token: its principal, and its expiry in milliseconds since the epoch."""

    principal: str
    expires_ms: int


class TokenRefusedError(Exception):
    """The token is not valid.

    `scope` are the required scopes if the token lacks one, as the client gets them.
    """

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
    """Implements `Exchange`.

    A token that is not valid is answered with a JSON document, not with an error. The client confirms it with
    one byte, and gets the same document as the message of the error then.
    """

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._error: str | None = None
        self.user: str | None = None
        self.expires_ms: int | None = None

    def evaluate(self, token: bytes) -> bytes:
        if self._error is not None and token == CONFIRMATION:
            raise RefusedError(self._error)
        self._error = None
        if len(token) > LARGEST_TOKEN:
            raise InvalidTokenError(
                f"an OAUTHBEARER message of {len(token)} bytes, where {LARGEST_TOKEN} are allowed"
            )
        authorized, value = parse_bearer(token)
        try:
            valid = self._validate(value)
        except TokenRefusedError as error:
            self._error = error_document(error.scope)
            return self._error.encode()
        if authorized and authorized != valid.principal:
            raise RefusedError(
                f"Authentication failed: Client requested an authorization id ({authorized}) that is"
                f" different from the token's principal name ({valid.principal})"
            )
        self.user, self.expires_ms = valid
        return b""


def error_document(scope: str | None) -> str:
    """Return the document for an invalid token; byte for byte that of Kafka, which clients show."""
    if scope is None:
        return '{"status":"invalid_token"}'
    return f'{{"status":"insufficient_scope", "scope":"{scope}"}}'


def parse_bearer(token: bytes) -> tuple[str, str]:
    """Return the authorization id, which may be empty, and the bearer token of a message.

    Raises InvalidTokenError.

    As in Kafka, the last of several bearer tokens counts, and an authorization id has no escapes.
    """
    first = _BEARER.fullmatch(token.decode(errors="replace"))
    if first is None:
        raise InvalidTokenError("an invalid first OAUTHBEARER message")
    pairs = dict(pair.split("=", 1) for pair in first["pairs"].split("\x01") if pair)
    match = _AUTH.fullmatch(pairs.get("auth", ""))
    if match is None or match["scheme"].lower() != "bearer":
        raise InvalidTokenError("an OAUTHBEARER message without a bearer token")
    return first["authorized"] or "", match["token"]


_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_SCRAM = re.compile(
    rf"n,(?:a=(?P<authorized>{_NAME}))?,"
    rf"(?P<bare>(?:m={_VALUE},)?n=(?P<user>{_NAME}),r={_NONCE}(?P<extensions>(?:,[A-Za-z]+={_VALUE})*))"
)


def parse_scram(token: bytes) -> re.Match[str] | None:
    """Return the parts of a SCRAM client's first message, of which both sides sign `bare`.

    The result is None if it is not valid.
    """
    return _SCRAM.fullmatch(token.decode(errors="replace"))


def by_delegation_token(first: re.Match[str]) -> bool:
    """Return whether a first message has the id of a delegation token instead of a user (KIP-48).

    As in Kafka, the extension has this letter case only, and the last one counts.
    """
    extensions = dict(pair.split("=", 1) for pair in first["extensions"].split(",")[1:])
    return extensions.get("tokenauth", "").lower() == "true"


def unescaped(name: str) -> str:
    """Return a name of a message without its escapes."""
    return name.replace("=2C", ",").replace("=3D", "=")
