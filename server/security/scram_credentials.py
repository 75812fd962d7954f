"""The changes of SCRAM credentials in an AlterUserScramCredentials request (KIP-554).

The client has salted the password. What is kept is computed from that (RFC 5802), and cannot be used to log
in.
"""

import hashlib
import hmac
import secrets
from collections.abc import Container

from common.error_codes import ErrorCode
from controller.cluster.access import NO_CREDENTIAL
from controller.model.access import ScramCredential
from protocol.codec.errors import ApiError
from protocol.counter import Bounds
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.scram import SCRAM_MECHANISMS, ScramMechanism

MECHANISMS = {mechanism.number: mechanism for mechanism in SCRAM_MECHANISMS.values()}

ITERATIONS = range(4096, 16_384 + 1)
"""Kafka: ScramMechanism.minIterations, and the most that brokers accept."""

TWICE = "A user credential cannot be altered twice in the same request"

BOUNDS = Bounds(rows=1_000, numbers=1_000)
"""Bounds of a request. A larger one is refused; the response has its first rows."""


_Row = ScramCredentialDeletion | ScramCredentialUpsertion


def users_in(request: AlterUserScramCredentialsRequest) -> list[str]:
    """Return each user of the request once."""
    named = [each.name for each in request.deletions] + [each.name for each in request.upsertions]
    return list(dict.fromkeys(named))


def changes_of(request: AlterUserScramCredentialsRequest, user: str) -> dict[str, ScramCredential | None]:
    """Return the user's credentials by mechanism; None removes one. Raises ApiError with Kafka's messages."""
    changes: dict[str, ScramCredential | None] = {}
    for row in _rows(request, user):
        mechanism = _mechanism(row)
        if mechanism.name in changes:
            raise ApiError(ErrorCode.DUPLICATE_RESOURCE, TWICE)
        changes[mechanism.name] = _credential(row, mechanism)
    return changes


def only_change_of(
    request: AlterUserScramCredentialsRequest, user: str, known: Container[tuple[str, str]]
) -> dict[str, ScramCredential | None]:
    """Return what `changes_of` returns, for a server with KRaft: there, a request makes one change of a user.

    `known` has user and mechanism of the existing credentials.
    """
    first, *more = _rows(request, user)
    mechanism = _mechanism(first)
    credential = _credential(first, mechanism)
    if credential is None and (user, mechanism.name) not in known:
        raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, NO_CREDENTIAL)
    if more:
        raise ApiError(ErrorCode.DUPLICATE_RESOURCE, TWICE)
    return {mechanism.name: credential}


def salted_credential(
    user: str, mechanism: ScramMechanism, salt: bytes, iterations: int, salted: bytes
) -> ScramCredential:
    """Return what is kept of a salted password."""
    _, name, hash_name = mechanism
    client, server = (hmac.digest(salted, each, hash_name) for each in (b"Client Key", b"Server Key"))
    return ScramCredential(user, name, salt, hashlib.new(hash_name, client).digest(), server, iterations)


def password_credential(user: str, mechanism: ScramMechanism, password: str) -> ScramCredential:
    """Return what is kept of a password, with a new salt.

    As in Kafka, SASLprep does not change the password.
    """
    salt, iterations = secrets.token_bytes(20), ITERATIONS[0]
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)
    return salted_credential(user, mechanism, salt, iterations, salted)


def _rows(request: AlterUserScramCredentialsRequest, user: str) -> list[_Row]:
    """Return the user's rows: deletions first, as Kafka reads them."""
    rows: list[_Row] = [*request.deletions, *request.upsertions]
    return [row for row in rows if row.name == user]


def _mechanism(row: _Row) -> ScramMechanism:
    if not row.name:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if row.mechanism not in MECHANISMS:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return MECHANISMS[row.mechanism]


def _credential(row: _Row, mechanism: ScramMechanism) -> ScramCredential | None:
    """Return the credential that the row sets; None if the row removes it."""
    if isinstance(row, ScramCredentialDeletion):
        return None
    if row.iterations not in ITERATIONS:
        few = row.iterations < ITERATIONS[0]
        text = f"Too {'few' if few else 'many'} iterations"
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, text)
    user, _, iterations, salt, salted = row
    return salted_credential(user, mechanism, salt, iterations, salted)
