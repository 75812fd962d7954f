"""The files of the page. Their headers forbid other sites' content, and scripts other than the page's own.

What the HTML documents share is written once: the head, the links to each other, and the form for a token.
"""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from string import Template

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

PAGES = {
    "index.html": ("Jobs", "reassignd"),
    "submit.html": ("Submit a plan", "reassignd: submit a plan"),
    "proposals.html": ("Propose a plan", "reassignd: propose a plan"),
    "history.html": ("History", "reassignd: history"),
}
"""Name of a file -> its link in the navigation, and its title."""

_HEAD = """<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="page.css">"""

_LOGIN = """<form id="login" hidden>
    <label for="token">Token of <code>http.access.file</code> or <code>http.token.file</code></label>
    <input id="token" type="password" autocomplete="off" required>
    <button>Show</button>
  </form>
  <p id="trouble" role="alert" hidden></p>"""


def complete(name: str, text: str) -> str:
    """Return the document with `$head`, `$nav` and `$login` replaced. A dollar sign is written `$$`."""
    _, title = PAGES[name]
    return Template(text).substitute(head=_HEAD.format(title=title), nav=_nav(name), login=_LOGIN)


def _nav(name: str) -> str:
    links = " ".join(
        f'<a href="{_path(each)}"{_CURRENT if each == name else ""}>{label}</a>'
        for each, (label, _) in PAGES.items()
    )
    return f'<nav aria-label="Pages">{links}</nav>'


_CURRENT = ' aria-current="page"'


def _path(name: str) -> str:
    return "." if name == "index.html" else name


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
