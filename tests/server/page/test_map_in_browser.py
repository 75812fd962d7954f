"""The map of the cluster in a browser. Skipped where there is no Chromium."""

import pytest

from bench.map_speed import ANSWERS
from tests.server.page.site import FAST, IN_CHROMIUM, WITH_MARKUP, Site
from tools.chromium import Page

pytestmark = IN_CHROMIUM

TILES = "document.querySelectorAll('.map [data-broker]')"


def opened(site: Site, path: str = "#/map", before: str = FAST) -> Page:
    page = site.open(path, before)
    page.wait(f"{TILES}.length === 6")
    return page


def label(page: Page, broker: int) -> str:
    text: str = page.run(
        f"document.querySelector('.map [data-broker=\"{broker}\"]').getAttribute('aria-label')"
    )
    return text.replace("\xa0", " ")


def test_each_broker_has_a_tile_with_its_numbers(site: Site) -> None:
    page = opened(site)
    assert label(page, 2).startswith("Broker 2")
    assert "replicas" in label(page, 2)
    assert "broker" in page.run("document.querySelector('.map .blocks').textContent")
    assert "Nothing is left to copy." in page.text("main")


def test_each_directory_has_a_bar_and_a_full_one_is_seen(site: Site) -> None:
    full = """
    const read = Response.prototype.json;
    Response.prototype.json = async function () {
      const body = await read.call(this);
      const broker = Array.isArray(body.brokers) && body.brokers.find(({ id }) => id === 2);
      const dir = (used, place) => ({ ...broker.log_dirs[place], total: 1000, used });
      if (broker) broker.log_dirs = [100, 950].map(dir);
      return body;
    };"""
    page = opened(site, before=FAST + full)
    assert "directories 95 %, 10 %" in label(page, 2)
    tile = "document.querySelectorAll('.map [data-broker=\"2\"] .level')"
    assert page.run(f"[...{tile}].map((each) => each.getAttribute('class'))") == ["level full", "level fine"]


def test_what_is_left_flows_along_arrows(site: Site) -> None:
    site.post("pause")
    site.submit(range(40))
    page = opened(site)
    page.wait("document.querySelectorAll('.map .arrows .way').length > 3")
    page.wait("document.querySelectorAll('.map .labels text').length")
    assert "left to copy." in page.text("main")


INSIDE = """
(() => {
  const tiles = [...document.querySelectorAll(".map .face")].map((each) => each.getBBox());
  const within = ({ x, y }) => tiles.some((tile) =>
    x > tile.x && x < tile.x + tile.width && y > tile.y && y < tile.y + tile.height);
  return [...document.querySelectorAll(".map .way")].filter((way) => {
    const length = way.getTotalLength();
    return Array.from({ length: 100 }, (_, place) => way.getPointAtLength(length * place / 99)).some(within);
  }).length;
})()
"""
"""The number of arrows that pass a tile."""


@pytest.mark.parametrize("width", [1440, 900])
def test_arrows_between_outer_racks_pass_below_the_rack_between_them(site: Site, width: int) -> None:
    site.post("pause")
    site.submit(range(60))
    page = opened(site)
    page.resize(width)
    page.wait("document.querySelectorAll('.map .arrows .way').length > 12")
    page.wait("/L.*Q.*Q.*Q.*Q/.test(document.querySelector('.map .arrows').innerHTML)")
    assert page.run(INSIDE) == 0


LEFT = """
const read = Response.prototype.json;
Response.prototype.json = async function () {
  const body = await read.call(this);
  const gone = (_, place) => ({ ...body.brokers[0], id: 100 + place, state: "offline" });
  const all = () => [...body.brokers, ...Array.from({ length: 60 }, gone)];
  return Array.isArray(body.brokers) ? { ...body, brokers: all() } : body;
};
"""
"""Sixty brokers that are not registered still hold replicas, so the flows are not those of racks."""


def test_flows_between_brokers_are_not_told_as_those_of_racks(site: Site) -> None:
    site.post("pause")
    site.submit(range(40))
    page = site.open("#/map", FAST + LEFT)
    page.wait("document.querySelectorAll('.map .arrows .way').length > 3")
    assert "left to copy from" not in page.run("document.querySelector('.map .blocks').textContent")


