"""SaslHandshake (17), SaslAuthenticate (36): brokers authenticate clients; the relay records the user.

Both count when the broker has answered them, so that requests that were sent without waiting for answers
change nothing: the answers have the order in which the broker has processed the requests. Requests before
authentication are limited in size.
"""

from common.error_codes import ErrorCode
from protocol.frames import decode_request, parse_request
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from server.dispatch.context import unknown_principal
from server.relay.exchange import Exchange, IncomingRequest, RelayedClient, rewrite_answer, with_length
from server.relay.login import Login

FRAMED_TOKENS = range(1, 2)
"""SaslHandshake versions. After version 0 the tokens are sent without request headers, which cannot be
relayed."""

LARGEST = 512 * 1024
"""Bytes of the largest request before authentication (Kafka: sasl.server.max.receive.size)."""


def handshake(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
    """Intercept SaslHandshake."""
    if missing := incoming.missing(LARGEST, "to authenticate"):
        return missing
    mechanism = decode_request(parse_request(bytes(incoming.frame)), SaslHandshakeRequest).mechanism

    def begin(response: SaslHandshakeResponse) -> SaslHandshakeResponse:
        client.login = None if response.error_code else Login(mechanism)
        return response

    return Exchange(finish=rewrite_answer(incoming, SaslHandshakeResponse, begin))


def authenticate(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
    """Intercept SaslAuthenticate."""
    if missing := incoming.missing(LARGEST, "to authenticate"):
        return missing
    payload = bytes(incoming.frame)
    message = decode_request(parse_request(payload), SaslAuthenticateRequest).auth_bytes

    def record(response: SaslAuthenticateResponse) -> SaslAuthenticateResponse:
        login = client.login or Login("")
        if response.error_code != ErrorCode.NONE:
            client.login = None
            return response
        user = login.confirmed(message, response.auth_bytes)
        if user is not None:
            principal = f"User:{user}" if user else unknown_principal(login.mechanism, client.caller.peer)
            client.caller = client.caller._replace(principal=principal)
            client.authenticated, client.login = True, None
        return response

    # The message is kept until its answer. As a replacement it counts in what the connection holds.
    return Exchange(with_length(payload), rewrite_answer(incoming, SaslAuthenticateResponse, record))
