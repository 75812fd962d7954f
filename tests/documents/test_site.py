"""The documentation site: it is built without a warning, is complete without a network, and fits a phone."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.chromium import MISSING, Browser, chromium

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r'<(?:script|img|iframe)\b[^>]*\bsrc="([^"]*)"|<link\b[^>]*\bhref="([^"#]*)"')
ELSEWHERE = re.compile(r"(?:@import|url\()[^;)]*//[^;)]*")
PHONE = 390

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--conf-dir", "docs"]
    done = subprocess.run([*build, ".", folder], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip(MISSING)
    browser = Browser(program)
    yield browser
    browser.close()


def test_all_documents_are_pages(site: Path) -> None:
    sources = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    assert {each.relative_to(ROOT).with_suffix(".html") for each in sources} <= {
        each.relative_to(site) for each in site.rglob("*.html")
    }


def test_pages_load_only_files_of_the_site(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = ["".join(each).partition("?")[0] for each in LOADED.findall(page.read_text("utf-8"))]
        assert loaded or page.name == "index.html"
        assert [each for each in loaded if not (page.parent / each).exists()] == [], page


def test_style_sheets_load_nothing_from_elsewhere(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert sheets
    assert [found for sheet in sheets for found in ELSEWHERE.findall(sheet.read_text("utf-8"))] == []


def test_diagrams_of_states_are_tables(site: Path) -> None:
    page = (site / "docs" / "how-it-works.html").read_text("utf-8")
    assert "stateDiagram" not in page
    [(label, after)] = re.findall(r"<td><p>idle</p></td>\s*<td><p>(.+)</p></td>\s*<td><p>(.+)</p></td>", page)
    assert (label, after) == ("accept", "queued")


def test_pages_fit_a_phone(site: Path, browser: Browser) -> None:
    page = browser.open()
    page.resize(PHONE)
    for each in sorted(site.glob("docs/*.html")):
        page.go(each.as_uri())
        assert page.run("document.documentElement.scrollWidth") <= PHONE, each.name
