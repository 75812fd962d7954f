"""SaslHandshake (17) outside of a login."""

from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from server.handlers.sasl_handshake import handle
from tests.server.fakes import answer, context, encodable


async def test_a_listener_without_sasl_refuses_a_handshake() -> None:
    response = encodable(await answer(handle, SaslHandshakeRequest("PLAIN"), context(1)), 17)
    assert (response.error_code, response.mechanisms) == (34, ())
