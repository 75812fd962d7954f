"""SCRAM-SHA-256 and SCRAM-SHA-512, the client's part: RFC 5802 and 7677, with names and passwords as Kafka takes them.

Kafka does not run them through SASLprep (`ScramFormatter.normalize`: plain UTF-8), so neither do we. KIP-84 brought SCRAM to Kafka.
"""

import binascii
import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Generator

from backends.client.errors import AuthenticationError
from protocol.scram import SCRAM_MECHANISMS

MECHANISMS = {mechanism.name: mechanism.hash_name for mechanism in SCRAM_MECHANISMS}
"""Mechanism -> name of its hash."""

FEWEST_ITERATIONS = 4096
"""Fewer would make a stolen exchange cheap to guess from."""

MOST_ITERATIONS = 200_000
"""More would hold up everything else here; Kafka stores at most 16,384."""

GS2_HEADER = b"n,,"
"""No channel binding, no other identity."""


def scram(
    hash_name: str, username: str, password: str, nonce: str | None = None
) -> Generator[bytes, bytes, None]:
    """Yields what is to be sent and takes what came back; ends when the server has proved that it knows the password too.

    Raises AuthenticationError when the server cannot, refuses, or sends something else.
    """
    nonce = nonce or secrets.token_urlsafe(24)
    first_bare = f"n={_escaped(username)},r={nonce}".encode()
    server_first = yield GS2_HEADER + first_bare
    whole_nonce, salt, iterations = _challenge(server_first, nonce)
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    last_bare = b"c=" + b64encode(GS2_HEADER) + b",r=" + whole_nonce
    signed = b",".join((first_bare, server_first, last_bare))
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), signed, hash_name)
    proof = bytes(mine ^ theirs for mine, theirs in zip(client_key, signature, strict=True))
    server_last = yield last_bare + b",p=" + b64encode(proof)
    server_key = hmac.digest(salted, b"Server Key", hash_name)
    _check(server_last, hmac.digest(server_key, signed, hash_name))


def _escaped(username: str) -> str:
    return username.replace("=", "=3D").replace(",", "=2C")


def _challenge(message: bytes, nonce: str) -> tuple[bytes, bytes, int]:
    """The whole nonce, the salt and the number of iterations."""
    fields = _fields(message)
    try:
        whole_nonce, salt, iterations = (
            fields[b"r"],
            b64decode(fields[b"s"], validate=True),
            int(fields[b"i"]),
        )
    except (KeyError, ValueError, binascii.Error) as error:
        raise AuthenticationError("the server's SCRAM challenge makes no sense") from error
    if not whole_nonce.startswith(nonce.encode()) or len(whole_nonce) == len(nonce):
        raise AuthenticationError("the server's SCRAM challenge is not an answer to ours")
    if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise AuthenticationError(
            f"the server asks for {iterations} SCRAM iterations; {FEWEST_ITERATIONS} to {MOST_ITERATIONS} are done"
        )
    return whole_nonce, salt, iterations


def _check(message: bytes, expected: bytes) -> None:
    fields = _fields(message)
    if b"e" in fields:
        raise AuthenticationError(f"the server says {fields[b'e'].decode(errors='replace')}")
    try:
        signature = b64decode(fields.get(b"v", b""), validate=True)
    except binascii.Error as error:
        raise AuthenticationError("the server's SCRAM signature makes no sense") from error
    if not hmac.compare_digest(signature, expected):
        raise AuthenticationError("the server does not know the password: it may be somebody else")


def _fields(message: bytes) -> dict[bytes, bytes]:
    return {part[:1]: part[2:] for part in message.split(b",") if part[1:2] == b"="}
