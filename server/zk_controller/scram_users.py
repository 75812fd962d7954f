"""AlterUserScramCredentials (51), version 0: sets and removes users' SCRAM credentials (KIP-554).

ACL: ALTER on the cluster. Errors, one row a user: INVALID_REQUEST, UNACCEPTABLE_CREDENTIAL,
UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND, UNKNOWN_SERVER_ERROR.
"""

import hashlib
import hmac
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping

from common.error_codes import ErrorCode
from protocol.counter import Bounds
from protocol.errors import ApiError
from protocol.frames import RequestFrame, decode_within, encode_response
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from protocol.scram import SCRAM_MECHANISMS

log = logging.getLogger(__name__)

MECHANISMS = {mechanism.number: mechanism for mechanism in SCRAM_MECHANISMS}

ITERATIONS = range(4096, 16_384 + 1)
"""Kafka: ScramMechanism.minIterations, and the most that brokers accept."""

BOUNDS = Bounds(rows=1_000, numbers=1_000)
"""Bounds of a request. A larger one is refused; the response has its first rows."""

AlterUser = Callable[[str, Mapping[str, str | None]], Awaitable[None]]
"""Stores a user's credentials by mechanism, None to remove one. Raises ApiError."""


async def answer(frame: RequestFrame, alter: AlterUser) -> bytes:
    """Return the response frame. Each user's changes are made together or not at all."""
    request, whole = decode_within(frame, AlterUserScramCredentialsRequest, BOUNDS)
    if not whole:
        return refuse(frame, ErrorCode.INVALID_REQUEST)
    rows = [await _altered(request, user, alter) for user in _users(request)]
    return encode_response(frame, AlterUserScramCredentialsResponse(results=rows))


def refuse(frame: RequestFrame, code: int) -> bytes:
    """Return a response frame with this error for each user."""
    request, _ = decode_within(frame, AlterUserScramCredentialsRequest, BOUNDS)
    rows = [AlterUserScramCredentialsResult(user, code, None) for user in _users(request)]
    return encode_response(frame, AlterUserScramCredentialsResponse(results=rows))


def _users(request: AlterUserScramCredentialsRequest) -> list[str]:
    named = [each.name for each in request.deletions] + [each.name for each in request.upsertions]
    return list(dict.fromkeys(named))


async def _altered(
    request: AlterUserScramCredentialsRequest, user: str, alter: AlterUser
) -> AlterUserScramCredentialsResult:
    try:
        await alter(user, _changes(request, user))
    except ApiError as error:
        return AlterUserScramCredentialsResult(user, error.code, error.message)
    except Exception:
        log.exception("the credentials of user %r could not be altered", user)
        return AlterUserScramCredentialsResult(user, ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return AlterUserScramCredentialsResult(user, ErrorCode.NONE, None)


def _changes(request: AlterUserScramCredentialsRequest, user: str) -> dict[str, str | None]:
    """Return the credentials to be stored for the user; None removes one. Raises ApiError."""
    if not user:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "A user has a name that is not empty.")
    changes: dict[str, str | None] = {}
    for deletion in request.deletions:
        if deletion.name == user:
            _add(changes, deletion.mechanism, None)
    for upsertion in request.upsertions:
        if upsertion.name == user:
            _add(changes, upsertion.mechanism, upsertion)
    return changes


def _add(changes: dict[str, str | None], mechanism: int, upsertion: ScramCredentialUpsertion | None) -> None:
    if mechanism not in MECHANISMS:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"There is no SCRAM mechanism {mechanism}.")
    _, name, hash_name = MECHANISMS[mechanism]
    if name in changes:
        raise ApiError(ErrorCode.DUPLICATE_RESOURCE, f"{name} of a user can be altered once in a request.")
    changes[name] = None if upsertion is None else _credential(upsertion, hash_name)


def _credential(upsertion: ScramCredentialUpsertion, hash_name: str) -> str:
    """Return the credential in the format that brokers read (RFC 5802; Kafka: ScramCredentialUtils)."""
    if upsertion.iterations not in ITERATIONS:
        low, high = ITERATIONS[0], ITERATIONS[-1]
        raise ApiError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"{upsertion.iterations} iterations; {low} to {high} are allowed.",
        )
    client, server = (
        hmac.digest(upsertion.salted_password, name, hash_name) for name in (b"Client Key", b"Server Key")
    )
    parts = {
        "salt": upsertion.salt,
        "stored_key": hashlib.new(hash_name, client).digest(),
        "server_key": server,
    }
    texts = [f"{name}={b64encode(value).decode()}" for name, value in parts.items()]
    return ",".join([*texts, f"iterations={upsertion.iterations}"])
