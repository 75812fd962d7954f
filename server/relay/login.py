"""The user of a SASL login, read from the client's messages as Kafka's brokers read it.

A message tells what the client claims; only the broker knows whether it is true. So each message is judged
together with the broker's answer to it, in the order of the answers: the user is the one in the message that
the broker has confirmed. Every mechanism says which one that is (Kafka: the SaslServer of the mechanism).
"""

import json
from base64 import urlsafe_b64decode

from protocol.scram import SCRAM_MECHANISMS
from server.security.mechanisms import (
    OAUTHBEARER,
    PLAIN,
    InvalidTokenError,
    by_delegation_token,
    parse_bearer,
    parse_scram,
    unescaped,
)

LONGEST_NAME = 1000
"""Characters of the longest user name that is recorded."""

SCRAM_VERIFIER = b"v="
"""Start of a SCRAM server's last message (RFC 5802). The last message of the other mechanisms is empty."""


class Login:
    """One login, from the broker's answer to its handshake on."""

    def __init__(self, mechanism: str) -> None:
        self.mechanism = mechanism
        self._announced: str | None = None
        """SCRAM: the user in the first message, which the broker has accepted; the second one proves it."""

    def confirmed(self, message: bytes, answer: bytes) -> str | None:
        """Return the user once the broker's answer ends the login, "" if the user is unknown; None before.

        The answer has no error.
        """
        if self.mechanism in SCRAM_MECHANISMS:
            if answer.startswith(SCRAM_VERIFIER):
                return self._announced or ""
            self._announced = user_of(self.mechanism, message)
            return None
        # OAUTHBEARER answers a wrong token with a text and accepts another one, with another name.
        return None if answer else user_of(self.mechanism, message)


def user_of(mechanism: str, message: bytes) -> str:
    """Return the user in the message that names it; empty if unknown, too long or not printable.

    The name in GSSAPI is encrypted.
    """
    name = ""
    if mechanism in SCRAM_MECHANISMS:
        name = _scram(message)
    elif mechanism == PLAIN:
        name = _plain(message)
    elif mechanism == OAUTHBEARER:
        name = _bearer(message)
    return name if name.isprintable() and len(name) <= LONGEST_NAME else ""


def _plain(message: bytes) -> str:
    """RFC 4616: authorization id, user, password, separated by NUL."""
    parts = message.split(b"\0")
    return parts[1].decode(errors="replace") if len(parts) == 3 else ""


def _scram(message: bytes) -> str:
    """Return the user; empty with a delegation token, whose owner only the broker knows."""
    first = parse_scram(message)
    return "" if first is None or by_delegation_token(first) else unescaped(first["user"])


def _bearer(message: bytes) -> str:
    """Return the token's subject or the authorization id, which Kafka requires to be equal; else "".

    The token may be one that only the broker can read.
    """
    try:
        authorized, token = parse_bearer(message)
    except InvalidTokenError:
        return ""
    subject = _subject(token)
    return subject or authorized if not (subject and authorized) or subject == authorized else ""


def _subject(token: str) -> str:
    """Return the subject of a JSON Web Token (RFC 7519); the broker verifies it before it is used."""
    _, _, rest = token.partition(".")
    claims, _, _ = rest.partition(".")
    try:
        text = urlsafe_b64decode(claims + "=" * (-len(claims) % 4)).decode()
        # Kafka ignores what follows the object.
        subject = json.JSONDecoder().raw_decode(text.lstrip())[0].get("sub")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return subject if isinstance(subject, str) else ""
