"""The load on the page, in a browser. Skipped where there is no Chromium."""

from tests.server.page.site import FAST, IN_CHROMIUM, Site

pytestmark = IN_CHROMIUM


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


def test_a_balance_by_load_shows_each_load_with_its_range(site: Site) -> None:
    page = site.page("#/plan/propose?goal=load", FAST)
    page.wait("!document.getElementById('wizard').hidden")
    page.run("document.querySelector('[name=allow_unknown]').checked = true")
    page.run("document.getElementById('propose').click()")
    page.wait("document.querySelector('#result:not([hidden]) #charts svg')")
    titles = "[...document.querySelectorAll('#charts title')].map((each) => each.textContent.split(' ')[0])"
    assert page.run(titles) == ["bytes", "in", "out", "replicas", "leaders"]
    assert page.run("document.querySelectorAll('#charts rect.range').length") == 3 * 6
    page.run("document.querySelectorAll('[name=load]').forEach((each) => { each.checked = false; })")
    page.run("document.getElementById('propose').click()")
    page.wait("document.getElementById('trouble').innerText === 'Choose at least one load.'")
