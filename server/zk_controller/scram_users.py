"""AlterUserScramCredentials (51), version 0: sets and removes users' SCRAM credentials (KIP-554).

ACL: ALTER on the cluster. Errors, one row a user: INVALID_REQUEST, UNACCEPTABLE_CREDENTIAL,
UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND, UNKNOWN_SERVER_ERROR.
"""

import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping

from common.error_codes import ErrorCode
from controller.model.access import ScramCredential
from protocol.errors import ApiError
from protocol.frames import RequestFrame, decode_within, encode_response
from protocol.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from server.security.scram_changes import BOUNDS, changes_of, users_in

log = logging.getLogger(__name__)

AlterUser = Callable[[str, Mapping[str, str | None]], Awaitable[None]]
"""Stores a user's credentials by mechanism, None to remove one. Raises ApiError."""


async def answer(frame: RequestFrame, alter: AlterUser) -> bytes:
    """Return the response frame. Each user's changes are made together or not at all."""
    request, whole = decode_within(frame, AlterUserScramCredentialsRequest, BOUNDS)
    if not whole:
        return refuse(frame, ErrorCode.INVALID_REQUEST)
    rows = [await _altered(request, user, alter) for user in users_in(request)]
    return encode_response(frame, AlterUserScramCredentialsResponse(results=rows))


def refuse(frame: RequestFrame, code: int) -> bytes:
    """Return a response frame with this error for each user."""
    request, _ = decode_within(frame, AlterUserScramCredentialsRequest, BOUNDS)
    rows = [AlterUserScramCredentialsResult(user, code, None) for user in users_in(request)]
    return encode_response(frame, AlterUserScramCredentialsResponse(results=rows))


async def _altered(
    request: AlterUserScramCredentialsRequest, user: str, alter: AlterUser
) -> AlterUserScramCredentialsResult:
    try:
        changes = changes_of(request, user)
        texts = {name: None if change is None else _text(change) for name, change in changes.items()}
        await alter(user, texts)
    except ApiError as error:
        return AlterUserScramCredentialsResult(user, error.code, error.message)
    except Exception:
        log.exception("the credentials of user %r could not be altered", user)
        return AlterUserScramCredentialsResult(user, ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return AlterUserScramCredentialsResult(user, ErrorCode.NONE, None)


def _text(credential: ScramCredential) -> str:
    """Return the credential in the format that brokers read (RFC 5802; Kafka: ScramCredentialUtils)."""
    parts = {
        "salt": credential.salt,
        "stored_key": credential.stored_key,
        "server_key": credential.server_key,
    }
    texts = [f"{name}={b64encode(value).decode()}" for name, value in parts.items()]
    return ",".join([*texts, f"iterations={credential.iterations}"])
