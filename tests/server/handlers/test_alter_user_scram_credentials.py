"""AlterUserScramCredentials (51)."""

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
from server.handlers.alter_user_scram_credentials import handle, refuse
from tests.server.fakes import FakeDriver, answer, context, encodable
from tests.server.security.test_scram_credentials import upsertion

REQUEST = AlterUserScramCredentialsRequest(
    [ScramCredentialDeletion("bob", 1)], [upsertion("ann"), upsertion("eve", mechanism=9)]
)


async def test_valid_users_are_submitted_and_the_others_refused() -> None:
    driver = FakeDriver([Outcome(ErrorCode.RESOURCE_NOT_FOUND, "none"), DONE])
    state = State(mode=EMBEDDED)
    state.put_by_class[ScramCredential](ScramCredential("bob", "SCRAM-SHA-256", b"", b"", b"", 4096))
    response = encodable(await answer(handle, REQUEST, context(0, state, driver=driver)), 51)
    (event,) = driver.events
    assert isinstance(event, AlterScramCredentials)
    assert [change.user for change in event.users] == ["bob", "ann"]
    assert [tuple(row) for row in response.results] == [
        ("bob", ErrorCode.RESOURCE_NOT_FOUND, "none"),
        ("ann", 0, None),
        ("eve", ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
    ]


def test_a_refusal_is_repeated_for_each_user() -> None:
    refused = encodable(refuse(REQUEST, 31, "no"), 51)
    assert [tuple(row) for row in refused.results] == [(user, 31, "no") for user in ("bob", "ann", "eve")]
