"""A running server and a page in a browser, for the tests of the page."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.reassignd.shell import started
from tools.chromium import MISSING, Browser, Page, chromium
from tools.driven_page import PATIENCE_SECONDS
from tools.processes import Reassignd

IN_CHROMIUM = [pytest.mark.whole, pytest.mark.skipif(chromium() is None, reason=MISSING)]
"""The marks of tests with this browser."""

LOGIN = "secret-of-at-least-sixteen-characters"
"""The token of a cluster whose page asks for one."""

MARKUP = "<img src=x onerror='document.title=1'>"

WITH_MARKUP = f"""
const json = Response.prototype.json;
const names = new Set(["principal", "reason", "client_id", "rack"]);
const marked = (name, value) => (names.has(name) ? {json.dumps(MARKUP)} : value);
Response.prototype.json = async function () {{
  const answer = JSON.parse(JSON.stringify(await json.call(this)), marked);
  if (answer.health) answer.health.problems = [{json.dumps(MARKUP)}];
  return answer;
}};
"""
"""Puts markup in place of names and reasons in the answers of the server."""


class Site:
    """A server and a browser."""

    def __init__(self, server: Reassignd, browser: Browser) -> None:
        self.server = server
        self.url = f"http://{server.http}/"
        self.api = httpx.Client(base_url=f"{self.url}v1/", timeout=PATIENCE_SECONDS)
        self._browser = browser

    def open(self, path: str = "", before: str = "") -> Page:
        """Open the page, and wait until it shows the cluster. The script `before` runs first."""
        page = self.page(path, before)
        page.wait("!document.getElementById('content').hidden")
        return page

    def page(self, path: str = "", before: str = "") -> Page:
        page = self._browser.open()
        page.before(before)
        page.resize(1280)
        page.go(self.url + path)
        return page

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        answer = self.api.post(path, content=None if body is None else json.dumps(body), **more)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def submit(self, numbers: range, shift: int = 3, **more: Any) -> int:
        """Submit a plan; return its job."""
        rows = [
            {"topic": "foo", "partition": n, "replicas": [(n + shift + place) % 6 + 1 for place in range(3)]}
            for n in numbers
        ]
        number: int = self.post("jobs", {"partitions": rows}, **more)["job"]
        return number

    def job(self, number: int) -> Any:
        return self.api.get(f"jobs/{number}", params={"limit": 0}).json()["job"]

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def weekday(self) -> int:
        """Return the day of the week of the server: 0 is Monday."""
        return time.gmtime().tm_wday

    def limit(self, **limits: int | None) -> None:
        assert self.api.put("limits", content=json.dumps(limits)).status_code == 200


@contextmanager
def running(folder: Path, settings: dict[str, str], browser: Browser) -> Iterator[Site]:
    """Start a cluster with these settings, whose data is in the folder."""
    server = started(folder / "data", settings)
    site = Site(server, browser)
    try:
        yield site
    finally:
        site.api.close()
        server.kill()


FAST = """
window.rounds = 0;
const later = window.setTimeout.bind(window);
window.setTimeout = (call, delay) => later(() => { window.rounds += 1; call(); }, delay > 1000 ? 50 : delay);
"""
"""Refreshes 40 times as often, and counts."""


def refreshed(page: Page, times: int = 5) -> None:
    """Wait until the page was refreshed several times."""
    rounds = page.run("window.rounds")
    page.wait(f"window.rounds >= {rounds + times}")


LISTENS = "document.getElementById('log-section').innerText.includes('Nothing has happened')"
"""The overview gets events."""


Open = Callable[..., Site]
