"""Take the screenshots of docs/console.md: `python -m tools.screenshots [--output docs/images]`.

A server is started as by `make run`, with a faster network. An operator runs a plan of 500 partitions on the
page: submits it, limits it, sees a stopped broker as the reason, pauses, rolls back, and reads the history.
Each step waits until the page shows its result, so the command fails if the page cannot be used as the
document says. It needs Chromium.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from tools.chromium import MISSING, Browser, Page, chromium
from tools.ports import free_port, free_ports
from tools.processes import ServerProcess
from tools.waiting import wait_until

BROKERS = 6
TOPIC, PARTITIONS = "events", 500
WIDE, PHONE = (1280, 700), (390, 844)
NETWORK = "10485760"
"""Bytes per second of a broker: twice that of `make run`. On a busy machine, the job must not end before the
pictures are taken."""
FOLDER = Path(__file__).parent.parent / "docs" / "images"


def plan() -> str:
    """Return a plan that moves about one replica of each partition of the topic."""
    rows = [
        {
            "topic": TOPIC,
            "partition": number,
            "replicas": [(number + 1 + place) % BROKERS + 1 for place in range(3)],
        }
        for number in range(PARTITIONS)
    ]
    return json.dumps({"version": 1, "partitions": rows})


class Operator:
    """Uses the page by keyboard, and takes pictures of it."""

    def __init__(self, page: Page, url: str, folder: Path) -> None:
        self.page, self.url, self._folder = page, url, folder
        self.api = httpx.Client(base_url=f"{url}v1/", timeout=60)

    def go(self, path: str = "") -> None:
        """Open a page, and wait until it shows something."""
        self.page.go("about:blank")  # A change of the hash alone does not load the page again.
        self.page.go(self.url + path)
        self.page.wait(
            "document.querySelector('article, table tbody tr, .map [data-broker], .gauge, .facts,"
            " #plan-form:not([hidden]), #wizard:not([hidden]), #none:not([hidden]), .actions > button')"
        )

    def picture(self, name: str, selector: str = "body") -> None:
        """Save what the window shows when it is scrolled to this element."""
        self.page.wait(f"document.querySelector('{selector}').checkVisibility()")
        charts = "document.getElementById('throughput')"
        locked = "document.getElementById('content').hidden"
        self.page.wait(f"{locked} || !{charts} || {charts}.childElementCount")
        window = "({x: scrollX, y: scrollY, width: innerWidth, height: innerHeight})"
        self._save(name, self.page.run(f"document.querySelector('{selector}').scrollIntoView(), {window}"))

    def dialog_picture(self, name: str) -> None:
        """Save the dialog that is open."""
        area = (
            "scrollTo(0, 0), (({x, y, width, height}) => ({x, y, width, height}))"
            "(document.querySelector('dialog[open]').getBoundingClientRect())"
        )
        self._save(name, self.page.run(area))

    def _save(self, name: str, area: Mapping[str, float]) -> None:
        self.page.screenshot(self._folder / f"{name}.webp", area)

    def press(self, label: str) -> None:
        """Press a button by its label."""
        self.page.tab_to(label)
        self.page.press("Enter")

    def answer(self, button: str, *typed: str, picture: str = "") -> None:
        """Fill in the dialog that is open, take its picture, and confirm."""
        self.page.wait("document.querySelector('dialog[open]')")
        for text in typed:
            self.page.run("document.querySelector('dialog[open] input').select()")
            before = self.page.run("document.querySelectorAll('dialog[open] li').length")
            self.page.type(text)
            self.page.wait(f"document.querySelectorAll('dialog[open] li').length > {before}")
        if picture:
            self.dialog_picture(picture)
        self.press(button)
        self.page.wait("!document.querySelector('dialog[open]')")

    def job(self, number: int) -> dict[str, int]:
        """Return a job as the API shows it."""
        found: dict[str, int] = self.api.get(f"jobs/{number}", params={"limit": 0}).json()["job"]
        return found

    def wait_for_done(self, number: int, partitions: int) -> None:
        """Wait until so many partitions of the job are done."""
        wait_until(lambda: self.job(number)["done"] >= partitions, lambda: f"{partitions} partitions")


LISTS = {
    "jobs": "#/jobs",
    "brokers": "#/brokers",
    "broker": "#/brokers/6",
    "topics": "#/topics",
    "topic": f"#/topics/{TOPIC}",
    "partition": f"#/topics/{TOPIC}/400",
}
"""Pages that need nothing but a job that runs."""


def sign_in(page: Page, folder: Path, output: Path) -> None:
    """Take the picture of the login, of a server with a token."""
    token = folder / "token"
    token.write_text("a-token-of-sixteen-characters-or-more")
    token.chmod(0o600)
    with running(folder / "locked", {"http.token.file": str(token)}) as url:
        operator = Operator(page, url, output)
        page.go(url)
        page.wait("!document.getElementById('login').hidden")
        operator.picture("login")


def measure_load(operator: Operator) -> None:
    """Switch the measurement of load on. The first figures are there after a while."""
    operator.go("#/load")
    operator.press("Measure load…")
    operator.answer("Measure")


def propose(operator: Operator) -> None:
    """Look at the proposal that drains a broker."""
    page = operator.page
    operator.go("#/plan/propose?goal=drain&brokers=6")
    page.wait("document.querySelector('[name=broker]:checked')")
    operator.press("Propose")
    page.wait("document.querySelector('#result:not([hidden]) #plan-numbers')")
    operator.picture("propose", "#result")


def empty_a_directory(operator: Operator) -> None:
    """Look at the proposal that empties a log directory of a broker, from the page of that broker."""
    page = operator.page
    operator.go("#/brokers/2")
    operator.press("Empty the directory /embedded/broker-2/logs-0…")
    page.wait("document.querySelector('[name=dir]:checked')")
    operator.press("Propose")
    page.wait("document.querySelector('#result:not([hidden]) #dir-figures')")
    operator.picture("directories", "#result")


def submit(operator: Operator) -> int:
    """Submit the plan paused; return the job."""
    page = operator.page
    operator.go("#/plan")
    page.run("document.getElementById('plan').focus()")
    page.type(plan())
    page.wait("document.getElementById('plan-state').innerText.includes('is valid')")
    operator.picture("review", "#review")
    operator.press("Start paused…")
    operator.answer("Submit paused", picture="submit")
    page.wait("!document.getElementById('submitted').hidden")
    return int(page.run("document.getElementById('job-link').getAttribute('href').split('/')[2]"))


def stop_broker(operator: Operator, number: int) -> None:
    """Stop broker 6 while partitions of the job still have to move to it."""
    queued = operator.api.get(f"jobs/{number}?limit=1&broker=6&state=queued").json()["matching"]
    assert queued, (
        f"job {number} has nothing left to move to broker 6: the machine is too busy for the pictures"
    )
    operator.api.post("brokers/6/stop").raise_for_status()


def run(operator: Operator, number: int) -> None:
    """Limit and resume the job, see a stopped broker as the reason, and pause when half is done."""
    page = operator.page
    operator.go("#/settings")
    operator.press("Change limit P")
    operator.answer("Change", "60", picture="limit")
    operator.picture("settings")
    operator.go(f"#/jobs/{number}")
    operator.press(f"Resume job {number}")
    operator.wait_for_done(number, PARTITIONS // 4)
    operator.picture("job", "#detail")
    operator.go()
    operator.picture("overview")
    operator.go("#/map")
    page.wait("document.querySelectorAll('.map .arrows .flow').length")
    operator.picture("map")
    for name, path in LISTS.items():
        operator.go(path)
        operator.picture(name)
    stop_broker(operator, number)
    operator.go()
    page.wait("document.getElementById('reasons').innerText.includes('broker 6')")
    operator.picture("stopped-broker")
    operator.api.post("brokers/6/start").raise_for_status()
    operator.wait_for_done(number, PARTITIONS // 2)
    operator.press(f"Pause job {number}")
    operator.answer("Pause")
    wait_until(lambda: operator.job(number)["moving"] == 0, lambda: "the steps in flight")


def take_pictures(operator: Operator) -> None:
    """Run a plan, roll it back, and read the history and the load; then look at the page on a phone."""
    measure_load(operator)
    propose(operator)
    empty_a_directory(operator)
    page, number = operator.page, submit(operator)
    run(operator, number)
    operator.press(f"Roll back job {number}")
    operator.answer("Roll back", picture="rollback")
    page.wait(f"document.getElementById('said').innerText.includes('rolls back job {number}')")
    operator.go("#/history")
    operator.picture("history")
    operator.go("#/load")
    page.wait("document.querySelector('#hottest-partitions tbody tr')")
    operator.picture("load")
    page.resize(*PHONE, dark=True)
    for name, path, selector in (
        ("phone-overview", "", "body"),
        ("phone-job", f"#/jobs/{number}", "#detail"),
    ):
        operator.go(path)
        operator.picture(name, selector)


@contextmanager
def running(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start a server as `make run` does; yield the URL of the page."""
    http = f"127.0.0.1:{free_port()}"
    listeners = ["--listener", f"127.0.0.1:{free_ports(BROKERS)}", "--http", http]
    data = ["--data-dir", str(folder), "--demo-topics"]
    server = ServerProcess(
        ["--backend", "embedded", *listeners, *data],
        {"log.level": "ERROR", "embedded.network.bytes.per.second": NETWORK, **(settings or {})},
    )
    server.start()
    try:
        yield f"http://{http}/"
    finally:
        server.kill()


def main() -> int:
    """Take all screenshots. Return 1 without a browser."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("--output", type=Path, default=FOLDER, help="the folder of the WebP files")
    options = parser.parse_args()
    program = chromium()
    if program is None:
        print(MISSING, file=sys.stderr)
        return 1
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "data") as url:
        browser = Browser(program)
        try:
            page = browser.open()
            page.resize(*WIDE)
            sign_in(page, Path(folder), options.output)
            take_pictures(Operator(page, url, options.output))
        finally:
            browser.close()
    for picture in sorted(options.output.glob("*.webp")):
        print(f"{picture}: {picture.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
