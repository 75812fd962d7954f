"""Requests that a browser sends on behalf of another site are refused.

HTTP acts with reassignd's own rights for whoever can reach it. A page of another site can send requests from the browser of
somebody who can (Origin and Sec-Fetch-Site tell), and can read the answers too once its own name resolves to this machine:
DNS rebinding. Then only the Host header gives it away. It is judged as it came, before anything has parsed it.
"""

import re
from collections.abc import Collection, Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9][A-Za-z0-9._-]{0,252}))(?::[0-9]{1,5})?")
"""A name or an IPv4 address, or an IPv6 address in brackets, and perhaps a port. Nothing else that RFC 3986 allows."""

OWN_SITE = frozenset({"same-origin", "none"})
"""`none` is what somebody typed or opened from a bookmark."""

SHOWN = 80
"""Characters of a header in the refusal."""


class Names:
    """The names and addresses of this server in a Host header: loopback, those `allowed`, and with `addresses` every IP address.

    An address cannot be rebound: the browser has connected to it because the user's URL had it.
    """

    def __init__(self, allowed: Collection[str] = (), *, addresses: bool = False) -> None:
        self._allowed = {"localhost", *(name.lower() for name in allowed)}
        self._addresses = addresses

    def has(self, host: str) -> bool:
        """The Host header is one of them."""
        match = HOST.fullmatch(host)
        if match is None:
            return False
        name = (match[1] or match[2]).lower()
        if name in self._allowed:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or (self._addresses and not address.is_unspecified)


def is_local(host: str) -> bool:
    """The name or address leads to this machine and no other."""
    return Names().has(f"[{host}]" if ":" in host else host)


def from_this_site(app: ASGIApp, names: Names | None, exempt: Collection[str]) -> ASGIApp:
    """The application, which is not asked on behalf of other sites; the paths that are `exempt` are open to all.

    Without `names` the Host header is not judged: no browser reaches a unix socket, and over TLS the certificate has the name.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        reason = None if path in exempt else _refusal(Headers(scope=scope), names, scope["method"], path)
        if reason is None:
            await app(scope, receive, send)
        else:
            await JSONResponse({"error": f"not allowed {reason}"}, 403)(scope, receive, send)

    return answer


def _refusal(headers: Headers, names: Names | None, method: str, path: str) -> str | None:
    hosts = headers.getlist("host")
    if names is not None and (len(hosts) != 1 or not names.has(hosts[0])):
        told = ", ".join(hosts)[:SHOWN]
        return (
            f"for the host {told!r}: use 127.0.0.1 or localhost, or add the name to http.allowed.hosts"
            if told
            else "without a Host header"
        )
    if not _is_navigation(headers, method, path) and not OWN_SITE.issuperset(
        headers.getlist("sec-fetch-site")
    ):
        return "from a page of another site"
    return _foreign(headers.getlist("origin"), hosts)


def _foreign(origins: Iterable[str], hosts: Collection[str]) -> str | None:
    """Browsers write name and port in Origin and Host in the same way, and leave the same ports out."""
    for origin in origins:
        _, _, place = origin.partition("://")
        if not place or place.lower() not in {host.lower() for host in hosts}:
            return f"from a page of {origin[:SHOWN]!r}"
    return None


def _is_navigation(headers: Headers, method: str, path: str) -> bool:
    """Somebody follows a link to the page, or to metrics. The site that has the link cannot read what comes."""
    asked = headers.getlist("sec-fetch-mode"), headers.getlist("sec-fetch-dest")
    return method == "GET" and not path.startswith("/v1") and asked == (["navigate"], ["document"])
