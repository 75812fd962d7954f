"""Rules of the documentation: the files, sections and modules that it names exist."""

import re
from pathlib import Path

import pytest

from reassignd.config.config import KEYS
from tests.test_layout import PACKAGES, ROOT, name_of

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = "|".join((*PACKAGES, "bench", "campaigns", "tests", "docs", "schemas"))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
PATH = re.compile(rf"`((?:{FOLDERS})/[^`*\s]*)`")
MODULE = re.compile(rf"`(?:python -m )?((?:{FOLDERS})(?:\.[a-z_]+)+)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the page's headings, in the form of GitHub."""
    headings = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def module_exists(name: str) -> bool:
    """Return whether the name is that of a module, a package, a name in one of them, or a setting."""
    if name in KEYS or name == "server.properties":
        return True
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or any(each.with_suffix(".py").exists() for each in (path, path.parent))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_sections(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text("utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_files_and_modules_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []
    assert [name for name in MODULE.findall(text) if not module_exists(name)] == []
