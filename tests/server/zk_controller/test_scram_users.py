import hashlib
from collections.abc import Mapping

import pytest

from common.error_codes import ErrorCode
from protocol.errors import ApiError
from protocol.frames import parse_response
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResult
from server.zk_controller.scram_users import answer
from tests.frames import decode_response
from tests.server.zk_controller.test_endpoint import frame_of

# RFC 7677, section 3: the example of SCRAM-SHA-256.
SALT = b"[m\x99h\x9d\x12\x35\x8e\xec\xa0K\x14\x126\xfa\x81"
SALTED = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096)
STORED = (
    "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
    "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
)


class Users:
    """The stored users. User `nobody` has no credentials, and `broken` cannot be stored."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, str | None]] = {}

    async def alter(self, user: str, changes: Mapping[str, str | None]) -> None:
        if user == "nobody":
            raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, "nothing there")
        if user == "broken":
            raise ValueError("secret")
        self.stored[user] = dict(changes)

    async def answered(
        self, *rows: ScramCredentialUpsertion | ScramCredentialDeletion
    ) -> list[AlterUserScramCredentialsResult]:
        request = AlterUserScramCredentialsRequest(
            [row for row in rows if isinstance(row, ScramCredentialDeletion)],
            [row for row in rows if isinstance(row, ScramCredentialUpsertion)],
        )
        encoded = await answer(frame_of(request, 0), self.alter)
        return list(decode_response(parse_response(encoded[4:], 51, 0)).results)


def sets(user: str = "ann", mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(user, mechanism, iterations, SALT, SALTED)


def removes(user: str = "ann", mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(user, mechanism)


async def test_a_password_is_stored_in_the_format_of_brokers() -> None:
    users = Users()
    assert await users.answered(sets(), removes(mechanism=2)) == [
        AlterUserScramCredentialsResult("ann", 0, None)
    ]
    assert users.stored == {"ann": {"SCRAM-SHA-256": STORED, "SCRAM-SHA-512": None}}


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([sets(user="")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([sets(mechanism=0)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([removes(mechanism=3)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([sets(), removes()], ErrorCode.DUPLICATE_RESOURCE),
        ([sets(), sets()], ErrorCode.DUPLICATE_RESOURCE),
        ([sets(iterations=4095)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([sets(iterations=16_385)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([removes("nobody")], ErrorCode.RESOURCE_NOT_FOUND),
        ([sets("broken")], ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_an_error_of_one_user_does_not_affect_others(
    rows: list[ScramCredentialUpsertion | ScramCredentialDeletion], code: ErrorCode
) -> None:
    users = Users()
    codes = {row.user: row.error_code for row in await users.answered(*rows, sets("bob"))}
    assert codes == {rows[0].name: code, "bob": 0}
    assert list(users.stored) == ["bob"]


async def test_the_details_of_a_failure_are_not_revealed() -> None:
    [row] = await Users().answered(sets("broken"))
    assert row.error_message is None


async def test_a_request_for_too_many_users_changes_none() -> None:
    users = Users()
    rows = await users.answered(*(sets(f"user-{number}") for number in range(1_001)))
    assert {row.error_code for row in rows} == {ErrorCode.INVALID_REQUEST}
    assert users.stored == {}
