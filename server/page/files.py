"""The files of the page. Their headers forbid other sites' content, and scripts other than the page's own."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from server.page.documents import PAGES, complete

SCRIPTS = (
    "api",
    "confirm",
    "dom",
    "format",
    "jobs",
    "limits",
    "overview",
    "pace",
    "pace_limit",
    "page",
    "parts",
    "rates",
    "schedule",
    "svg",
    "throughput",
)
"""Modules of the page: `page` is the first one, and imports the others."""

OTHER_SCRIPTS = ("broker_figures", "forecast", "history", "proposals", "review", "save", "session", "submit")
"""Modules of the other pages; they also import modules of the first one."""

TYPES = {
    **dict.fromkeys(PAGES, "text/html"),
    "page.css": "text/css",
    "forms.css": "text/css",
    **{f"{name}.js": "text/javascript" for name in (*SCRIPTS, *OTHER_SCRIPTS)},
}

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def document() -> Response:
    """Return the page."""
    return _file("index.html")


def assets() -> list[BaseRoute]:
    """Return the routes of the files that the page loads."""
    return [Route(f"/{name}", _serve(name)) for name in TYPES if name != "index.html"]


def _serve(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_: Request) -> Response:
        return _file(name)

    return serve


def _file(name: str) -> Response:
    content = files(__package__).joinpath(name).read_bytes()
    if name in PAGES:
        content = complete(name, content.decode()).encode()
    return Response(content, headers=HEADERS, media_type=TYPES[name])