def test_an_old_view_is_shown_as_old(site: Site) -> None:
    old = """
    const read = Response.prototype.json;
    Response.prototype.json = async function () {
      const body = await read.call(this);
      return "measured_ms" in body ? { ...body, measured_ms: Date.now() - 300_000 } : body;
    };"""
    page = opened(site, before=FAST + old)
    page.wait("document.querySelector('.basis').classList.contains('warn')")
    assert "izes were measured 5 min" in page.text(".basis")
    assert not opened(site).run("document.querySelector('.basis').classList.contains('warn')")


def test_a_stopped_broker_is_marked(site: Site) -> None:
    site.post("brokers/6/stop")
    page = opened(site)
    page.wait("document.querySelector('.map [data-broker=\"6\"]').classList.contains('down')")
    assert "offline" in label(page, 6)


def test_a_broker_is_chosen_by_keyboard(site: Site) -> None:
    site.post("pause")
    site.submit(range(40))
    page = opened(site)
    page.wait("document.querySelectorAll('.map .arrows .flow').length > 3")
    page.run("document.querySelector('.map [tabindex=\"0\"]').focus()")
    first = page.run("document.activeElement.dataset.broker")
    page.press("ArrowDown")
    page.press("ArrowRight")
    other = page.run("document.activeElement.dataset.broker")
    assert other != first
    page.press("Enter")
    page.wait("document.querySelectorAll('.map .arrows .faint').length")
    page.wait(f"document.querySelector('.chosen-broker').innerText.includes('Broker {other}')")
    page.wait("/Gets|Gives/.test(document.querySelector('.chosen-broker').innerText)")
    page.tab_to("Show all flows")
    page.press("Enter")
    page.wait("!document.querySelectorAll('.map .arrows .faint').length")


def test_the_same_is_a_table(site: Site) -> None:
    site.post("pause")
    site.submit(range(40))
    page = opened(site)
    page.tab_to("Table")
    page.press("Enter")
    page.wait("document.querySelectorAll('#flow-brokers tbody tr').length === 6")
    page.wait("document.querySelectorAll('#flows tbody tr').length > 3")
    assert page.text("#flows tbody tr").startswith("broker ")


def test_a_large_cluster_has_a_legend_of_signs_and_a_table_that_ends(site: Site) -> None:
    page = site.open("#/map", ANSWERS % (500, 5))
    page.wait(f"{TILES}.length === 500")
    assert page.text(".keys").endswith("cordoned or excluded")
    page.tab_to("Table")
    page.press("Enter")
    page.wait("document.querySelectorAll('#flow-brokers tbody tr').length === 60")
    assert "The first 60. All brokers" in page.text("main")


def test_arrows_between_racks_of_a_large_cluster_pass_no_broker(site: Site) -> None:
    page = site.open("#/map", ANSWERS % (500, 5))
    page.wait("document.querySelectorAll('.map .arrows .way').length === 25")
    edge = "Math.%s(...[...document.querySelectorAll('%s')].map((node) => node.getBoundingClientRect().%s))"
    lowest = page.run(edge % ("max", ".map [data-broker]", "bottom"))
    assert page.run(edge % ("min", ".map .arrows .way", "top")) > lowest
    page.wait("document.querySelector('.map .blocks').textContent.includes('left to copy from')")


def test_a_phone_shows_the_tables_first(site: Site) -> None:
    page = site.page()
    page.resize(390)
    page.go("about:blank")
    page.go(f"{site.url}#/map")
    page.wait("document.querySelectorAll('#flow-brokers tbody tr').length === 6")
    assert page.outside() == []


def test_racks_with_markup_are_shown_as_text(site: Site) -> None:
    page = site.open("#/map", WITH_MARKUP)
    page.wait(f"{TILES}.length === 6")
    assert page.run("document.images.length") == 0


@pytest.mark.parametrize("width", [1024, 1440])
def test_nothing_is_outside_of_the_window(site: Site, width: int) -> None:
    site.post("pause")
    site.submit(range(40))
    page = opened(site)
    page.resize(width, dark=True)
    page.wait("document.querySelectorAll('.map .arrows .way').length > 3")
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
