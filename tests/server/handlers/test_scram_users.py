"""AlterUserScramCredentials (51), DescribeUserScramCredentials (50)."""

from common.error_codes import ErrorCode
from controller.messages.events import AlterScramCredentials
from controller.model.access import ScramCredential
from controller.model.errors import DONE, Outcome
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from server.handlers import alter_user_scram_credentials, describe_user_scram_credentials
from tests.server.fakes import FakeDriver, answer, context, encodable
from tests.server.security.test_scram_credentials import upsertion

REQUEST = AlterUserScramCredentialsRequest(
    [ScramCredentialDeletion("bob", 1)], [upsertion("ann"), upsertion("eve", mechanism=9)]
)


async def test_valid_users_are_submitted_and_the_others_refused() -> None:
    driver = FakeDriver([Outcome(ErrorCode.RESOURCE_NOT_FOUND, "none"), DONE])
    state = State(mode=EMBEDDED)
    state.put_by_class[ScramCredential](ScramCredential("bob", "SCRAM-SHA-256", b"", b"", b"", 4096))
    response = encodable(
        await answer(alter_user_scram_credentials.handle, REQUEST, context(0, state, driver=driver)), 51
    )
    (event,) = driver.events
    assert isinstance(event, AlterScramCredentials)
    assert [change.user for change in event.users] == ["bob", "ann"]
    assert [tuple(row) for row in response.results] == [
        ("bob", ErrorCode.RESOURCE_NOT_FOUND, "none"),
        ("ann", 0, None),
        ("eve", ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
    ]


def test_a_refusal_is_repeated_for_each_user() -> None:
    refused = encodable(alter_user_scram_credentials.refuse(REQUEST, 31, "no"), 51)
    assert [tuple(row) for row in refused.results] == [(user, 31, "no") for user in ("bob", "ann", "eve")]


BOTH = [(1, 4096), (2, 8192)]


async def described(*names: str, null: bool = False) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    state = State(mode=EMBEDDED)
    for user, mechanism, iterations in (("bob", 1, 4096), ("ann", 2, 8192), ("ann", 1, 4096)):
        name = f"SCRAM-SHA-{(256, 512)[mechanism - 1]}"
        state.put(ScramCredential(user, name, b"salt", b"stored", b"server", iterations))
    request = DescribeUserScramCredentialsRequest(None if null else [UserName(name) for name in names])
    response = encodable(await answer(describe_user_scram_credentials.handle, request, context(0, state)), 50)
    return {
        row.user: (row.error_code, [tuple(info) for info in row.credential_infos]) for row in response.results
    }


async def test_all_users_are_listed_for_null_and_for_none() -> None:
    everyone = {"ann": (0, BOTH), "bob": (0, BOTH[:1])}
    assert await described() == await described(null=True) == everyone


async def test_users_are_listed_by_name_with_their_errors() -> None:
    assert await described("bob", "eve", "ann", "ann") == {
        "bob": (0, BOTH[:1]),
        "eve": (ErrorCode.RESOURCE_NOT_FOUND, []),
        "ann": (ErrorCode.DUPLICATE_RESOURCE, []),
    }


def test_a_refusal_repeats_the_error_for_each_user_without_name() -> None:
    request = DescribeUserScramCredentialsRequest([UserName("ann"), UserName("bob")])
    refused = encodable(describe_user_scram_credentials.refuse(request, 31, "no"), 50)
    assert (refused.error_code, refused.error_message) == (31, "no")
    assert [tuple(row) for row in refused.results] == [("", 31, "no", ())] * 2


def test_a_refusal_for_all_users_has_the_error_alone() -> None:
    assert (
        encodable(
            describe_user_scram_credentials.refuse(DescribeUserScramCredentialsRequest(None), 31, "no"), 50
        ).results
        == []
    )
