"""DescribeUserScramCredentials (50)."""

from common.error_codes import ErrorCode
from controller.model.access import ScramCredential
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from server.handlers.describe_user_scram_credentials import handle, refuse
from tests.server.fakes import answer, context, encodable

BOTH = [(1, 4096), (2, 8192)]


async def described(*names: str, null: bool = False) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    state = State(mode=EMBEDDED)
    for user, mechanism, iterations in (("bob", 1, 4096), ("ann", 2, 8192), ("ann", 1, 4096)):
        name = f"SCRAM-SHA-{(256, 512)[mechanism - 1]}"
        state.put(ScramCredential(user, name, b"salt", b"stored", b"server", iterations))
    request = DescribeUserScramCredentialsRequest(None if null else [UserName(name) for name in names])
    response = encodable(await answer(handle, request, context(0, state)), 50)
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
    refused = encodable(refuse(request, 31, "no"), 50)
    assert (refused.error_code, refused.error_message) == (31, "no")
    assert [tuple(row) for row in refused.results] == [("", 31, "no", ())] * 2


def test_a_refusal_for_all_users_has_the_error_alone() -> None:
    assert encodable(refuse(DescribeUserScramCredentialsRequest(None), 31, "no"), 50).results == []
