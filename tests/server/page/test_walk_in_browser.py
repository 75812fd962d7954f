"""The walk of an operator through the whole page, by keyboard alone. Skipped where there is no Chromium.

The fullest broker is found on the map and drained; a limit is changed; a broker stops and comes back; the job
is paused, resumed, and rolled back half-way; the history is exported. After each key the focus must be seen.
"""

import json

import pytest

from tests.server.page.site import FAST, IN_CHROMIUM, Open, Site

pytestmark = IN_CHROMIUM

UNSEEN = """
((node) => {
  if (node === document.body) return "";
  const { left, top, width, height } = node.getBoundingClientRect();
  const above = document.elementFromPoint(left + width / 2, top + Math.min(height, innerHeight) / 2);
  const inside = top + height > 0 && top < innerHeight && width > 0;
  const marked = node.matches(":focus-visible");
  const free = node.contains(above) || above?.contains(node);
  return inside && marked && free ? "" : node.outerHTML.slice(0, 300);
})(document.activeElement)
"""
"""The element with the focus, if it is outside of the window, covered, or not marked."""

SAVED = """
window.saved = [];
addEventListener("click", ({ target }) => target.download && window.saved.push(target.href));
"""
"""Keeps the addresses of the files that were saved."""


class Walk:
    """An operator without a mouse."""

    def __init__(self, site: Site) -> None:
        self.site, self.page = site, site.open("", FAST + SAVED)

    def go(self, letter: str, address: str) -> None:
        """Open a page by its keys. A busy machine may take too long between them: then again."""
        for _ in range(20):
            self.page.press("g")
            self.page.press(letter)
            if self.page.run("location.hash") == address:
                break
        self.page.wait(f"location.hash === '{address}' && document.activeElement.tagName === 'H1'")

    def use(self, label: str, *, then: str) -> None:
        """Go to a button or a link, press it, and wait until the expression is true."""
        self.page.tab_to(label)
        assert self.page.run(UNSEEN) == ""
        self.page.press("Enter")
        self.page.wait(then)

    def confirm(self, label: str, action: str, value: str = "", *, danger: bool = False) -> str:
        """Press a button, and confirm what its dialog asks; return what the dialog says."""
        self.use(label, then="document.querySelector('dialog[open]')")
        focused = self.page.run("document.activeElement.innerText")
        assert (focused == "Back") is danger
        if value:
            self.page.run("document.activeElement.select()")
            self.page.type(value)
            self.page.wait("/With /.test(document.querySelector('dialog[open] ul').innerText)")
        says = self.page.text("dialog[open]")
        self.use(action, then="!document.querySelector('dialog[open]')")
        return says

    def find(self, text: str, address: str) -> None:
        """Find something by the search, and open it."""
        self.page.press("/")
        self.page.type(text)
        self.page.wait("document.querySelector('#hits [aria-selected=true]')")
        self.page.press("Enter")
        self.page.wait(f"location.hash === '{address}'")


@pytest.fixture
def walk(start: Open) -> Walk:
    """A cluster in which a broker copies a partition in a second, one at a time until a limit is changed."""
    site = start(**{"embedded.network.bytes.per.second": "100000"})
    site.limit(P=1)
    return Walk(site)


def drain_the_fullest_broker(walk: Walk) -> None:
    """Find it on the map, and start the plan that drains it."""
    page = walk.page
    walk.go("m", "#/map")
    page.wait("document.querySelector('.fullest:not([hidden])')")
    fullest = page.run("document.querySelector('.fullest').innerText")
    walk.use(fullest, then="document.querySelector('.chosen-broker:not([hidden])')")
    broker = int(page.text(".chosen-broker strong").removeprefix("Broker "))
    assert page.run("document.querySelector('.map .chosen').dataset.broker") == str(broker)
    walk.use("Drain…", then="document.querySelector('#wizard:not([hidden]) [name=broker]:checked')")
    walk.use("Propose", then="document.activeElement.id === 'result-title'")
    assert "no plan moves fewer: proven" in page.text("#plan-numbers")
    walk.use(page.text("#start-now"), then="document.activeElement.matches('#started a')")
    walk.use("Show job 1", then="document.querySelector('#parts tbody tr')")


def see_a_stopped_broker(walk: Walk) -> None:
    """Stop the broker that receives most: it is named as the reason, and drawn; then start it again."""
    site, page = walk.site, walk.page
    site.until(lambda: site.api.get("flows").json()["flows"])  # They are measured every few seconds.
    broker = site.api.get("flows").json()["flows"][0]["target"]
    site.post(f"brokers/{broker}/stop")
    walk.go("o", "#/")
    page.wait(f"document.getElementById('problems').innerText.includes('{broker}')")
    page.wait(f"document.getElementById('reasons').innerText.includes('broker {broker} ')")
    walk.go("m", "#/map")
    page.wait(f"document.querySelector('.map [data-broker=\"{broker}\"]')?.classList.contains('down')")
    site.post(f"brokers/{broker}/start")
    page.wait("!document.querySelector('.map .down')")


def test_a_broker_is_drained_and_half_of_it_rolled_back_by_keyboard_alone(walk: Walk) -> None:
    site, page = walk.site, walk.page
    drain_the_fullest_broker(walk)
    walk.go("s", "#/settings")
    walk.confirm("Change limit P", "Change", "4")
    site.until(lambda: site.api.get("limits").json()["limits"][1]["limit"] == 4)
    see_a_stopped_broker(walk)
    walk.find("job 1", "#/jobs/1")
    page.press("Escape")
    walk.confirm("Pause job 1", "Pause")
    page.wait("document.querySelector('.job-card .badge').innerText === 'paused'")
    walk.use("Resume job 1", then="document.getElementById('said').innerText === 'Job 1 is resumed.'")
    site.until(lambda: site.job(1)["done"] >= 4)
    walk.confirm("Pause job 1", "Pause")
    site.until(lambda: site.job(1)["moving"] == 0)
    says = walk.confirm("Roll back job 1", "Roll back", danger=True)
    assert "will move back to the original replicas" in says
    assert "not moved yet will only leave job 1" in says
    page.wait("document.getElementById('said').innerText.includes('Job 2 rolls back job 1.')")
    site.until(lambda: site.job(2)["state"] == "ended")
    walk.go("h", "#/history")
    page.wait("document.querySelectorAll('#entries tbody tr').length > 4")
    walk.use("Export as JSON lines", then="window.saved.length")
    lines = site.api.get(page.run("window.saved[0]")).text.splitlines()
    assert {"order", "limits", "pause", "resume", "rollback"} <= {
        json.loads(line)["action"] for line in lines
    }
