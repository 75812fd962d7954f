"""The load on the page, in a browser. Skipped where there is no Chromium."""

import pytest

from tests.server.page.site import FAST, Site
from tools.chromium import MISSING, chromium

pytestmark = [pytest.mark.whole, pytest.mark.skipif(chromium() is None, reason=MISSING)]


def test_load_is_switched_on_and_brokers_and_partitions_are_listed(site: Site) -> None:
    page = site.open("#/load", FAST)
    page.wait("document.getElementById('content').innerText.includes('Load is not measured.')")
    page.tab_to("Measure load…")
    page.press("Enter")
    page.tab_to("Measure")
    page.press("Enter")
    page.wait("document.querySelectorAll('#load-of-brokers tbody tr').length === 6")
    page.wait("document.querySelector('#hottest-partitions tbody a').innerText.startsWith('foo-')")
    assert site.api.get("load").json()["sampling"] is True
