"""What axe-core finds on each page and in each dialog (`axe/README.md`). Skipped where there is no Chromium."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.page.site import Site
from tools.chromium import MISSING, Page, chromium

pytestmark = [pytest.mark.whole, pytest.mark.skipif(chromium() is None, reason=MISSING)]

AXE = Path(__file__).parent / "axe"

WINDOWS = [(width, dark) for width in (1280, 390) for dark in (False, True)]


def test_axe_is_the_pinned_file() -> None:
    expected, name = (AXE / "SHA256SUMS").read_text().split()
    assert hashlib.sha256((AXE / name).read_bytes()).hexdigest() == expected


def found(page: Page) -> list[Any]:
    """Return the serious and critical findings: the rule, the element, and the remedy."""
    if not page.run("Boolean(window.axe)"):
        page.run((AXE / "axe.min.js").read_text() + "; true")
    violations = json.loads(page.run("axe.run().then(result => JSON.stringify(result.violations))"))
    return [
        (each["id"], node["target"], node["failureSummary"])
        for each in violations
        for node in each["nodes"]
        if node["impact"] in ("serious", "critical")
    ]


def found_in_all_windows(page: Page) -> list[Any]:
    """Return the findings in light and dark color schemes, in wide and narrow windows."""
    reports = []
    for width, dark in WINDOWS:
        page.resize(width, dark=dark)
        reports += [(width, dark, each) for each in found(page)]
    return reports


@pytest.fixture
def busy(site: Site) -> Site:
    """A cluster with a stopped broker, a job that is rolled back, and one in which a partition moves."""
    site.post(f"jobs/{site.submit(range(5))}/rollback")
    site.submit(range(20, 60))
    site.post("brokers/6/stop")
    return site


def test_axe_finds_what_is_wrong(busy: Site) -> None:
    page = busy.open()
    page.run("document.body.append(document.createElement('img'), document.createElement('select'))")
    assert {rule for rule, *_ in found(page)} >= {"image-alt", "select-name"}


@pytest.mark.parametrize("path", ["", "#job-3", "history.html", "proposals.html", "submit.html"])
def test_axe_finds_nothing_serious_on_a_page(busy: Site, path: str) -> None:
    page = busy.page(path)
    page.wait("document.querySelector('main, #content') && document.readyState === 'complete'")
    page.wait("!document.querySelector('#content')?.hidden")
    assert found_in_all_windows(page) == []


@pytest.mark.parametrize("button", ["Pause…", "Priority…", "Cancel…", "Roll back…", "Change…"])
def test_axe_finds_nothing_serious_in_a_dialog(busy: Site, button: str) -> None:
    page = busy.open()
    page.wait("document.querySelector('#jobs tbody tr')")
    page.run(
        f"[...document.querySelectorAll('button')].find(e => e.innerText === {json.dumps(button)}).click()"
    )
    page.wait("document.querySelector('dialog[open]')")
    assert found_in_all_windows(page) == []
