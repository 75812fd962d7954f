"""Sphinx settings of the documentation site: the Markdown files of the repository, as they are.

`make docs` builds the site. Its source folder is the root of the repository, so links between files are the
same here and where the repository is hosted. Pages load nothing from other hosts.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

from reassignd import __version__

project = "reassignd"
version = release = __version__
project_copyright = "reassignd contributors. Apache License 2.0"

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "examples/*.md"]
source_suffix = {".md": "markdown"}
nitpicky = True

myst_heading_anchors = 4

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"reassignd {release}"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

NAVIGATION = {
    "Start": ["install", "guide", "console", "recipes", "/examples/README"],
    "Ways to run it": ["gateway", "high-availability", "kubernetes", "strimzi", "embedded", "zookeeper"],
    "Plans": ["proposals", "load", "planner", "pace", "cruise-control"],
    "Operations": ["operations", "troubleshooting", "faq", "observability", "security"],
    "Reference": ["cli", "configuration", "api", "metrics", "errors", "glossary"],
    "How it works": ["how-it-works", "tests", "performance", "differences", "drafts", "decisions"],
    "About": ["comparison", "dependencies", "/CHANGELOG", "/CONTRIBUTING", "/SECURITY"],
}
"""Captions of the sidebar and their pages; a page is a file of docs/ unless it begins with a slash."""

STATE_DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"^ +(?P<before>\S+) --> (?P<after>[^:\n]+): (?P<label>.+)$", re.MULTILINE)


def navigation() -> str:
    """Return the sidebar as tables of contents that are not shown in the page."""
    return "".join(
        "\n```{toctree}\n:hidden:\n:caption: "
        + caption
        + "\n\n"
        # From the root of the repository, as README.md is there.
        + "".join(f"{page}\n" if page.startswith("/") else f"docs/{page}\n" for page in pages)
        + "```\n"
        for caption, pages in NAVIGATION.items()
    )


def table(diagram: re.Match[str]) -> str:
    """Return the arrows of a Mermaid diagram as a table: a page that draws it would need a script of 3 MB."""
    rows = (
        f"| {arrow['before']} | {arrow['label']} | {arrow['after']} |\n"
        for arrow in ARROW.finditer(diagram[1])
    )
    return "| from | event | to |\n|---|---|---|\n" + "".join(rows)


def prepare(_: Sphinx, document: str, source: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    source[0] = STATE_DIAGRAM.sub(table, source[0])
    if document == root_doc:
        source[0] += navigation()


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Let the address of the site lead to its first page."""
    if error is None:
        page = f'<!doctype html><meta charset="utf-8"><title>{project}</title>'
        page += (
            f'<meta http-equiv="refresh" content="0; url={root_doc}.html"><a'
            f' href="{root_doc}.html">{project}</a>\n'
        )
        (Path(app.outdir) / "index.html").write_text(page, "utf-8")


def setup(app: Sphinx) -> None:
    """Register the functions above."""
    app.connect("source-read", prepare)
    app.connect("build-finished", write_index)
