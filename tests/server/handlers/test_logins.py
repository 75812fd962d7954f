"""SaslHandshake (17) and SaslAuthenticate (36) outside of a login."""

from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from server.handlers import sasl_authenticate, sasl_handshake
from tests.server.fakes import answer, context, encodable


async def test_a_listener_without_sasl_refuses_a_handshake() -> None:
    response = encodable(await answer(sasl_handshake.handle, SaslHandshakeRequest("PLAIN"), context(1)), 17)
    assert (response.error_code, response.mechanisms) == (34, ())


async def test_a_token_outside_of_a_login_is_refused() -> None:
    response = encodable(
        await answer(sasl_authenticate.handle, SaslAuthenticateRequest(b"token"), context(2)), 36
    )
    assert (response.error_code, response.error_message) == (34, sasl_authenticate.TOO_LATE)
