"""Refuses requests that state the length of their body in two ways.

A proxy before this server may take the other length, and then sees other requests than this one (RFC 9112, 6.3 and 11.2).
"""

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


def refuse_two_lengths(app: ASGIApp) -> ASGIApp:
    """Wrap the application: answer 400 to Content-Length beside Transfer-Encoding, and close the connection."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            error = {"error": "a request must not have both Content-Length and Transfer-Encoding"}
            await JSONResponse(error, 400, {"connection": "close"})(scope, receive, send)
        else:
            await app(scope, receive, send)

    return answer
