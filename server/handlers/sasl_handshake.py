"""SaslHandshake (17), versions 0-1.

KIP: 43, 152 (v1, tokens in SaslAuthenticate requests), 368. A connection that has to log in handles it before
the router (`server.security.login`); what reaches this handler comes at a wrong time.
ACL: none.
Errors: UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE.
"""

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from server.dispatch.context import Context
from server.dispatch.registry import handles


def refuse(_request: SaslHandshakeRequest, code: int, _message: str | None) -> SaslHandshakeResponse:
    """Return a response that contains only the error code."""
    return SaslHandshakeResponse(code)


@handles(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest, versions=(0, 1), refuse=refuse)
def handle(request: SaslHandshakeRequest, _context: Context) -> SaslHandshakeResponse:
    """Refuse a handshake on a listener without SASL, as Kafka does."""
    return refuse(request, ErrorCode.ILLEGAL_SASL_STATE, None)
