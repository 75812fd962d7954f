"""The files of the page. Their headers forbid other sites' content, and scripts other than the page's own."""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

FOLDERS = ("", "pages/")
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def _found() -> dict[str, str]:
    root = files(__package__)
    return {
        folder + file.name: MEDIA_TYPES[suffix]
        for folder in FOLDERS
        for file in sorted((root.joinpath(folder) if folder else root).iterdir(), key=lambda each: each.name)
        if (suffix := file.name[file.name.rfind(".") :]) in MEDIA_TYPES
    }


TYPES: Final = _found()
"""Path of a file -> its media type."""

MOVED = {
    "submit.html": "./#/plan",
    "proposals.html": "./#/plan/propose",
    "history.html": "./#/history",
}
"""Path of a document of earlier versions -> the page that has its content now."""

# `data:` is for the icon of the tab, which the page draws with the progress of the jobs.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def document() -> Response:
    """Return the page."""
    return _file("index.html")


def assets() -> list[BaseRoute]:
    """Return the routes of the files that the page loads, and of the addresses that have moved."""
    return [
        *(Route(f"/{name}", _serve(name)) for name in TYPES if name != "index.html"),
        *(Route(f"/{name}", _redirect(address)) for name, address in MOVED.items()),
    ]


def _serve(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_: Request) -> Response:
        return _file(name)

    return serve


def _redirect(address: str) -> Callable[[Request], Awaitable[Response]]:
    async def redirect(_: Request) -> Response:
        return RedirectResponse(address, headers=HEADERS)

    return redirect


def _file(name: str) -> Response:
    content = files(__package__).joinpath(name).read_bytes()
    return Response(content, headers=HEADERS, media_type=TYPES[name])
