"""SASL SCRAM, the server's side (RFC 5802, RFC 7677; Kafka: ScramSaslServer, ScramMessages).

The server knows the salted keys of the password only. Every error is an InvalidTokenError, except a different
authorization id: the client does not learn whether the user or the password is wrong.
"""

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable

from controller.model.access import ScramCredential
from protocol.scram import ScramMechanism
from server.security.mechanisms import OTHER_AUTHORIZATION_ID, InvalidTokenError, RefusedError

_NAME = r"(?:[^=,\x00\x80-\U0010ffff]|=2C|=3D)+"
_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_VALUE})*"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authorized>{_NAME}))?,"
    rf"(?P<bare>(?:m={_VALUE},)?n=(?P<user>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_FINAL = re.compile(rf"(?P<unproved>c=[A-Za-z0-9/+=]*,r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>[^,]+)")


def first_message(token: bytes) -> re.Match[str] | None:
    """Return the parts of a client's first message, of which both sides sign `bare`; None if it is not valid."""
    return _FIRST.fullmatch(token.decode(errors="replace"))


def by_delegation_token(first: re.Match[str]) -> bool:
    """Return whether a first message has the id of a delegation token in place of a user (KIP-48).

    As in Kafka, the extension has this letter case only, and the last one counts.
    """
    extensions = dict(pair.split("=", 1) for pair in first["extensions"].split(",")[1:])
    return extensions.get("tokenauth", "").lower() == "true"


Credentials = Callable[[str, str], ScramCredential | None]
"""Returns the credential of a user (first) for a mechanism (second); None if there is none."""


class ScramExchange:
    """Implements `server.security.mechanisms.Exchange`. `new_nonce` returns new random printable characters."""

    expires_ms = None

    def __init__(
        self, mechanism: ScramMechanism, credentials: Credentials, new_nonce: Callable[[], str]
    ) -> None:
        self._mechanism, self._credentials, self._new_nonce = mechanism, credentials, new_nonce
        self._credential: ScramCredential | None = None
        self._first = ""
        """The client's and the server's first message, as far as both sign them."""
        self._nonce = ""
        self.user: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        if self._credential is None:
            return self._begin(token)
        return self._finish(token.decode(errors="replace"), self._credential)

    def _begin(self, token: bytes) -> bytes:
        match = first_message(token)
        if match is None:
            raise InvalidTokenError("an invalid first SCRAM message")
        user = decoded(match["user"])
        credential = self._credentials(user, self._mechanism.name)
        if credential is None or by_delegation_token(match):
            raise InvalidTokenError(f"there is no {self._mechanism.name} credential of this user")
        if match["authorized"] is not None and decoded(match["authorized"]) != user:
            raise RefusedError(OTHER_AUTHORIZATION_ID)
        self._credential, self._nonce = credential, match["nonce"] + self._new_nonce()
        salt = b64encode(credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._first = f"{match['bare']},{answer}"
        return answer.encode()

    def _finish(self, text: str, credential: ScramCredential) -> bytes:
        match = _FINAL.fullmatch(text)
        if match is None or match["nonce"] != self._nonce:
            raise InvalidTokenError("an invalid last SCRAM message")
        signed = f"{self._first},{match['unproved']}".encode()
        signature = self._hmac(credential.stored_key, signed)
        client_key = _xor(_proof(match["proof"], len(signature)), signature)
        if not hmac.compare_digest(self._hash(client_key), credential.stored_key):
            raise InvalidTokenError("a wrong password")
        self.user = credential.user
        return b"v=" + b64encode(self._hmac(credential.server_key, signed))

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._mechanism.hash_name)

    def _hash(self, message: bytes) -> bytes:
        return hashlib.new(self._mechanism.hash_name, message).digest()


def _proof(text: str, length: int) -> bytes:
    try:
        proof = b64decode(text, validate=True)
    except binascii.Error as error:
        raise InvalidTokenError("a SCRAM proof that is not base64") from error
    if len(proof) != length:
        raise InvalidTokenError("a SCRAM proof of another length")
    return proof


def decoded(name: str) -> str:
    """Return a name of a message without its escapes."""
    return name.replace("=2C", ",").replace("=3D", "=")


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
