"""The changes of SCRAM credentials in an AlterUserScramCredentials request (KIP-554).

The client has salted the password. What is kept is computed from that (RFC 5802), and cannot be used to log in.
"""

import hashlib
import hmac

from common.error_codes import ErrorCode
from controller.model.access import ScramCredential
from protocol.counter import Bounds
from protocol.errors import ApiError
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from protocol.scram import SCRAM_MECHANISMS

MECHANISMS = {mechanism.number: mechanism for mechanism in SCRAM_MECHANISMS}
NUMBERS = {mechanism.name: mechanism.number for mechanism in SCRAM_MECHANISMS}

ITERATIONS = range(4096, 16_384 + 1)
"""Kafka: ScramMechanism.minIterations, and the most that brokers accept."""

BOUNDS = Bounds(rows=1_000, numbers=1_000)
"""Bounds of a request. A larger one is refused; the response has its first rows."""


def users_in(request: AlterUserScramCredentialsRequest) -> list[str]:
    """Return each user of the request once."""
    named = [each.name for each in request.deletions] + [each.name for each in request.upsertions]
    return list(dict.fromkeys(named))


def changes_of(request: AlterUserScramCredentialsRequest, user: str) -> dict[str, ScramCredential | None]:
    """Return the user's credentials by mechanism; None removes one. Raises ApiError with Kafka's messages."""
    if not user:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    changes: dict[str, ScramCredential | None] = {}
    for deletion in request.deletions:
        if deletion.name == user:
            _add(changes, deletion.mechanism, None)
    for upsertion in request.upsertions:
        if upsertion.name == user:
            _add(changes, upsertion.mechanism, upsertion)
    return changes


def salted_credential(
    user: str, mechanism: str, hash_name: str, salt: bytes, iterations: int, salted_password: bytes
) -> ScramCredential:
    """Return what is kept of a salted password."""
    client, server = (
        hmac.digest(salted_password, name, hash_name) for name in (b"Client Key", b"Server Key")
    )
    return ScramCredential(user, mechanism, salt, hashlib.new(hash_name, client).digest(), server, iterations)


def _add(
    changes: dict[str, ScramCredential | None], mechanism: int, upsertion: ScramCredentialUpsertion | None
) -> None:
    if mechanism not in MECHANISMS:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    _, name, hash_name = MECHANISMS[mechanism]
    if name in changes:
        text = "A user credential cannot be altered twice in the same request"
        raise ApiError(ErrorCode.DUPLICATE_RESOURCE, text)
    changes[name] = None if upsertion is None else _credential(upsertion, name, hash_name)


def _credential(upsertion: ScramCredentialUpsertion, mechanism: str, hash_name: str) -> ScramCredential:
    if upsertion.iterations not in ITERATIONS:
        few = upsertion.iterations < ITERATIONS[0]
        text = f"Too {'few' if few else 'many'} iterations"
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, text)
    user, _, iterations, salt, salted = upsertion
    return salted_credential(user, mechanism, hash_name, salt, iterations, salted)
