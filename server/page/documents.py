"""The HTML documents. What they share is written once: the head, the links to each other, and the form for a token."""

from string import Template

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
