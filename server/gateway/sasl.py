"""SaslHandshake (17) and SaslAuthenticate (36): the upstream authenticates. The gateway only notes that it has.

Before that, requests must be small.
"""

from protocol.errors import ErrorCode
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from server.gateway.exchange import Asked, Client, Exchange, rewritten

SCRAM_VERIFIER = b"v="
"""How the last message of a SCRAM server begins (RFC 5802); the other mechanisms end without a word."""


def authenticate(asked: Asked, client: Client) -> Exchange:
    """The rule of SaslAuthenticate; the handshake needs none."""

    def note(response: SaslAuthenticateResponse) -> SaslAuthenticateResponse:
        said = response.auth_bytes
        if response.error_code == ErrorCode.NONE and (not said or said.startswith(SCRAM_VERIFIER)):
            client.authenticated = True
        return response

    return Exchange(finish=rewritten(asked, note))
