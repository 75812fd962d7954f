"""Client side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677, KIP-84).

Like Kafka (`ScramFormatter.normalize`), it encodes names and passwords in UTF-8 without SASLprep.
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
"""With fewer iterations, passwords are easy to guess from a recorded exchange."""

MOST_ITERATIONS = 200_000
"""More iterations would block the event loop for too long. Kafka stores at most 16,384."""

GS2_HEADER = b"n,,"
"""No channel binding, no authorization id."""


def scram(
    hash_name: str, username: str, password: str, nonce: str | None = None
) -> Generator[bytes, bytes, None]:
    """Yield each client message and take the server's answer.

    Ends when the server has proved that it knows the password.

    Raises AuthenticationError when the server refuses, or does not prove its identity.
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
    proof = bytes(key ^ mask for key, mask in zip(client_key, signature, strict=True))
    server_last = yield last_bare + b",p=" + b64encode(proof)
    server_key = hmac.digest(salted, b"Server Key", hash_name)
    _check(server_last, hmac.digest(server_key, signed, hash_name))


def _escaped(username: str) -> str:
    return username.replace("=", "=3D").replace(",", "=2C")


def _challenge(message: bytes, nonce: str) -> tuple[bytes, bytes, int]:
    """Return the combined nonce, the salt and the number of iterations."""
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
        raise AuthenticationError("the server's SCRAM challenge does not contain the client's nonce")
    if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise AuthenticationError(
            f"the server requires {iterations} SCRAM iterations;"
            f" {FEWEST_ITERATIONS} to {MOST_ITERATIONS} are supported"
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
        raise AuthenticationError("the server does not know the password; it may be an impostor")


def _fields(message: bytes) -> dict[bytes, bytes]:
    return {part[:1]: part[2:] for part in message.split(b",") if part[1:2] == b"="}
