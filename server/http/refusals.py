"""Requests that are refused before the application sees them: of other sites, for other hosts, or malformed.

The HTTP API acts with reassignd's own rights for every client that can connect. A page of another site can
send requests from the browser of a permitted user; the headers Origin and Sec-Fetch-Site show that. It can
also read the answers if its host name resolves to this machine (DNS rebinding); then only the Host header
shows it. The raw headers are checked, before anything parses them.
"""

from collections.abc import Collection, Iterable

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from server.http.allowed_hosts import AllowedHosts

OWN_SITE = frozenset({"same-origin", "none"})
"""`none` is sent for addresses that the user typed or opened from a bookmark."""

APIS = ("/v1", "/kafkacruisecontrol")
"""Beginnings of paths to which no site may lead: their requests start and show things."""

SHOWN_LENGTH = 80
"""Characters of a header in an error message."""


def refuse_other_sites(app: ASGIApp, hosts: AllowedHosts | None, exempt: Collection[str]) -> ASGIApp:
    """Wrap the application: answer 403 to requests of other sites, except on the `exempt` paths.

    Without `hosts` the Host header is not checked: browsers cannot connect to a unix socket, and with TLS the
    certificate has the name.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        reason = None if path in exempt else _refusal(Headers(scope=scope), hosts, scope["method"], path)
        if reason is None:
            await app(scope, receive, send)
        else:
            await JSONResponse({"error": f"not allowed {reason}"}, 403)(scope, receive, send)

    return answer


def _refusal(headers: Headers, allowed: AllowedHosts | None, method: str, path: str) -> str | None:
    hosts = headers.getlist("host")
    if allowed is not None and (len(hosts) != 1 or not allowed.accepts(hosts[0])):
        shown = ", ".join(hosts)[:SHOWN_LENGTH]
        return (
            f"for the host {shown!r}: use 127.0.0.1 or localhost, or add the name to http.allowed.hosts"
            if shown
            else "without a Host header"
        )
    if not _is_navigation(headers, method, path) and not OWN_SITE.issuperset(
        headers.getlist("sec-fetch-site")
    ):
        return "from a page of another site"
    return _other_origin(headers.getlist("origin"), hosts)


def _other_origin(origins: Iterable[str], hosts: Collection[str]) -> str | None:
    """Return the reason if an Origin header is not this site.

    Browsers write host and port in Origin and Host in the same form, and omit the same default ports.
    """
    for origin in origins:
        _, _, host_and_port = origin.partition("://")
        if not host_and_port or host_and_port.lower() not in {host.lower() for host in hosts}:
            return f"from a page of {origin[:SHOWN_LENGTH]!r}"
    return None


def _is_navigation(headers: Headers, method: str, path: str) -> bool:
    """Return whether the user follows a link to the page or to the metrics.

    The site with the link cannot read the answer.
    """
    destination = headers.getlist("sec-fetch-mode"), headers.getlist("sec-fetch-dest")
    return method == "GET" and not path.startswith(APIS) and destination == (["navigate"], ["document"])


def refuse_other_targets(app: ASGIApp) -> ASGIApp:
    """Wrap the application: answer 400 to targets that do not begin with a slash.

    RFC 9112, 3.2.1, calls this the origin-form. The target is decoded before routes are compared with it. So
    `%2Fv1%2F@host`, which is no path, would match a route, and what is made of it, such as the URL of another
    instance, would mean another host.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["raw_path"].startswith(b"/"):
            await app(scope, receive, send)
        else:
            refusal = JSONResponse({"error": "the target of a request must begin with /"}, 400)
            await refusal(scope, receive, send)

    return answer


def refuse_two_lengths(app: ASGIApp) -> ASGIApp:
    """Wrap the application: answer 400 to Content-Length beside Transfer-Encoding, and close the connection.

    A proxy before this server may take the other length, and then sees other requests (RFC 9112, 6.3 and
    11.2).
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            error = {"error": "a request must not have both Content-Length and Transfer-Encoding"}
            await JSONResponse(error, 400, {"connection": "close"})(scope, receive, send)
        else:
            await app(scope, receive, send)

    return answer
