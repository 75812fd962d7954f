"""The page's files, served with headers that let it load nothing from anywhere else, and run nothing but its own script."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

TYPES = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def document() -> Response:
    """The page itself."""
    return _file("index.html")


def assets() -> list[BaseRoute]:
    """Routes for what the page loads."""
    return [Route(f"/{name}", _served(name)) for name in TYPES if name != "index.html"]


def _served(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_: Request) -> Response:
        return _file(name)

    return serve


def _file(name: str) -> Response:
    content = files(__package__).joinpath(name).read_bytes()
    return Response(content, headers=HEADERS, media_type=TYPES[name])
