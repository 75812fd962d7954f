"""Refuses requests whose target is not a path.

The target is decoded before routes are compared with it. So `%2Fv1%2F@host`, which is no path, would match a route, and what
is made of it, such as the URL of another instance, would mean another host.
"""

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


def refuse_other_targets(app: ASGIApp) -> ASGIApp:
    """Wrap the application: answer 400 to targets that do not begin with a slash (RFC 9112, 3.2.1: origin-form)."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["raw_path"].startswith(b"/"):
            await app(scope, receive, send)
        else:
            refusal = JSONResponse({"error": "the target of a request must begin with /"}, 400)
            await refusal(scope, receive, send)

    return answer
