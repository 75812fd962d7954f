"""The walk of an operator through the page by touch alone, on a phone. Skipped where there is no Chromium.

The fullest broker is found on the map and drained by a proposal that starts paused; the job is resumed,
paused and rolled back; a swipe over the week of the schedule scrolls it, and opens no hours.
"""

import json

import pytest

from tests.server.page.site import FAST, IN_CHROMIUM, Open, Site

pytestmark = IN_CHROMIUM

TARGET = """
(() => {
  const shown = (node) => node.checkVisibility() && !node.disabled;
  const within = document.querySelector("dialog[open]") ?? document;
  const all = [...within.querySelectorAll("a, button")].filter(shown);
  const node = all.find((each) => each.innerText.trim() === %s);
  if (!node) return null;
  node.scrollIntoView({ block: "center" });
  const { left, top, width, height } = node.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const above = document.elementFromPoint(x, y);
  return node === above || node.contains(above) ? { x, y } : null;
})()
"""
"""The middle of the element with this text, where nothing covers it."""


TAPS = """
window.taps = [];
addEventListener("click", ({ target }) => {
  taps.push((target.closest("a, button") ?? target).innerText.trim());
}, true);
addEventListener("contextmenu", () => taps.push(null), true);
"""
"""Keeps the texts of what was hit; null for a press too long for a tap, on a busy machine."""


class Phone:
    """An operator with a thumb."""

    def __init__(self, site: Site) -> None:
        self.site, self.page = site, site.page("", FAST + TAPS)
        self.page.resize(390, 844)
        self.page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
        self.page.go("about:blank")
        self.page.go(site.url)
        self.page.wait("!document.getElementById('content').hidden")

    def tap(self, text: str, *, then: str) -> None:
        """Tap a link or a button, again if it moves away meanwhile, and wait until the expression is true."""
        target = TARGET % json.dumps(text)
        hit = None
        while hit != text:
            self.page.wait(target)
            if place := self.page.run(target):
                taps = self.page.run("taps.length")
                self.page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[place])
                self.page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
                self.page.wait(f"taps.length > {taps}")
                hit = self.page.run("taps.at(-1)")
        self.page.wait(then)

    def confirm(self, text: str, action: str) -> None:
        """Tap a button, and the action of its dialog."""
        self.tap(text, then="document.querySelector('dialog[open]')")
        self.tap(action, then="!document.querySelector('dialog[open]')")


@pytest.fixture
def phone(start: Open) -> Phone:
    """A cluster in which a broker copies a partition in a second, one at a time."""
    site = start(**{"embedded.network.bytes.per.second": "100000"})
    site.limit(P=1)
    return Phone(site)


MIDDLE = """
(({ top, height }) => [300, top + height / 2])(document.querySelector(".week").getBoundingClientRect())
"""
"""A point of the week."""


def drain_the_fullest_broker(phone: Phone) -> None:
    page = phone.page
    phone.tap("Map", then="document.querySelector('.fullest:not([hidden])')")
    fullest = page.run("document.querySelector('.fullest').innerText.trim()")
    phone.tap(fullest, then="document.querySelector('.chosen-broker:not([hidden])')")
    phone.tap("Drain…", then="document.querySelector('#wizard:not([hidden]) [name=broker]:checked')")
    phone.tap("Propose", then="document.activeElement.id === 'result-title'")
    phone.tap("Start paused", then="document.querySelector('#started a')")
    phone.tap("Show job 1", then="document.querySelector('#parts tbody tr')")


def test_a_broker_is_drained_and_rolled_back_by_touch_alone(phone: Phone) -> None:
    site, page = phone.site, phone.page
    drain_the_fullest_broker(phone)
    assert (site.job(1)["state"], site.job(1)["moving"]) == ("paused", 0)
    phone.tap("Resume", then="document.getElementById('said').innerText === 'Job 1 is resumed.'")
    site.until(lambda: site.job(1)["done"] >= 2)
    phone.confirm("Pause…", "Pause")
    site.until(lambda: site.job(1)["state"] == "paused" and site.job(1)["moving"] == 0)
    phone.confirm("Roll back…", "Roll back")
    page.wait("document.getElementById('said').innerText.includes('Job 2 rolls back job 1.')")
    site.until(lambda: site.job(2)["state"] == "ended")
    assert page.outside() == []


def test_a_swipe_over_the_week_scrolls_it(phone: Phone) -> None:
    page = phone.page
    phone.tap("Settings", then="document.querySelector('.week.editable')")
    page.run("document.querySelector('.week').scrollIntoView({ block: 'center' })")
    [x, y] = page.run(MIDDLE)
    for kind, left in [("touchStart", 0), *(("touchMove", each) for each in range(20, 201, 20))]:
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x - left, "y": y}])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.wait("document.querySelector('.week').parentElement.scrollLeft > 50")
    assert page.run("document.getElementById('schedule-text').value") == ""
