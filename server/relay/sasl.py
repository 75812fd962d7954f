"""SaslHandshake (17), SaslAuthenticate (36): brokers authenticate clients; the relay records the user.

The name is in the first message after a handshake, in the format of the chosen mechanism. It is used, as the
owner of jobs, once the broker has confirmed the login. A refusal, a further message or another handshake
discards it. Requests before authentication are limited in size.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable

from common.error_codes import ErrorCode
from protocol.frames import decode_request, parse_request
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.scram import SCRAM_MECHANISMS
from server.dispatch.authorizer import UNKNOWN
from server.relay.exchange import PASSED, ClientIdentity, Exchange, IncomingRequest, Login, rewrite_answer

FRAMED_TOKENS = range(1, 2)
"""SaslHandshake versions. After version 0 the tokens are sent without request headers, which cannot be
relayed."""

LARGEST = 512 * 1024
"""Bytes of the largest request before authentication (Kafka: sasl.server.max.receive.size)."""

LONGEST_NAME = 1000
"""Characters of the longest user name that is recorded."""

SCRAM_VERIFIER = b"v="
"""Start of a SCRAM server's last message (RFC 5802). The last message of the other mechanisms is empty."""

SCRAM_FIRST = re.compile(rb"[nyp][^,]*,(?:a=[^,]*)?,(?:m=[^,]*,)?n=(?P<user>[^,]*),r=")
"""Start of a SCRAM client's first message."""

TOKEN_AUTHENTICATION = b",tokenauth=true"
"""Marks a delegation token (KIP-48), whose message has the token's id instead of its owner. Letter case is
ignored."""

BEARER_FIRST = re.compile(rb"n,(?:a=(?P<authorized>[^,]*))?,\x01(?P<pairs>.*)", re.DOTALL)
"""The first message of OAUTHBEARER (RFC 7628)."""

BEARER = re.compile(rb"auth=(?i:bearer) +[\w-]+\.(?P<claims>[\w-]+)\.[\w-]*")
"""The token of OAUTHBEARER, if it is a JSON Web Token (RFC 7519); the claims are between the dots."""


def handshake(incoming: IncomingRequest, client: ClientIdentity) -> Exchange | int:
    """Intercept SaslHandshake."""
    if missing := incoming.missing(LARGEST, "to authenticate"):
        return missing
    request = decode_request(parse_request(bytes(incoming.frame)), SaslHandshakeRequest)
    client.login = Login(request.mechanism)
    return PASSED


def authenticate(incoming: IncomingRequest, client: ClientIdentity) -> Exchange | int:
    """Intercept SaslAuthenticate."""
    if missing := incoming.missing(LARGEST, "to authenticate"):
        return missing
    token = decode_request(parse_request(bytes(incoming.frame)), SaslAuthenticateRequest).auth_bytes
    login = client.login or Login("")
    if not login.started:
        login.started, login.user = True, user_of(login.mechanism, token)

    def record(response: SaslAuthenticateResponse) -> SaslAuthenticateResponse:
        message = response.auth_bytes
        if response.error_code != ErrorCode.NONE:
            login.user = ""
        elif not message or message.startswith(SCRAM_VERIFIER):
            client.authenticated = True
            principal = f"User:{login.user}" if login.user else UNKNOWN
            client.caller = client.caller._replace(principal=principal)
            login.user = ""
        return response

    return Exchange(finish=rewrite_answer(incoming, SaslAuthenticateResponse, record))


def user_of(mechanism: str, token: bytes) -> str:
    """Return the user in a mechanism's first message; empty if unknown, too long or not printable."""
    read = READERS.get(mechanism)
    name = "" if read is None else read(token)
    return name if name.isprintable() and len(name) <= LONGEST_NAME else ""


def _plain(token: bytes) -> str:
    """RFC 4616: authorization id, user, password, separated by NUL."""
    parts = token.split(b"\0")
    return parts[1].decode(errors="replace") if len(parts) == 3 else ""


def _scram(token: bytes) -> str:
    match = SCRAM_FIRST.match(token)
    if match is None or TOKEN_AUTHENTICATION in token.lower():
        return ""
    return _decoded(match["user"])


def _bearer(token: bytes) -> str:
    """Return the token's subject or the authorization id.

    Kafka requires both to be equal; else the user is unknown.
    """
    match = BEARER_FIRST.fullmatch(token)
    if match is None:
        return ""
    bearers = [pair for pair in match["pairs"].split(b"\x01") if pair.startswith(b"auth=")]
    if len(bearers) != 1:
        return ""  # it is unknown which of them the broker uses
    bearer = BEARER.fullmatch(bearers[0])
    subject = "" if bearer is None else _subject(bearer["claims"])
    authorized = _decoded(match["authorized"] or b"")
    return subject or authorized if not (subject and authorized) or subject == authorized else ""


READERS: dict[str, Callable[[bytes], str]] = {
    "PLAIN": _plain,
    **{mechanism.name: _scram for mechanism in SCRAM_MECHANISMS},
    "OAUTHBEARER": _bearer,
}
"""Mechanism -> function that reads the user from its first message."""


def _decoded(name: bytes) -> str:
    return name.decode(errors="replace").replace("=2C", ",").replace("=3D", "=")


def _subject(claims: bytes) -> str:
    """Return the token's subject. It is not verified here: the broker does that before the name is used."""
    try:
        subject = json.loads(urlsafe_b64decode(claims + b"=" * (-len(claims) % 4))).get("sub")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return subject if isinstance(subject, str) else ""
