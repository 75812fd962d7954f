"""SaslAuthenticate (36): the upstream authenticates. The gateway notes that it has, and as whom, for its jobs.

Before that, requests must be small.
"""

import json
import re
from base64 import urlsafe_b64decode

from protocol.errors import ErrorCode
from protocol.frames import decode_request, parse_request
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from server.gateway.exchange import Asked, Client, Exchange, rewritten

LARGEST = 512 * 1024
"""Bytes of a request with a token (Kafka: sasl.server.max.receive.size)."""

SCRAM_VERIFIER = b"v="
"""How the last message of a SCRAM server begins (RFC 5802); the other mechanisms end without a word."""

GS2 = re.compile(rb"[nyp][^,]*,(?:a=(?P<authorized>[^,]*))?,(?:n=(?P<user>[^,]*),)?")
"""How the first message of SCRAM begins, with a user, and that of OAUTHBEARER (RFC 7628), perhaps with `a=`."""

PAIRS = re.compile(rb"n,(?:a=[^,]*)?,\x01")
"""What OAUTHBEARER has before its pairs, and SCRAM never begins with."""

BEARER = re.compile(rb"auth=Bearer [\w-]+\.([\w-]+)\.")
"""The token of OAUTHBEARER, where that is a JSON Web Token (RFC 7519): its claims are between the dots."""

OF_A_TOKEN = b",tokenauth=true"
"""A delegation token (KIP-48) names itself, not its owner."""


def authenticate(asked: Asked, client: Client) -> Exchange | int:
    """The rule of SaslAuthenticate; the handshake needs none."""
    if missing := asked.missing(LARGEST, "to authenticate"):
        return missing
    token = decode_request(parse_request(bytes(asked.frame))).auth_bytes
    client.claims = claims = user_of(token) or client.claims

    def note(response: SaslAuthenticateResponse) -> SaslAuthenticateResponse:
        said = response.auth_bytes
        if response.error_code == ErrorCode.NONE and (not said or said.startswith(SCRAM_VERIFIER)):
            client.authenticated = True
            # Those of a later request, which may have come meanwhile, are not what this one answers.
            if claims:
                client.caller = client.caller._replace(principal=f"User:{claims}")
        return response

    return Exchange(finish=rewritten(asked, note))


def user_of(token: bytes) -> str:
    """Who a client's message says that it is; empty when it does not say, as later messages of SCRAM do not."""
    if token.count(b"\0") == 2:
        # PLAIN (RFC 4616): whom to act for, who, and the password.
        return token.split(b"\0")[1].decode(errors="replace")
    if (before := PAIRS.match(token)) is not None:
        given = [pair for pair in token[before.end() :].split(b"\x01") if pair.startswith(b"auth=")]
        if len(given) != 1:
            return ""  # which of them counts is the upstream's to know
        if (bearer := BEARER.match(given[0])) is not None:
            return _subject(bearer[1])
    found = GS2.match(token)
    if found is None or OF_A_TOKEN in token:
        return ""
    name = found["user"] or found["authorized"] or b""
    return name.decode(errors="replace").replace("=2C", ",").replace("=3D", "=")


def _subject(claims: bytes) -> str:
    """Whom the token is of. The upstream checks that it is genuine before the name counts."""
    try:
        subject = json.loads(urlsafe_b64decode(claims + b"=" * (-len(claims) % 4))).get("sub")
    except (ValueError, AttributeError):
        return ""
    return subject if isinstance(subject, str) else ""
