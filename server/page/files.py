"""The files of the page. Their headers forbid other sites' content, and scripts other than the page's own.

Browsers get them compressed, all modules at once instead of one after the import of the other, and again only
after they have changed.
"""

import gzip
from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Final, NamedTuple

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

WORKER = "event_worker.js"
"""The module of the worker that all tabs of a browser share. The document does not load it."""

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


class _File(NamedTuple):
    content: bytes
    compressed: bytes
    tag: str
    """The ETag: it changes with the content."""


def document(request: Request) -> Response:
    """Return the page."""
    return _answer(request, "index.html")


def assets() -> list[BaseRoute]:
    """Return the routes of the files that the page loads, and of the addresses that have moved."""
    return [
        *(Route(f"/{name}", _serve(name)) for name in TYPES if name != "index.html"),
        *(Route(f"/{name}", _redirect(address)) for name, address in MOVED.items()),
    ]


def _serve(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return _answer(request, name)

    return serve


def _redirect(address: str) -> Callable[[Request], Awaitable[Response]]:
    async def redirect(_: Request) -> Response:
        return RedirectResponse(address, headers=HEADERS)

    return redirect


def _answer(request: Request, name: str) -> Response:
    file = _read(name)
    headers = {**HEADERS, "etag": file.tag, "vary": "accept-encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.content, headers=headers, media_type=TYPES[name])
    headers["content-encoding"] = "gzip"
    return Response(file.compressed, headers=headers, media_type=TYPES[name])


@cache
def _read(name: str) -> _File:
    content = files(__package__).joinpath(name).read_bytes()
    if name == "index.html":
        content = content.replace(b"</head>", _preloads() + b"</head>")
    tag = blake2b(content, digest_size=12).hexdigest()
    return _File(content, gzip.compress(content, mtime=0), f'"{tag}"')


def _preloads() -> bytes:
    modules = (name for name, each in TYPES.items() if each == "text/javascript" and name != WORKER)
    return "".join(f'<link rel="modulepreload" href="{name}">\n' for name in modules).encode()
