"""The handshake of instances: each proves that it knows the shared secret, and none sends it.

Both send random bytes; then the connecting instance sends the HMAC of the conversation so far, and only after
it is right the other one sends its own, over a different label. From the secret and the conversation both
also derive the keys of `server.instances.stream`: so nobody in between can change what follows, or repeat it
in another conversation.

The cluster id is part of it. An address may be given to an instance of another cluster later, and a request
that was accepted there would move other partitions of the same names.
"""

import hmac
from hashlib import sha256
from typing import NamedTuple, TypeVar

import msgspec

from common.json.models import decode_foreign

PROTOCOL = 1
"""Version of the conversation."""

NONCE_BYTES = 32
SHORTEST_SECRET = 16
"""Bytes. Whoever records a handshake can try secrets offline, so a short one would be found."""

DIFFERENT_SECRET = "the instances have different shared secrets"  # noqa: S105 (a message)


class InstanceRefusedError(Exception):
    """The conversation with a peer cannot begin. The message is one line that names the reason."""


class InstanceIdentity(NamedTuple):
    """What an instance says about itself."""

    instance: str
    """Id of the process."""
    cluster: str
    """Id of the Kafka cluster."""


class Session(NamedTuple):
    """The result of a handshake."""

    peer: InstanceIdentity
    sends: bytes
    """Key for what this side sends."""
    receives: bytes


class _Hello(msgspec.Struct, frozen=True):
    protocol: int
    instance: str
    cluster: str
    nonce: str


class _Proof(msgspec.Struct, frozen=True):
    mac: str


class _Refusal(msgspec.Struct, frozen=True):
    refused: str


M = TypeVar("M", _Hello, _Proof)


class Connecting:
    """The side of the instance that has connected. `nonce` is NONCE_BYTES random bytes."""

    def __init__(self, own: InstanceIdentity, secret: bytes, nonce: bytes) -> None:
        self._own, self._secret = own, secret
        self._peer: InstanceIdentity
        self.hello = msgspec.json.encode(_Hello(PROTOCOL, *own, nonce.hex()))
        self._conversation = self.hello

    def prove(self, hello: bytes) -> bytes:
        """Return the proof for the hello of the other side. Raises InstanceRefusedError."""
        self._peer = _identity(hello, self._own)
        self._conversation += hello
        return _proof(self._secret, b"connecting", self._conversation)

    def finish(self, proof: bytes) -> Session:
        """Check the proof of the other side. Raises InstanceRefusedError."""
        _check(proof, _proof(self._secret, b"accepting", self._conversation))
        keys = _keys(self._secret, self._conversation)
        return Session(self._peer, *keys)


class Accepting:
    """The side of the instance that has accepted the connection."""

    def __init__(self, own: InstanceIdentity, secret: bytes, nonce: bytes) -> None:
        self._own, self._secret, self._nonce = own, secret, nonce
        self._conversation = b""
        self._peer: InstanceIdentity

    def answer(self, hello: bytes) -> bytes:
        """Return the hello of this side. Raises InstanceRefusedError."""
        self._peer = _identity(hello, self._own)
        answer = msgspec.json.encode(_Hello(PROTOCOL, *self._own, self._nonce.hex()))
        self._conversation = hello + answer
        return answer

    def finish(self, proof: bytes) -> tuple[bytes, Session]:
        """Check the proof of the other side; return the proof of this one. Raises InstanceRefusedError."""
        _check(proof, _proof(self._secret, b"connecting", self._conversation))
        receives, sends = _keys(self._secret, self._conversation)
        own = _proof(self._secret, b"accepting", self._conversation)
        return own, Session(self._peer, sends, receives)


def refusal(reason: str) -> bytes:
    """Return the message that tells the other side why the conversation ends."""
    return msgspec.json.encode(_Refusal(reason))


def _identity(message: bytes, own: InstanceIdentity) -> InstanceIdentity:
    hello = _decode(message, _Hello)
    if hello.protocol != PROTOCOL:
        raise InstanceRefusedError(
            f"it speaks version {hello.protocol} of the protocol, and this instance version {PROTOCOL}"
        )
    if hello.cluster != own.cluster:
        raise InstanceRefusedError(
            f"it is a gateway of the cluster {hello.cluster[:50]!r}, and this one of {own.cluster!r}"
        )
    return InstanceIdentity(hello.instance[:100], hello.cluster)


def _check(message: bytes, expected: bytes) -> None:
    proof = _decode(message, _Proof)
    if not hmac.compare_digest(msgspec.json.encode(proof), expected):
        raise InstanceRefusedError(DIFFERENT_SECRET)


def _decode(message: bytes, kind: type[M]) -> M:
    try:
        return decode_foreign(message, msgspec.json.Decoder(kind))
    except msgspec.DecodeError:
        pass
    try:
        reason = decode_foreign(message, msgspec.json.Decoder(_Refusal)).refused
    except msgspec.DecodeError:
        raise InstanceRefusedError("what it sent is not the handshake of a peer") from None
    raise InstanceRefusedError(f"it refused this instance: {' '.join(reason[:200].split())}")


def _proof(secret: bytes, label: bytes, conversation: bytes) -> bytes:
    return msgspec.json.encode(_Proof(_hmac(secret, label, conversation).hex()))


def _keys(secret: bytes, conversation: bytes) -> tuple[bytes, bytes]:
    """Return the keys for what the connecting side sends, and for what the accepting side sends."""
    return _hmac(secret, b"to accepting", conversation), _hmac(secret, b"to connecting", conversation)


def _hmac(secret: bytes, label: bytes, conversation: bytes) -> bytes:
    return hmac.digest(secret, b"reassignd peer " + label + b"\0" + sha256(conversation).digest(), "sha256")
