"""The changes of credentials in a request, and the errors with Kafka's messages."""

import hashlib
from base64 import b64decode

import pytest

from common.error_codes import ErrorCode
from controller.model.access import ScramCredential
from protocol.codec.errors import ApiError
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from server.security.scram_credentials import changes_of, only_change_of, users_in

# RFC 7677, section 3: the example of SCRAM-SHA-256.
SALT = b"[m\x99h\x9d\x12\x35\x8e\xec\xa0K\x14\x126\xfa\x81"
SALTED = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096)
STORED = b64decode("WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=")
SERVER = b64decode("wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")


def upsertion(user: str = "ann", mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(user, mechanism, iterations, SALT, SALTED)


def request(*rows: ScramCredentialUpsertion | ScramCredentialDeletion) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        [row for row in rows if isinstance(row, ScramCredentialDeletion)],
        [row for row in rows if isinstance(row, ScramCredentialUpsertion)],
    )


def test_the_stored_key_and_the_server_key_follow_from_the_salted_password() -> None:
    changes = changes_of(request(upsertion(), ScramCredentialDeletion("ann", 2)), "ann")
    made = changes["SCRAM-SHA-256"]
    assert made == ScramCredential("ann", "SCRAM-SHA-256", SALT, STORED, SERVER, 4096)
    assert changes["SCRAM-SHA-512"] is None


def test_each_user_is_listed_once() -> None:
    rows = request(upsertion("bob"), upsertion("ann"), ScramCredentialDeletion("ann", 1))
    assert users_in(rows) == ["ann", "bob"]


@pytest.mark.parametrize(
    ("rows", "code", "message"),
    [
        ([upsertion("")], ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        ([upsertion(mechanism=0)], ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        ([upsertion(iterations=4095)], ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        ([upsertion(iterations=16_385)], ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (
            [upsertion(), ScramCredentialDeletion("ann", 1)],
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        ),
    ],
)
def test_an_invalid_change_is_refused(
    rows: list[ScramCredentialUpsertion | ScramCredentialDeletion], code: ErrorCode, message: str
) -> None:
    with pytest.raises(ApiError, match=message) as raised:
        changes_of(request(*rows), rows[0].name)
    assert raised.value.code == code


REMOVAL = ScramCredentialDeletion("ann", 1)
OTHER_REMOVAL = ScramCredentialDeletion("ann", 2)
KNOWN = {("ann", "SCRAM-SHA-256")}


def test_one_change_of_a_user_is_made_with_kraft() -> None:
    assert only_change_of(request(REMOVAL), "ann", KNOWN) == {"SCRAM-SHA-256": None}
    assert only_change_of(request(upsertion()), "ann", ()) == changes_of(request(upsertion()), "ann")


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([OTHER_REMOVAL], ErrorCode.RESOURCE_NOT_FOUND),
        ([OTHER_REMOVAL, upsertion()], ErrorCode.RESOURCE_NOT_FOUND),
        ([REMOVAL, upsertion(mechanism=2)], ErrorCode.DUPLICATE_RESOURCE),
        ([upsertion(), upsertion(mechanism=9)], ErrorCode.DUPLICATE_RESOURCE),
        ([upsertion(mechanism=9), upsertion()], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ],
)
def test_the_first_fault_of_a_user_is_told_with_kraft(
    rows: list[ScramCredentialUpsertion | ScramCredentialDeletion], code: ErrorCode
) -> None:
    with pytest.raises(ApiError) as raised:
        only_change_of(request(*rows), "ann", KNOWN)
    assert raised.value.code == code
