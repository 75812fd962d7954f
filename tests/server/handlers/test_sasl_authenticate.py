"""SaslAuthenticate (36) outside of a login."""

from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from server.handlers.sasl_authenticate import TOO_LATE, handle
from tests.server.fakes import answer, context, encodable


async def test_a_token_outside_of_a_login_is_refused() -> None:
    response = encodable(await answer(handle, SaslAuthenticateRequest(b"token"), context(2)), 36)
    assert (response.error_code, response.error_message) == (34, TOO_LATE)
