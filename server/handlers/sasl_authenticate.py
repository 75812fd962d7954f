"""SaslAuthenticate (36), versions 0-2.

KIP: 152, 368 (v1, lifetime of the session). A connection that has to log in handles it before the router
(`server.security.login`); what reaches this handler comes at a wrong time.
ACL: none.
Errors: SASL_AUTHENTICATION_FAILED, ILLEGAL_SASL_STATE.
"""

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from server.dispatch.context import Context
from server.dispatch.registry import handles

TOO_LATE = "SaslAuthenticate request received after successful authentication"


def refuse(_request: SaslAuthenticateRequest, code: int, message: str | None) -> SaslAuthenticateResponse:
    """Return a response that contains only the error."""
    return SaslAuthenticateResponse(code, message)


@handles(ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest, versions=(0, 2), refuse=refuse)
def handle(request: SaslAuthenticateRequest, _context: Context) -> SaslAuthenticateResponse:
    """Refuse a token outside of a login, as Kafka does."""
    return refuse(request, ErrorCode.ILLEGAL_SASL_STATE, TOO_LATE)
