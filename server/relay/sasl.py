"""SaslHandshake (17) and SaslAuthenticate (36): the upstream authenticates. The gateway notes that it has, and as whom, for its jobs.

The name is in the first message after a handshake, in the form of the mechanism that the handshake chose. It counts when the
upstream says that this login succeeded; a refusal, another message and another handshake forget it. Before authentication
requests must be small.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable

from common.error_codes import ErrorCode
from protocol.frames import decode_request, parse_request
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from server.dispatch.authorizer import UNKNOWN
from server.relay.exchange import PASSED, Asked, Client, Exchange, Login, rewritten

LARGEST = 512 * 1024
"""Bytes of a request with a token (Kafka: sasl.server.max.receive.size)."""

LONGEST_NAME = 1000
"""Characters of a user's name."""

SCRAM_VERIFIER = b"v="
"""How the last message of a SCRAM server begins (RFC 5802); the other mechanisms end without a word."""

SCRAM_FIRST = re.compile(rb"[nyp][^,]*,(?:a=[^,]*)?,(?:m=[^,]*,)?n=(?P<user>[^,]*),r=")
"""How the first message of a SCRAM client begins."""

OF_A_TOKEN = b",tokenauth=true"
"""A delegation token (KIP-48) names itself, not its owner. In any case of letters."""

BEARER_FIRST = re.compile(rb"n,(?:a=(?P<authorized>[^,]*))?,\x01(?P<pairs>.*)", re.DOTALL)
"""The first message of OAUTHBEARER (RFC 7628)."""

BEARER = re.compile(rb"auth=(?i:bearer) +[\w-]+\.(?P<claims>[\w-]+)\.[\w-]*")
"""The token of OAUTHBEARER, where that is a JSON Web Token (RFC 7519): its claims are between the dots."""


def handshake(asked: Asked, client: Client) -> Exchange | int:
    """The rule of SaslHandshake."""
    if missing := asked.missing(LARGEST, "to authenticate"):
        return missing
    client.login = Login(decode_request(parse_request(bytes(asked.frame))).mechanism)
    return PASSED


def authenticate(asked: Asked, client: Client) -> Exchange | int:
    """The rule of SaslAuthenticate."""
    if missing := asked.missing(LARGEST, "to authenticate"):
        return missing
    token = decode_request(parse_request(bytes(asked.frame))).auth_bytes
    login = client.login or Login("")
    if not login.begun:
        login.begun, login.user = True, user_of(login.mechanism, token)

    def note(response: SaslAuthenticateResponse) -> SaslAuthenticateResponse:
        said = response.auth_bytes
        if response.error_code != ErrorCode.NONE:
            login.user = ""
        elif not said or said.startswith(SCRAM_VERIFIER):
            client.authenticated = True
            principal = f"User:{login.user}" if login.user else UNKNOWN
            client.caller = client.caller._replace(principal=principal)
            login.user = ""
        return response

    return Exchange(finish=rewritten(asked, note))


def user_of(mechanism: str, token: bytes) -> str:
    """Who the first message of a mechanism says that its client is; empty when that is not known, or no text to be shown."""
    read = READERS.get(mechanism)
    name = "" if read is None else read(token)
    return name if name.isprintable() and len(name) <= LONGEST_NAME else ""


def _plain(token: bytes) -> str:
    """RFC 4616: whom to act for, who, and the password."""
    parts = token.split(b"\0")
    return parts[1].decode(errors="replace") if len(parts) == 3 else ""


def _scram(token: bytes) -> str:
    found = SCRAM_FIRST.match(token)
    if found is None or OF_A_TOKEN in token.lower():
        return ""
    return _decoded(found["user"])


def _bearer(token: bytes) -> str:
    """Of the token, or whom it is to act for. Kafka wants both to be the same; where they are not, it is not known."""
    found = BEARER_FIRST.fullmatch(token)
    if found is None:
        return ""
    given = [pair for pair in found["pairs"].split(b"\x01") if pair.startswith(b"auth=")]
    if len(given) != 1:
        return ""  # which of them counts is the upstream's to know
    bearer = BEARER.fullmatch(given[0])
    subject = "" if bearer is None else _subject(bearer["claims"])
    authorized = _decoded(found["authorized"] or b"")
    return subject or authorized if not (subject and authorized) or subject == authorized else ""


READERS: dict[str, Callable[[bytes], str]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram,
    "SCRAM-SHA-512": _scram,
    "OAUTHBEARER": _bearer,
}
"""By mechanism: who its first message is from."""


def _decoded(name: bytes) -> str:
    return name.decode(errors="replace").replace("=2C", ",").replace("=3D", "=")


def _subject(claims: bytes) -> str:
    """Whom the token is of. The upstream checks that it is genuine before the name counts."""
    try:
        subject = json.loads(urlsafe_b64decode(claims + b"=" * (-len(claims) % 4))).get("sub")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return subject if isinstance(subject, str) else ""
