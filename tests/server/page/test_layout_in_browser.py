"""The layout of each page and state in three windows, in light and dark, and targets for thumbs.

`REASSIGND_KEEP_LAYOUTS=1 pytest tests/server/page/test_layout_in_browser.py` renews what the layouts are
compared with. Skipped where there is no Chromium.
"""

import os
from collections.abc import Iterator

import pytest

from tests.reassignd.shell import SLOW
from tests.server.page.layout import difference, keep, kept, layout
from tests.server.page.site import FAST, IN_CHROMIUM, Open, Site, refreshed, running
from tools.chromium import Browser, Page

pytestmark = [*IN_CHROMIUM, pytest.mark.usefixtures("closed_tabs")]

WINDOWS = (("1440", 1440, False), ("1440 dark", 1440, True), ("1024", 1024, False), ("390", 390, False))
"""Name, width, and whether the theme is dark: the edges of parts do not depend on the theme."""
PAGES = (
    "", "map", "jobs", "jobs/1", "brokers", "brokers/2", "topics", "topics/foo", "topics/foo/0", "plan",
    "load", "plan/propose", "settings", "history", "nowhere",
)  # fmt: skip

LOW = """
[...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter((node) => {
  if (!node.checkVisibility() || node.disabled || node.closest("thead")) return false;
  const target = node.closest("label") ?? node;
  const heights = [target, node].map((each) => each.getBoundingClientRect().height);
  const reach = [target, node].map((each) => parseFloat(getComputedStyle(each, "::after").height) || 0);
  return Math.max(...heights, ...reach) < 43.5;
}).map((node) => node.outerHTML)
"""
"""Targets that are lower than 44 px, with what reaches beyond their edges."""


def compare(name: str, page: Page) -> None:
    """Compare the layout with the kept one, in all windows."""
    found = {}
    for window, width, dark in WINDOWS:
        page.resize(width, dark=dark)
        refreshed(page, 3)
        found[f"{name} {window}"] = layout(page)
        assert page.outside() == []
    if os.environ.get("REASSIGND_KEEP_LAYOUTS"):
        keep(found)
    before = kept()
    assert {each: difference(before[each], parts) for each, parts in found.items()} == dict.fromkeys(
        found, ""
    )


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A cluster with a job that is paused and a broker that is stopped: nothing changes any more."""
    with running(tmp_path_factory.mktemp("still"), SLOW, browser) as site:
        site.submit(range(40), params={"paused": "true"})
        site.post("brokers/6/stop")
        site.until(lambda: site.api.get("status").json()["incoming"])  # once sizes are measured
        yield site


@pytest.mark.parametrize("path", PAGES)
def test_a_page_looks_as_before_and_thumbs_hit_it(still: Site, path: str) -> None:
    page = still.open(f"#/{path}", FAST)
    compare(path or "overview", page)
    assert page.run(LOW) == []


def test_the_login_looks_as_before(locked: Site) -> None:
    page = locked.page("", FAST)
    page.wait("!document.getElementById('login').hidden")
    compare("login", page)


def test_an_empty_cluster_looks_as_before(site: Site) -> None:
    compare("no jobs", site.open("", FAST))


def test_a_review_looks_as_before(still: Site) -> None:
    page = still.open("#/plan", FAST)
    page.run("document.getElementById('plan').focus()")
    page.type('{"partitions": [{"topic": "foo", "partition": 99, "replicas": [1, 2, 3]}]}')
    page.wait("!document.getElementById('review').hidden")
    compare("review", page)


def test_a_server_that_has_ended_looks_as_before(start: Open) -> None:
    site = start()
    page = site.open("", FAST)
    site.server.kill()
    page.wait("!document.getElementById('trouble').hidden")
    compare("unreachable", page)
